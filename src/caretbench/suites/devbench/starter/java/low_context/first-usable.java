import java.util.*;
import java.util.function.*;
import java.util.stream.Stream;

final class Fallback {
    /** The first usable value that a source has; sources behind it are not asked any more. */
    @SafeVarargs
    static <T> Optional<T> firstUsable(Predicate<T> usable, Supplier<Optional<T>>... sources) {
        return Stream.of(sources)⟦
                .map(Supplier::get)
                .flatMap(Optional::stream)
                .filter(usable)
                .findFirst();
⟧    }
}
⟦tests⟧

public class Main {
    private static final List<String> asked = new ArrayList<>();

    private static Supplier<Optional<String>> source(String name, String value) {
        return () -> {
            asked.add(name);
            return Optional.ofNullable(value);
        };
    }

    public static void main(String[] args) {
        Predicate<String> usable = text -> !text.isBlank();
        Optional<String> found = Fallback.firstUsable(
                usable, source("flags", null), source("file", " "), source("environment", "8080"), source("defaults", "80"));
        assert found.equals(Optional.of("8080"));
        assert asked.equals(List.of("flags", "file", "environment"));

        assert Fallback.firstUsable(usable, source("a", null), source("b", "")).isEmpty();
        assert asked.size() == 5;
        assert Fallback.firstUsable(usable, source("only", "x")).get().equals("x");
        assert Fallback.<Integer>firstUsable(number -> number > 0).isEmpty();
    }
}
