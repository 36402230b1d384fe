package tallyhouse;

import java.util.Arrays;
import java.util.List;
import java.util.Random;

final class NumbersTest {
    static void valid() {
        Check.equal(true, Numbers.valid("4539 3195 0343 6467"));
        Check.equal(false, Numbers.valid("8273 1232 7352 0569"));
        Check.equal(true, Numbers.valid("59"));
        Check.equal(true, Numbers.valid("0000"));
        Check.equal(false, Numbers.valid("0"));
        Check.equal(false, Numbers.valid("5a9"));
    }

    static void roman() {
        Check.equal("MCMXCIV", Numbers.roman(1994));
        Check.equal("XLII", Numbers.roman(42));
        for (int number = 1; number < 4000; number++) {
            Check.equal(number, Numbers.fromRoman(Numbers.roman(number)));
        }
        for (String wrong : List.of("", "IIII", "VX", "IC", "MMMM", "abc", "XIIX")) {
            Check.fails(IllegalArgumentException.class, () -> Numbers.fromRoman(wrong));
        }
        Check.fails(IllegalArgumentException.class, () -> Numbers.roman(0));
        Check.fails(IllegalArgumentException.class, () -> Numbers.roman(4000));
    }

    static void primes() {
        Check.equal(List.of(2, 3, 5, 7, 11, 13, 17, 19, 23, 29), Numbers.primes(30));
        Check.equal(List.of(), Numbers.primes(2));
        Check.equal(1229, Numbers.primes(10_000).size());
    }

    static void ranked() {
        Random random = new Random(8);
        for (int round = 0; round < 60; round++) {
            int[] numbers = random.ints(1 + round, 0, 20).toArray();
            int[] sorted = numbers.clone();
            Arrays.sort(sorted);
            int place = random.nextInt(numbers.length);
            Check.equal(sorted[place], Numbers.ranked(numbers, place, random));
        }
    }

    static void inversions() {
        int[] numbers = {2, 4, 1, 3, 5};
        Check.equal(3L, Numbers.inversions(numbers));
        Check.equal("[1, 2, 3, 4, 5]", Arrays.toString(numbers));
        Check.equal(6L, Numbers.inversions(new int[] {4, 3, 2, 1}));
        Check.equal(0L, Numbers.inversions(new int[] {1, 1, 1}));
        Check.equal(0L, Numbers.inversions(new int[0]));
    }

    static void ranges() {
        Check.equal("1-3,7,9-10", Numbers.ranges(List.of(1, 2, 3, 7, 9, 10)));
        Check.equal("5", Numbers.ranges(List.of(5)));
        Check.equal("", Numbers.ranges(List.of()));
    }
}
