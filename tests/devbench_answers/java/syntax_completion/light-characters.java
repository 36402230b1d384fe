import java.util.ArrayList;
import java.util.List;

/** A stretch of time in which a lighthouse shows its light, or does not; tenths of a second. */
record Phase(boolean lit, int tenths) {
}

/** Reads the characters of lights as charts print them, such as {@code Fl(3) 15s}. */
final class LightCharacter {
    private LightCharacter() {
    }

    /**
     * Returns the phases of one period. {@code F} is always lit. {@code Iso} is lit for the first half of its period.
     * {@code Fl(n)} flashes n times for half a second, each after a second of darkness, and stays dark for the rest;
     * {@code Oc(n)} is its opposite: it begins lit, and goes dark for half a second n times.
     */
    static List<Phase> phases(String kind, int count, int periodTenths) {
        return switch (kind) {
            case "F" -> List.of(new Phase(true, periodTenths));
            case "Iso" -> List.of(new Phase(true, periodTenths / 2), new Phase(false, periodTenths - periodTenths / 2));
⟦            case "Fl", "Oc" -> {
                boolean flash = kind.equals("Fl");
                List<Phase> phases = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    phases.add(new Phase(!flash, 10));
                    phases.add(new Phase(flash, 5));
                }
                int rest = periodTenths - 15 * count;
                if (rest > 0) {
                    phases.add(new Phase(!flash, rest));
                }
                yield phases;
            }
⟧            default -> throw new IllegalArgumentException("unknown light: " + kind);
        };
    }

    /** Tenths of a second of light in one period. */
    static int lit(List<Phase> phases) {
        return phases.stream().filter(Phase::lit).mapToInt(Phase::tenths).sum();
    }
}
⟦tests⟧

public class Main {
    public static void main(String[] args) {
        assert LightCharacter.phases("F", 0, 100).equals(List.of(new Phase(true, 100)));
        assert LightCharacter.phases("Iso", 0, 45).equals(List.of(new Phase(true, 22), new Phase(false, 23)));
        assert LightCharacter.phases("Fl", 2, 80).equals(List.of(
                new Phase(false, 10), new Phase(true, 5), new Phase(false, 10), new Phase(true, 5), new Phase(false, 50)));
        assert LightCharacter.phases("Oc", 1, 40).equals(List.of(
                new Phase(true, 10), new Phase(false, 5), new Phase(true, 25)));
        assert LightCharacter.phases("Fl", 3, 45).size() == 6;
        assert LightCharacter.lit(LightCharacter.phases("Fl", 3, 150)) == 15;
        assert LightCharacter.lit(LightCharacter.phases("Oc", 3, 150)) == 135;
        boolean refused = false;
        try {
            LightCharacter.phases("Mo", 1, 60);
        } catch (IllegalArgumentException expected) {
            refused = expected.getMessage().endsWith("Mo");
        }
        assert refused;
    }
}
