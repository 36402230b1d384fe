package tallyhouse;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;

/** Numbers on invoices: check digits, Roman ones, primes, order. */
public final class Numbers {
    private static final int[] VALUES = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
    private static final String[] LETTERS = {"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"};

    /** Whether the last digit fits the others (Luhn). */
    public static boolean valid(String digits) {
        int sum = 0;
        boolean doubled = false;
        int counted = 0;
        for (int place = digits.length() - 1; place >= 0; place--) {
            char sign = digits.charAt(place);
            if (sign == ' ') {
                continue;
            }
            if (sign < '0' || sign > '9') {
                return false;
            }
            int digit = sign - '0';
            if (doubled) {
                digit *= 2;
                if (digit > 9) {
                    digit -= 9;
                }
            }
            sum += digit;
            doubled = !doubled;
            counted++;
        }
        return counted > 1 && sum % 10 == 0;
    }

    /** A number from 1 to 3999 in Roman letters. */
    public static String roman(int number) {
        if (number < 1 || number > 3999) {
            throw new IllegalArgumentException("no Roman number: " + number);
        }
        StringBuilder text = new StringBuilder();
        int left = number;
        for (int place = 0; place < VALUES.length; place++) {
            while (left >= VALUES[place]) {
                text.append(LETTERS[place]);
                left -= VALUES[place];
            }
        }
        return text.toString();
    }

    /** The number that Roman letters stand for; they must be written in the usual way. */
    public static int fromRoman(String text) {
        int number = 0;
        int place = 0;
        for (int step = 0; step < VALUES.length; step++) {
            while (text.startsWith(LETTERS[step], place)) {
                number += VALUES[step];
                place += LETTERS[step].length();
            }
        }
        if (place < text.length() || number == 0 || number > 3999 || !roman(number).equals(text)) {
            throw new IllegalArgumentException("no Roman number: " + text);
        }
        return number;
    }

    /** The primes below a bound (the sieve). */
    public static List<Integer> primes(int bound) {
        BitSet composite = new BitSet(Math.max(bound, 2));
        List<Integer> primes = new ArrayList<>();
        for (int number = 2; number < bound; number++) {
            if (composite.get(number)) {
                continue;
            }
            primes.add(number);
            for (long multiple = (long) number * number; multiple < bound; multiple += number) {
                composite.set((int) multiple);
            }
        }
        return primes;
    }

    /** The number that would stand at a place if all were in order; the array is rearranged. */
    public static int ranked(int[] numbers, int place, Random random) {
        int low = 0;
        int high = numbers.length - 1;
        while (low < high) {
            int pivot = numbers[low + random.nextInt(high - low + 1)];
            int left = low;
            int right = high;
            while (left <= right) {
                while (numbers[left] < pivot) {
                    left++;
                }
                while (numbers[right] > pivot) {
                    right--;
                }
                if (left <= right) {
                    int kept = numbers[left];
                    numbers[left++] = numbers[right];
                    numbers[right--] = kept;
                }
            }
            if (place <= right) {
                high = right;
            } else if (place >= left) {
                low = left;
            } else {
                break;
            }
        }
        return numbers[place];
    }

    /** How many pairs stand in the wrong order; the array is sorted on the way (merging). */
    public static long inversions(int[] numbers) {
        return sort(numbers, new int[numbers.length], 0, numbers.length);
    }

    private static long sort(int[] numbers, int[] aside, int low, int high) {
        if (high - low < 2) {
            return 0;
        }
        int middle = (low + high) >>> 1;
        long count = sort(numbers, aside, low, middle) + sort(numbers, aside, middle, high);
        int left = low;
        int right = middle;
        for (int place = low; place < high; place++) {
            if (right == high || (left < middle && numbers[left] <= numbers[right])) {
                aside[place] = numbers[left++];
            } else {
                aside[place] = numbers[right++];
                count += middle - left;
            }
        }
        System.arraycopy(aside, low, numbers, low, high - low);
        return count;
    }

    /** Ranges like 1-3,7 for numbers in order, each once. */
    public static String ranges(List<Integer> numbers) {
        StringBuilder text = new StringBuilder();
        int place = 0;
        while (place < numbers.size()) {
            int end = place;
            while (end + 1 < numbers.size() && numbers.get(end + 1) == numbers.get(end) + 1) {
                end++;
            }
            if (text.length() > 0) {
                text.append(',');
            }
            text.append(numbers.get(place));
            if (end > place) {
                text.append('-').append(numbers.get(end));
            }
            place = end + 1;
        }
        return text.toString();
    }

    private Numbers() {}
}
