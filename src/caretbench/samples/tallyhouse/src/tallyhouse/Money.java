package tallyhouse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** Amounts in cents: reading, writing, sharing out, interest. */
public final class Money {
    /** One rate of a payment plan. */
    public record Rate(int month, long interest, long repaid, long left) {}

    /** Reads amounts like 12, 12.5, -3.07 and 1,200.00. */
    public static long parse(String text) {
        String digits = text.strip().replace(",", "");
        boolean negative = digits.startsWith("-");
        if (negative) {
            digits = digits.substring(1);
        }
        int point = digits.indexOf('.');
        String whole = point < 0 ? digits : digits.substring(0, point);
        String part = point < 0 ? "" : digits.substring(point + 1);
        if (whole.isEmpty() || part.length() > 2 || (point >= 0 && part.isEmpty())) {
            throw new NumberFormatException(text);
        }
        long cents = 0;
        for (char digit : (whole + (part + "00").substring(0, 2)).toCharArray()) {
            if (digit < '0' || digit > '9') {
                throw new NumberFormatException(text);
            }
            cents = Math.addExact(Math.multiplyExact(cents, 10), digit - '0');
        }
        return negative ? -cents : cents;
    }

    /** Writes cents with two digits after the point and commas between thousands. */
    public static String format(long cents) {
        StringBuilder text = new StringBuilder(Long.toString(Math.abs(cents)));
        while (text.length() < 3) {
            text.insert(0, '0');
        }
        text.insert(text.length() - 2, '.');
        for (int place = text.length() - 6; place > 0; place -= 3) {
            text.insert(place, ',');
        }
        if (cents < 0) {
            text.insert(0, '-');
        }
        return text.toString();
    }

    /** Shares an amount out by weights; no cent is lost, the largest remainders get one more. */
    public static long[] allocate(long cents, int... weights) {
        long total = Arrays.stream(weights).asLongStream().sum();
        if (total <= 0) {
            throw new IllegalArgumentException("weights must come to more than nothing");
        }
        long[] shares = new long[weights.length];
        List<Integer> order = new ArrayList<>();
        long left = cents;
        for (int place = 0; place < weights.length; place++) {
            shares[place] = Math.floorDiv(cents * weights[place], total);
            left -= shares[place];
            order.add(place);
        }
        order.sort(Comparator.comparingLong(place -> -Math.floorMod(cents * weights[place], total)));
        for (int place = 0; left > 0; place++) {
            shares[order.get(place)]++;
            left--;
        }
        return shares;
    }

    /** Rounds half a cent to the even neighbour. */
    public static long percent(long cents, long basisPoints) {
        long product = Math.multiplyExact(cents, basisPoints);
        long whole = Math.floorDiv(product, 10_000);
        long rest = Math.floorMod(product, 10_000);
        if (rest > 5_000 || (rest == 5_000 && whole % 2 != 0)) {
            whole++;
        }
        return whole;
    }

    /** A loan paid back by equal rates; the last one takes what is left. */
    public static List<Rate> plan(long loan, long monthlyBasisPoints, long rate) {
        List<Rate> rates = new ArrayList<>();
        long left = loan;
        for (int month = 1; left > 0; month++) {
            long interest = percent(left, monthlyBasisPoints);
            if (interest >= rate) {
                throw new IllegalArgumentException("a rate of " + format(rate) + " never pays it back");
            }
            long repaid = Math.min(left, rate - interest);
            left -= repaid;
            rates.add(new Rate(month, interest, repaid, left));
        }
        return rates;
    }

    private Money() {}
}
