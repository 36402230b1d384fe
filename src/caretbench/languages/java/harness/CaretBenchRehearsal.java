import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Scanner;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Does what programs usually do, once. The classes that the JDK loads for it, and the call sites that it links, go into an
 * archive that every program's JVM maps instead of loading them. None of these classes does.
 */
public final class CaretBenchRehearsal {
    private enum Colour { RED, GREEN, BLUE }

    private record Point(int x, double y, String name, List<Integer> parts) {}

    private interface Shape {
        double area();
    }

    public static void main(String[] arguments) throws Exception {
        collections();
        text();
        streams();
        threads();
        failures();
        files();
    }

    private static void collections() {
        List<String> names = new ArrayList<>(List.of("c", "a", "b"));
        names.sort(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()));
        Collections.sort(names);
        names.removeIf(name -> name.equals("z"));
        Map<String, Integer> counts = new HashMap<>();
        names.forEach(name -> counts.merge(name, 1, Integer::sum));
        Map<String, List<Integer>> groups = new LinkedHashMap<>(new TreeMap<>());
        groups.computeIfAbsent("one", key -> new LinkedList<>()).add(1);
        counts.entrySet().forEach(entry -> groups.put(entry.getKey(), Arrays.asList(entry.getValue())));
        new ArrayDeque<>(new TreeSet<>(new HashSet<>(names))).pollFirst();
        new PriorityQueue<int[]>((one, other) -> Integer.compare(one[0], other[0])).offer(new int[] {1});
        int[] numbers = new Random(1).ints(10, 0, 10).toArray();
        Arrays.sort(numbers);
        show(Arrays.toString(numbers), names, counts, groups, Map.of("key", 1), Set.of(1));
        Point point = new Point(1, 2.5, "p", List.of(1, 2));
        show(point, point.equals(new Point(1, 2.5, "p", List.of())), point.hashCode(), Objects.hash(1, "x"));
        for (Colour colour : Colour.values()) {
            show(switch (colour) { case RED -> 1; case GREEN -> 2; case BLUE -> 3; });
        }
        Shape shape = () -> Math.PI * Math.sqrt(2);
        show(shape.area(), new BigDecimal("1.10").add(BigDecimal.ONE), BigInteger.TEN.pow(20));
    }

    private static void text() {
        int count = 3;
        long total = 5L;
        double share = 0.5;
        String name = "name";
        char letter = 'c';
        show("" + count, "a" + name + letter, name + ": " + share, name + count + " of " + total + ", " + (count > 2));
        show("(" + count + ", " + count + ")", name + " " + new ArrayList<>(), "x" + null + letter + count);
        show(String.format("%5d|%-8s|%.2f|%x|%04d|%,d%n", count, name, share, count, count, total));
        StringBuilder built = new StringBuilder().append(count).append(name).append(share).insert(0, letter).reverse();
        show(built, String.join(",", List.of("a", "b")), "a,b c".split("[, ]+"), name.repeat(2), name.strip());
        show(new StringJoiner(", ", "[", "]").add("x"), name.chars().filter(Character::isLetter).count());
        Matcher matcher = Pattern.compile("(\\w+)@(\\w+)\\.com", Pattern.CASE_INSENSITIVE).matcher("me@there.com");
        show(matcher.find() ? matcher.group(1) : "", "x1y2".replaceAll("[0-9]", "#"), Integer.parseInt("12"));
        show(LocalDate.of(2024, 1, 31).plusDays(1), Duration.ofSeconds(61), Double.parseDouble("1.5"));
        show(new Scanner("1 two\n3").nextInt(), new String(name.getBytes(StandardCharsets.UTF_8)).toUpperCase());
    }

    private static void streams() {
        List<Integer> numbers = IntStream.rangeClosed(1, 9).boxed().collect(Collectors.toList());
        Function<Integer, Integer> twice = number -> number * 2;
        Predicate<Integer> even = number -> number % 2 == 0;
        Supplier<List<String>> empty = ArrayList::new;
        BiFunction<Integer, Integer, Integer> sum = Integer::sum;
        show(numbers.stream().filter(even.negate()).map(twice.andThen(String::valueOf)).collect(Collectors.joining(",")));
        show(numbers.stream().collect(Collectors.groupingBy(number -> number % 3, TreeMap::new, Collectors.counting())));
        show(numbers.stream().collect(Collectors.toMap(number -> "k" + number, number -> number)), empty.get());
        show(numbers.stream().mapToInt(Integer::intValue).sum(), numbers.stream().reduce(0, sum::apply));
        show(numbers.stream().mapToDouble(number -> number).average().orElse(0), numbers.stream().anyMatch(even));
        show(Stream.of("b", "a").sorted().distinct().limit(1).findFirst(), Arrays.stream(new int[] {1, 2}).max());
        show(Stream.of(numbers).flatMap(List::stream).sorted(Comparator.reverseOrder()).skip(1).toList());
        show(Optional.of("x").map(String::length).filter(length -> length > 0).orElseGet(() -> 0));
    }

    private static void threads() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        CountDownLatch done = new CountDownLatch(1);
        AtomicInteger shared = new AtomicInteger();
        Map<String, Integer> seen = new ConcurrentHashMap<>();
        ReentrantLock lock = new ReentrantLock();
        Future<Integer> answer = pool.submit(() -> {
            lock.lock();
            try {
                return seen.merge("key", shared.incrementAndGet(), Integer::sum);
            } finally {
                lock.unlock();
                done.countDown();
            }
        });
        done.await();
        show(answer.get());
        pool.shutdown();
        Thread thread = new Thread(() -> shared.addAndGet(2), "other");
        thread.start();
        thread.join();
    }

    private static void failures() {
        try {
            List.of(1).add(Integer.valueOf("2"));
        } catch (UnsupportedOperationException expected) {
            show(expected.getMessage(), new IllegalArgumentException("no: " + expected, expected));
        }
        try {
            assert nested(0) > 0 : "wrong: " + 0;
        } catch (AssertionError expected) {
            expected.printStackTrace(new PrintStream(new ByteArrayOutputStream()));
        }
    }

    private static int nested(int index) {
        int[][] grid = new int[2][2];
        return grid[index][index];
    }

    private static void files() throws IOException {
        try (BufferedReader reader = new BufferedReader(new StringReader("line\nline"))) {
            show(reader.lines().count());
        }
        Path file = Files.createTempFile("rehearsal", ".txt");
        Files.writeString(file, "text");
        show(Files.readAllLines(file), Files.exists(file), file.getFileName());
        Files.delete(file);
    }

    private static void show(Object... values) {
        for (Object value : values) {
            System.out.println(value);
        }
    }

    private CaretBenchRehearsal() {}
}
