import java.util.EnumSet;
import java.util.Set;

/** What a climber ties a rope to. */
enum Anchor { RING, BOLT, ROPE }

/** A rope; the force at which it breaks is in newtons. */
record Rope(int millimetres, int breakingForce) {
}

/** Knots of the climbing course: each knows its uses and the force that a rope holds with it. */
enum Knot {
    FIGURE_EIGHT {
        @Override
        boolean suits(Anchor anchor, Rope rope) {
            return anchor != Anchor.ROPE;
        }

        @Override
        int holds(Rope rope) {
            return rope.breakingForce() * 80 / 100;
        }
    },
    CLOVE_HITCH {
        @Override
        boolean suits(Anchor anchor, Rope rope) {
            return anchor == Anchor.BOLT;
        }

        @Override
        int holds(Rope rope) {
            return rope.breakingForce() * 65 / 100;
        }
    },
    /** Only for cords of at most 7 mm that are tied to a rope; it holds half of their force, and slips at 9000 N. */
    PRUSIK {
⟦        @Override
        boolean suits(Anchor anchor, Rope rope) {
            return anchor == Anchor.ROPE && rope.millimetres() <= 7;
        }

        @Override
        int holds(Rope rope) {
            return Math.min(rope.breakingForce() * 50 / 100, 9000);
        }⟧
    };

    abstract boolean suits(Anchor anchor, Rope rope);

    abstract int holds(Rope rope);

    static Set<Knot> choices(Anchor anchor, Rope rope, int force) {
        Set<Knot> found = EnumSet.allOf(Knot.class);
        found.removeIf(knot -> !knot.suits(anchor, rope) || knot.holds(rope) < force);
        return found;
    }
}
⟦tests⟧

public class Main {
    public static void main(String[] args) {
        Rope lead = new Rope(10, 20000);
        Rope cord = new Rope(7, 12000);
        Rope strong = new Rope(6, 24000);
        assert Knot.choices(Anchor.BOLT, lead, 13000).equals(EnumSet.of(Knot.FIGURE_EIGHT, Knot.CLOVE_HITCH));
        assert Knot.choices(Anchor.RING, lead, 16001).isEmpty();
        assert Knot.choices(Anchor.ROPE, cord, 6000).equals(EnumSet.of(Knot.PRUSIK));
        assert Knot.choices(Anchor.ROPE, cord, 6001).isEmpty();
        assert Knot.choices(Anchor.ROPE, new Rope(8, 12000), 1).isEmpty();
        assert !Knot.PRUSIK.suits(Anchor.RING, cord) && !Knot.PRUSIK.suits(Anchor.BOLT, cord);
        assert Knot.PRUSIK.holds(strong) == 9000;
        assert Knot.PRUSIK.holds(new Rope(5, 5001)) == 2500;
        assert Knot.valueOf("PRUSIK").ordinal() == 2;
    }
}
