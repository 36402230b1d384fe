import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collector;
import java.util.stream.IntStream;

class Chunks {
    /** Collects a sequential stream into lists of {@code size} elements; the last one may be shorter. */
    static <T> Collector<T, List<List<T>>, List<List<T>>> ofSize(int size) {
        return Collector.of(ArrayList::new, (chunks, element) -> {
⟦            if (chunks.isEmpty() || chunks.get(chunks.size() - 1).size() == size) {
                chunks.add(new ArrayList<>());
            }
            chunks.get(chunks.size() - 1).add(element);
⟧        }, (left, right) -> {
            throw new UnsupportedOperationException("sequential streams only");
        });
    }
}
⟦tests⟧

public class Main {
    private static String chunks(int count, int size) {
        return IntStream.range(0, count).boxed().collect(Chunks.ofSize(size)).toString();
    }

    public static void main(String[] args) {
        assert chunks(0, 3).equals("[]");
        assert chunks(1, 3).equals("[[0]]");
        assert chunks(3, 3).equals("[[0, 1, 2]]");
        assert chunks(7, 3).equals("[[0, 1, 2], [3, 4, 5], [6]]");
        assert chunks(3, 1).equals("[[0], [1], [2]]");
        assert chunks(4, 100).equals("[[0, 1, 2, 3]]");
        assert List.of("a", "b", "c").stream().collect(Chunks.ofSize(2)).equals(List.of(List.of("a", "b"), List.of("c")));
    }
}
