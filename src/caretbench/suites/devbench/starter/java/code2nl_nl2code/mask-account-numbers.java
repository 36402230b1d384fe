import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keeps personal data out of the application log. */
final class LogSanitizer {
    private static final Pattern EMAIL = Pattern.compile("[\\w.+-]+@([\\w-]+\\.[\\w.-]+)");

    private LogSanitizer() {
    }

    /** Replaces the local part of every mail address with {@code ***}. */
    static String maskEmails(String line) {
        return EMAIL.matcher(line).replaceAll("***@$1");
    }

    /**
     * Masks the account numbers in a line of the log.
     *
     * <p>An account number is an unbroken run of 8 to 19 ASCII digits; longer and shorter runs are something else and
     * stay as they are. All digits of an account number but the last four are replaced, each with one asterisk, so
     * that the line keeps its length. The rest of the line does not change.
     *
     * @param line a line of the log, not null
     * @return the line with its account numbers masked
     */
    static String maskAccountNumbers(String line) {
⟦        Matcher run = Pattern.compile("[0-9]+").matcher(line);
        return run.replaceAll(match -> {
            String digits = match.group();
            if (digits.length() < 8 || digits.length() > 19) {
                return digits;
            }
            return "*".repeat(digits.length() - 4) + digits.substring(digits.length() - 4);
        });
    }
}⟧
⟦tests⟧

public class Main {
    private static void expect(String line, String masked) {
        String actual = LogSanitizer.maskAccountNumbers(line);
        assert actual.equals(masked) : actual;
    }

    public static void main(String[] args) {
        assert LogSanitizer.maskEmails("from jo.doe@mail.example.org").equals("from ***@mail.example.org");
        expect("", "");
        expect("no digits here", "no digits here");
        expect("paid from 12345678", "paid from ****5678");
        expect("1234567 is a ticket", "1234567 is a ticket");
        expect("card=4111111111111111;ok", "card=************1111;ok");
        expect("1234567890123456789", "***************6789");
        expect("12345678901234567890", "12345678901234567890");
        expect("from 87654321 to 1122334455, 20 EUR", "from ****4321 to ******4455, 20 EUR");
        expect("1234-5678 and 1234 5678", "1234-5678 and 1234 5678");
        expect("x00000000y", "x****0000y");
    }
}
