package tallyhouse;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Double-entry books: every posting takes from some accounts what it gives to others, in cents. */
public final class Ledger {
    /** One side of a posting. */
    public record Entry(String account, long cents) {}

    /** Something that happened on a day. */
    public record Posting(int day, String text, List<Entry> entries) {}

    private final List<Posting> postings = new ArrayList<>();
    private final Map<String, Long> balances = new TreeMap<>();
    private int closedUntil = Integer.MIN_VALUE;

    /** Adds a posting; its entries must come to nothing. */
    public void post(int day, String text, Entry... entries) {
        if (day <= closedUntil) {
            throw new IllegalStateException("the books are closed until day " + closedUntil);
        }
        long sum = 0;
        for (Entry entry : entries) {
            sum = Math.addExact(sum, entry.cents());
        }
        if (entries.length < 2 || sum != 0) {
            throw new IllegalArgumentException(text + ": off by " + sum);
        }
        for (Entry entry : entries) {
            balances.merge(entry.account(), entry.cents(), Long::sum);
        }
        postings.add(new Posting(day, text, List.of(entries)));
    }

    /** What an account holds. */
    public long balance(String account) {
        return balances.getOrDefault(account, 0L);
    }

    /** What an account held at the end of a day. */
    public long balanceOn(String account, int day) {
        long sum = 0;
        for (Posting posting : postings) {
            if (posting.day() > day) {
                continue;
            }
            for (Entry entry : posting.entries()) {
                if (entry.account().equals(account)) {
                    sum += entry.cents();
                }
            }
        }
        return sum;
    }

    /** Accounts that hold something, with what they hold. */
    public Map<String, Long> trialBalance() {
        Map<String, Long> open = new LinkedHashMap<>();
        for (Map.Entry<String, Long> one : balances.entrySet()) {
            if (one.getValue() != 0) {
                open.put(one.getKey(), one.getValue());
            }
        }
        return open;
    }

    /** Sums by the part of the account's name before the first colon. */
    public Map<String, Long> byGroup() {
        Map<String, Long> groups = new TreeMap<>();
        for (Map.Entry<String, Long> one : balances.entrySet()) {
            int colon = one.getKey().indexOf(':');
            String group = colon < 0 ? one.getKey() : one.getKey().substring(0, colon);
            groups.merge(group, one.getValue(), Long::sum);
        }
        return groups;
    }

    /** Posts the opposite of a posting, and says which number it has. */
    public int reverse(int number, int day) {
        Posting wrong = postings.get(number);
        Entry[] opposite = new Entry[wrong.entries().size()];
        for (int place = 0; place < opposite.length; place++) {
            Entry entry = wrong.entries().get(place);
            opposite[place] = new Entry(entry.account(), -entry.cents());
        }
        post(day, "reversal of: " + wrong.text(), opposite);
        return postings.size() - 1;
    }

    /** Allows nothing to be posted on this day or before it. */
    public void closeUntil(int day) {
        if (day < closedUntil) {
            throw new IllegalArgumentException("closed until " + closedUntil + " already");
        }
        closedUntil = day;
    }

    /** The postings that touch an account, by day; those of one day in the order in which they were made. */
    public List<Posting> statement(String account) {
        List<Posting> found = new ArrayList<>();
        for (Posting posting : postings) {
            for (Entry entry : posting.entries()) {
                if (entry.account().equals(account)) {
                    found.add(posting);
                    break;
                }
            }
        }
        found.sort((one, other) -> Integer.compare(one.day(), other.day()));
        return Collections.unmodifiableList(found);
    }
}
