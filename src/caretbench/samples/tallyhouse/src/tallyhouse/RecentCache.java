package tallyhouse;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** Remembers what was asked for lately: so many values, each for so long. */
public final class RecentCache<K, V> {
    private static final class Slot<K, V> {
        private final K key;
        private V value;
        private long until;
        private Slot<K, V> newer;
        private Slot<K, V> older;

        Slot(K key) {
            this.key = key;
        }
    }

    private final int most;
    private final long lifetime;
    private final LongSupplier clock;
    private final Map<K, Slot<K, V>> slots = new HashMap<>();
    private final Slot<K, V> ends = new Slot<>(null);
    private int hits;

    /** The clock and the lifetime are in the same unit. */
    public RecentCache(int most, long lifetime, LongSupplier clock) {
        if (most < 1) {
            throw new IllegalArgumentException("a cache keeps at least one value");
        }
        this.most = most;
        this.lifetime = lifetime;
        this.clock = clock;
        ends.newer = ends;
        ends.older = ends;
    }

    /** The value of a key; made where it is not known, or too old. */
    public V get(K key, Function<K, V> maker) {
        Slot<K, V> slot = slots.get(key);
        long now = clock.getAsLong();
        if (slot != null && now < slot.until) {
            hits++;
            unlink(slot);
            link(slot);
            return slot.value;
        }
        if (slot == null) {
            slot = new Slot<>(key);
        } else {
            unlink(slot);
        }
        slot.value = maker.apply(key);
        slot.until = now + lifetime;
        slots.put(key, slot);
        link(slot);
        if (slots.size() > most) {
            Slot<K, V> oldest = ends.newer;
            unlink(oldest);
            slots.remove(oldest.key);
        }
        return slot.value;
    }

    /** Forgets what is too old, and says how much that was. */
    public int sweep() {
        long now = clock.getAsLong();
        int swept = 0;
        Slot<K, V> slot = ends.newer;
        while (slot != ends) {
            Slot<K, V> next = slot.newer;
            if (slot.until <= now) {
                unlink(slot);
                slots.remove(slot.key);
                swept++;
            }
            slot = next;
        }
        return swept;
    }

    /** How many values are kept. */
    public int size() {
        return slots.size();
    }

    /** How often a value was known. */
    public int hits() {
        return hits;
    }

    private void unlink(Slot<K, V> slot) {
        slot.older.newer = slot.newer;
        slot.newer.older = slot.older;
    }

    private void link(Slot<K, V> slot) {
        slot.older = ends.older;
        slot.newer = ends;
        ends.older.newer = slot;
        ends.older = slot;
    }
}
