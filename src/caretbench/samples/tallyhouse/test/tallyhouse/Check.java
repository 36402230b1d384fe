package tallyhouse;

import java.util.Objects;

/** What the tests say. */
final class Check {
    /** Something that is expected to fail. */
    interface Action {
        void run();
    }

    static void equal(Object expected, Object found) {
        if (!Objects.equals(expected, found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }

    static void fails(Class<? extends Throwable> kind, Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            if (kind.isInstance(error)) {
                return;
            }
            throw new AssertionError("expected " + kind.getSimpleName(), error);
        }
        throw new AssertionError("expected " + kind.getSimpleName());
    }

    private Check() {}
}
