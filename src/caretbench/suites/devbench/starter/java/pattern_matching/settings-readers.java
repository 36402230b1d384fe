import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Map;

class SettingException extends RuntimeException {
    private final String key;

    SettingException(String key, String expected, String actual) {
        super("setting " + key + ": expected " + expected + " but found '" + actual + "'");
        this.key = key;
    }

    String key() {
        return key;
    }
}

/** Typed access to the settings of the gateway. */
class Settings {
    private final Map<String, String> values;

    Settings(Map<String, String> values) {
        this.values = Map.copyOf(values);
    }

    int port(String key, int fallback) {
        String text = values.getOrDefault(key, "").strip();
        if (text.isEmpty()) {
            return fallback;
        }
        try {
            int port = Integer.parseInt(text);
            if (port < 1 || port > 65535) {
                throw new SettingException(key, "a port", text);
            }
            return port;
        } catch (NumberFormatException e) {
            throw new SettingException(key, "a port", text);
        }
    }

    double ratio(String key, double fallback) {
        String text = values.getOrDefault(key, "").strip();
        if (text.isEmpty()) {
            return fallback;
        }
        try {
            double ratio = Double.parseDouble(text);
            if (!(ratio >= 0.0 && ratio <= 1.0)) {
                throw new SettingException(key, "a ratio", text);
            }
            return ratio;
        } catch (NumberFormatException e) {
            throw new SettingException(key, "a ratio", text);
        }
    }

    /** An ISO 8601 duration such as PT1.5S; it may be zero but not negative. */
    Duration timeout(String key, Duration fallback) {
⟦        String text = values.getOrDefault(key, "").strip();
        if (text.isEmpty()) {
            return fallback;
        }
        try {
            Duration timeout = Duration.parse(text);
            if (timeout.isNegative()) {
                throw new SettingException(key, "a timeout", text);
            }
            return timeout;
        } catch (DateTimeParseException e) {
            throw new SettingException(key, "a timeout", text);
        }
⟧    }
}
⟦tests⟧

public class Main {
    private static void refuses(Settings settings, String key, String found) {
        try {
            settings.timeout(key, Duration.ZERO);
        } catch (SettingException e) {
            assert e.key().equals(key);
            assert e.getMessage().endsWith("but found '" + found + "'") : e.getMessage();
            return;
        }
        throw new AssertionError("accepted " + found);
    }

    public static void main(String[] args) {
        Settings settings = new Settings(Map.of(
                "read", "PT2M", "connect", " PT0.25S ", "idle", "", "blank", "   ", "none", "PT0S",
                "negative", "PT-1S", "words", " two minutes ", "number", "30", "port", "8443", "sampling", "0.1"));
        Duration fallback = Duration.ofSeconds(9);
        assert settings.timeout("read", fallback).equals(Duration.ofSeconds(120));
        assert settings.timeout("connect", fallback).toMillis() == 250;
        assert settings.timeout("idle", fallback).equals(fallback);
        assert settings.timeout("blank", fallback).equals(fallback);
        assert settings.timeout("absent", fallback).equals(fallback);
        assert settings.timeout("none", fallback).isZero();
        refuses(settings, "negative", "PT-1S");
        refuses(settings, "words", "two minutes");
        refuses(settings, "number", "30");
        assert settings.port("port", 1) == 8443 && settings.ratio("sampling", 1.0) == 0.1;
    }
}
