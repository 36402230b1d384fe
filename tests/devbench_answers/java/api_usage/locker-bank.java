import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** Lockers of a swimming hall, numbered from 0; families want lockers side by side. */
class LockerBank {
    private final int size;
    private final BitSet taken = new BitSet();

    LockerBank(int size) {
        this.size = size;
    }

    /** Takes the first run of free lockers that is long enough; returns its first number, or -1 if there is none. */
    int takeTogether(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("lockers: " + count);
        }
        int first = taken.nextClearBit(0);
        while (first + count <= size) {
            int next = taken.next⟦SetBit(first);
            if (next < 0 || next - first >= count) {
                taken.set(first, first + count);
                return first;
            }
            first = taken.nextClearBit(next);
⟧        }
        return -1;
    }

    void giveBack(int locker) {
        if (!taken.get(locker)) {
            throw new IllegalStateException("not taken: " + locker);
        }
        taken.clear(locker);
    }

    /** Numbers of the free lockers, ascending. */
    List<Integer> free() {
        List<Integer> numbers = new ArrayList<>();
        BitSet open = (BitSet) taken.clone();
        open.flip(0, size);
        open.stream().forEach(numbers::add);
        return numbers;
    }
}
⟦tests⟧

public class Main {
    public static void main(String[] args) {
        LockerBank bank = new LockerBank(10);
        assert bank.takeTogether(3) == 0;
        assert bank.takeTogether(2) == 3;
        assert bank.takeTogether(4) == 5;
        assert bank.free().equals(List.of(9));
        assert bank.takeTogether(2) == -1;
        bank.giveBack(3);
        bank.giveBack(0);
        bank.giveBack(4);
        assert bank.free().equals(List.of(0, 3, 4, 9));
        assert bank.takeTogether(3) == -1;
        assert bank.takeTogether(2) == 3;
        assert bank.takeTogether(1) == 0;
        assert bank.takeTogether(1) == 9;
        assert bank.takeTogether(1) == -1 && bank.free().isEmpty();
        assert new LockerBank(0).takeTogether(1) == -1;
        boolean refused = false;
        try {
            new LockerBank(3).giveBack(1);
        } catch (IllegalStateException expected) {
            refused = true;
        }
        assert refused;
    }
}
