import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

record Sample(String endpoint, long millis, int status) {
    /** Requests that the server refused or failed say nothing about its speed. */
    boolean served() {
        return status >= 200 && status < 400;
    }
}

/** Answers questions about the requests of the last minute. */
class LatencyDigest {
    private final List<Sample> samples;

    LatencyDigest(List<Sample> samples) {
        this.samples = List.copyOf(samples);
    }

    /** The endpoints with the most served requests, most first; equal ones by name. */
    List<String> busiest(int limit) {
        return samples.stream()
                .filter(Sample::served)
                .collect(Collectors.groupingBy(Sample::endpoint, Collectors.counting()))
                .entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()))
                .limit(limit)
                .map(Map.Entry::getKey)
                .collect(Collectors.toList());
    }

    /** The endpoints with the greatest mean time of their served requests, slowest first; equal ones by name. */
    List<String> slowest(int limit) {
        return ⟦samples.stream()
                .filter(Sample::served)
                .collect(Collectors.groupingBy(Sample::endpoint, Collectors.averagingLong(Sample::millis)))
                .entrySet().stream()
                .sorted(Map.Entry.<String, Double>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()))
                .limit(limit)
                .map(Map.Entry::getKey)
                .collect(Collectors.toList());
⟧    }
}

public class Main {
    public static void main(String[] args) {
        List<Sample> samples = new ArrayList<>(List.of(
                new Sample("/search", 300, 200),
                new Sample("/search", 100, 200),
                new Sample("/login", 150, 302),
                new Sample("/login", 9000, 503),
                new Sample("/export", 250, 200),
                new Sample("/cart", 40, 200),
                new Sample("/cart", 41, 200),
                new Sample("/cart", 8000, 404),
                new Sample("/admin", 7000, 403)));
        LatencyDigest digest = new LatencyDigest(samples);
        assert digest.busiest(2).equals(List.of("/cart", "/search"));
        assert digest.slowest(10).equals(List.of("/export", "/search", "/login", "/cart"));
        assert digest.slowest(1).equals(List.of("/export"));
        assert digest.slowest(0).isEmpty();
        assert new LatencyDigest(List.of()).slowest(3).isEmpty();

        samples.add(new Sample("/about", 250, 200));
        samples.sort(Comparator.comparingLong(Sample::millis));
        assert new LatencyDigest(samples).slowest(3).equals(List.of("/about", "/export", "/search"));
    }
}
