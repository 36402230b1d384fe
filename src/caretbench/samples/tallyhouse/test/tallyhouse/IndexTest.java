package tallyhouse;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;

final class IndexTest {
    static void agreesWithAnotherTree() {
        Random random = new Random(4);
        SortedIndex<Integer, Integer> index = new SortedIndex<>();
        TreeMap<Integer, Integer> other = new TreeMap<>();
        for (int step = 0; step < 4_000; step++) {
            int key = random.nextInt(500);
            if (random.nextInt(3) == 0) {
                Check.equal(other.remove(key) != null, index.remove(key));
            } else {
                index.put(key, step);
                other.put(key, step);
            }
            Check.equal(other.size(), index.size());
        }
        List<Integer> keys = new ArrayList<>(other.keySet());
        for (int key = -1; key < 501; key++) {
            Check.equal(other.get(key), index.get(key));
            Check.equal(other.floorKey(key), index.floor(key));
            Check.equal(other.headMap(key).size(), index.rank(key));
        }
        for (int place = 0; place < keys.size(); place++) {
            Check.equal(keys.get(place), index.at(place));
        }
        Check.equal(new ArrayList<>(other.subMap(100, true, 200, true).keySet()), index.between(100, 200));
        List<Integer> seen = new ArrayList<>();
        index.forEach((key, value) -> {
            seen.add(key);
            Check.equal(other.get(key), value);
        });
        Check.equal(keys, seen);
    }

    static void staysLow() {
        SortedIndex<Integer, String> up = new SortedIndex<>();
        SortedIndex<Integer, String> down = new SortedIndex<>();
        SortedIndex<Integer, String> zigzag = new SortedIndex<>();
        for (int key = 0; key < 1_023; key++) {
            up.put(key, "");
            down.put(-key, "");
            zigzag.put(key % 2 == 0 ? key : 5_000 - key, "");
        }
        Check.equal(10, up.height());
        Check.equal(10, down.height());
        if (zigzag.height() > 13) {
            throw new AssertionError("too high: " + zigzag.height());
        }
        for (int key = 0; key < 900; key++) {
            up.remove(key);
        }
        if (up.height() > 9) {
            throw new AssertionError("too high: " + up.height());
        }
    }

    static void nothing() {
        SortedIndex<String, String> index = new SortedIndex<>();
        Check.equal(null, index.get("a"));
        Check.equal(null, index.floor("a"));
        Check.equal(false, index.remove("a"));
        Check.fails(IndexOutOfBoundsException.class, () -> index.at(0));
        index.put("b", "1");
        index.put("b", "2");
        Check.equal("2", index.get("b"));
        Check.equal(1, index.size());
        Check.fails(IndexOutOfBoundsException.class, () -> index.at(-1));
    }

    static void theOldestIsForgotten() {
        List<String> made = new ArrayList<>();
        RecentCache<String, String> cache = new RecentCache<>(2, 100, () -> 0);
        for (String key : List.of("a", "b", "a", "c", "a", "b")) {
            cache.get(key, wanted -> {
                made.add(wanted);
                return wanted + "!";
            });
        }
        Check.equal(List.of("a", "b", "c", "b"), made);
        Check.equal(2, cache.hits());
        Check.equal(2, cache.size());
        Check.fails(IllegalArgumentException.class, () -> new RecentCache<String, String>(0, 1, () -> 0));
    }

    static void whatIsTooOldIsMadeAnew() {
        long[] now = {0};
        int[] made = {0};
        RecentCache<String, Integer> cache = new RecentCache<>(9, 10, () -> now[0]);
        Check.equal(1, cache.get("a", key -> ++made[0]));
        now[0] = 5;
        Check.equal(2, cache.get("b", key -> ++made[0]));
        now[0] = 9;
        Check.equal(1, cache.get("a", key -> ++made[0]));
        now[0] = 10;
        Check.equal(1, cache.sweep());
        Check.equal(3, cache.get("a", key -> ++made[0]));
        now[0] = 15;
        Check.equal(4, cache.get("b", key -> ++made[0]));
        Check.equal(2, cache.size());
        now[0] = 99;
        Check.equal(2, cache.sweep());
        Check.equal(0, cache.size());
    }
}
