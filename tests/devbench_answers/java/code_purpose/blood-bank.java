import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Blood groups by the antigens that they have: A, B and the rhesus factor. */
enum BloodGroup {
    O_NEGATIVE(0), O_POSITIVE(1), A_NEGATIVE(2), A_POSITIVE(3), B_NEGATIVE(4), B_POSITIVE(5), AB_NEGATIVE(6), AB_POSITIVE(7);

    private final int antigens;

    BloodGroup(int antigens) {
        this.antigens = antigens;
    }

    /** Blood is tolerated if it has no antigen that the patient lacks. */
    boolean canGiveTo(BloodGroup patient) {
        return (antigens & ~patient.antigens) == 0;
    }

    int antigenCount() {
        return Integer.bitCount(antigens);
    }
}

record Bag(String label, BloodGroup group, int drawnOn) {
    static final int SHELF_LIFE = 42;

    /** A bag may still be used on the last day of its shelf life. */
    boolean isUsableOn(int day) {
        return day >= drawnOn && day - drawnOn <= SHELF_LIFE;
    }
}

/** The stock of a small hospital. */
class BloodBank {
    private final List<Bag> bags = new ArrayList<>();

    void store(Bag bag) {
        bags.add(bag);
    }

    int stock() {
        return bags.size();
    }

    /**
     * Hands out a bag for a patient. Of the usable ones that the patient tolerates, the one with the most antigens goes
     * first, because it suits fewer others, and of these the oldest.
     */
    Optional<Bag> handOut(BloodGroup patient, int day) {
        Optional<Bag> chosen = bags.stream()
⟦                .filter(bag -> bag.isUsableOn(day) && bag.group().canGiveTo(patient))
                .min(Comparator.comparingInt((Bag bag) -> -bag.group().antigenCount()).thenComparingInt(Bag::drawnOn));
⟧        chosen.ifPresent(bags::remove);
        return chosen;
    }
}
⟦tests⟧

public class Main {
    private static String handOut(BloodBank bank, BloodGroup patient, int day) {
        return bank.handOut(patient, day).map(Bag::label).orElse("none");
    }

    public static void main(String[] args) {
        BloodBank bank = new BloodBank();
        assert handOut(bank, BloodGroup.AB_POSITIVE, 10).equals("none");
        bank.store(new Bag("w", BloodGroup.O_NEGATIVE, 1));
        bank.store(new Bag("x", BloodGroup.A_POSITIVE, 20));
        bank.store(new Bag("y", BloodGroup.A_POSITIVE, 12));
        bank.store(new Bag("z", BloodGroup.B_NEGATIVE, 9));

        assert handOut(bank, BloodGroup.A_POSITIVE, 25).equals("y");
        assert handOut(bank, BloodGroup.AB_NEGATIVE, 25).equals("z");
        assert bank.stock() == 2;
        assert handOut(bank, BloodGroup.B_POSITIVE, 44).equals("none");
        assert handOut(bank, BloodGroup.O_POSITIVE, 0).equals("none");
        assert handOut(bank, BloodGroup.O_POSITIVE, 43).equals("w");
        assert handOut(bank, BloodGroup.A_NEGATIVE, 43).equals("none");
        assert handOut(bank, BloodGroup.AB_POSITIVE, 62).equals("x");
        assert bank.stock() == 0;
    }
}
