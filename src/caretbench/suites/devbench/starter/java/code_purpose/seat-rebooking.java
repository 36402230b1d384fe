import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The seats of one performance, who holds them, and a journal of what happened. */
class SeatMap {
    private final Set<String> seats;
    private final Map<String, String> guestBySeat = new HashMap<>();
    private final List<String> journal = new ArrayList<>();

    SeatMap(Set<String> seats) {
        this.seats = Set.copyOf(seats);
    }

    boolean isFree(String seat) {
        requireKnown(seat);
        return !guestBySeat.containsKey(seat);
    }

    boolean isHeldBy(String seat, String guest) {
        requireKnown(seat);
        return guest.equals(guestBySeat.get(seat));
    }

    void book(String seat, String guest) {
        if (!isFree(seat)) {
            throw new IllegalStateException("seat is taken: " + seat);
        }
        guestBySeat.put(seat, guest);
        journal.add("booked " + seat + " for " + guest);
    }

    void cancel(String seat, String guest) {
        if (!isHeldBy(seat, guest)) {
            throw new IllegalStateException(guest + " does not hold " + seat);
        }
        guestBySeat.remove(seat);
        journal.add("cancelled " + seat + " for " + guest);
    }

    /** Moves a guest to another seat. A move that cannot be made changes nothing: no seat, and not the journal. */
    void rebook(String guest, String from, String to) {
⟦        if (!isHeldBy(from, guest)) {
            throw new IllegalStateException(guest + " does not hold " + from);
        }
        book(to, guest);
        cancel(from, guest);
⟧    }

    List<String> journal() {
        return List.copyOf(journal);
    }

    private void requireKnown(String seat) {
        if (!seats.contains(seat)) {
            throw new IllegalArgumentException("no such seat: " + seat);
        }
    }
}
⟦tests⟧

public class Main {
    private static void refuses(Class<? extends Exception> type, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            assert type.isInstance(e) : e;
            return;
        }
        throw new AssertionError("not refused");
    }

    public static void main(String[] args) {
        SeatMap map = new SeatMap(Set.of("A1", "A2", "B1"));
        map.book("A1", "Ada");
        map.book("B1", "Grace");

        map.rebook("Ada", "A1", "A2");
        assert map.isFree("A1") && map.isHeldBy("A2", "Ada") && map.isHeldBy("B1", "Grace");
        assert map.journal().size() == 4;
        assert map.journal().contains("booked A2 for Ada") && map.journal().contains("cancelled A1 for Ada");

        List<String> before = map.journal();
        refuses(IllegalStateException.class, () -> map.rebook("Ada", "A2", "B1"));
        refuses(IllegalStateException.class, () -> map.rebook("Grace", "A2", "A1"));
        refuses(IllegalStateException.class, () -> map.rebook("Grace", "A1", "A1"));
        refuses(IllegalArgumentException.class, () -> map.rebook("Ada", "A2", "Z9"));
        refuses(IllegalArgumentException.class, () -> map.rebook("Ada", "Z9", "A1"));
        assert map.isFree("A1") && map.isHeldBy("A2", "Ada") && map.isHeldBy("B1", "Grace");
        assert map.journal().equals(before);
    }
}
