package tallyhouse;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import tallyhouse.Ledger.Entry;

final class BooksTest {
    private static Ledger shop() {
        Ledger ledger = new Ledger();
        ledger.post(1, "start", new Entry("cash", 10_000), new Entry("equity", -10_000));
        ledger.post(3, "rent", new Entry("cost:rent", 2_500), new Entry("cash", -2_500));
        ledger.post(2, "sale", new Entry("cash", 700), new Entry("sales:tea", -500), new Entry("sales:tax", -200));
        return ledger;
    }

    static void balances() {
        Ledger ledger = shop();
        Check.equal(8_200L, ledger.balance("cash"));
        Check.equal(0L, ledger.balance("nothing"));
        Check.equal(10_700L, ledger.balanceOn("cash", 2));
        Check.equal(0L, ledger.balanceOn("cash", 0));
        Check.equal(Map.of("cash", 8_200L, "equity", -10_000L, "cost", 2_500L, "sales", -700L), ledger.byGroup());
    }

    static void trialBalanceLeavesEmptyAccountsOut() {
        Ledger ledger = shop();
        ledger.reverse(1, 4);
        Check.equal(Map.of("cash", 10_700L, "equity", -10_000L, "sales:tax", -200L, "sales:tea", -500L),
                ledger.trialBalance());
        Check.equal(List.of("cash", "equity", "sales:tax", "sales:tea"),
                List.copyOf(ledger.trialBalance().keySet()));
    }

    static void postingsMustComeToNothing() {
        Ledger ledger = shop();
        Check.fails(IllegalArgumentException.class,
                () -> ledger.post(5, "wrong", new Entry("cash", 1), new Entry("equity", -2)));
        Check.fails(IllegalArgumentException.class, () -> ledger.post(5, "alone", new Entry("cash", 0)));
        Check.equal(8_200L, ledger.balance("cash"));
    }

    static void closedBooks() {
        Ledger ledger = shop();
        ledger.closeUntil(3);
        Check.fails(IllegalStateException.class,
                () -> ledger.post(3, "late", new Entry("cash", 1), new Entry("equity", -1)));
        ledger.post(4, "in time", new Entry("cash", 1), new Entry("equity", -1));
        Check.fails(IllegalArgumentException.class, () -> ledger.closeUntil(2));
    }

    static void reversal() {
        Ledger ledger = shop();
        Check.equal(3, ledger.reverse(2, 9));
        Check.equal(0L, ledger.balance("sales:tea"));
        Check.equal(7_500L, ledger.balance("cash"));
        Check.equal("reversal of: sale", ledger.statement("sales:tax").get(1).text());
    }

    static void statementIsInOrderOfDays() {
        List<String> texts = shop().statement("cash").stream().map(Ledger.Posting::text).toList();
        Check.equal(List.of("start", "sale", "rent"), texts);
        Check.equal(List.of(), shop().statement("nothing"));
        Ledger ledger = shop();
        ledger.post(5, "move", new Entry("cash", 5), new Entry("cash", -5));
        Check.equal(4, ledger.statement("cash").size());
    }

    static void amountsAreRead() {
        Check.equal(1_200L, Money.parse("12"));
        Check.equal(1_250L, Money.parse(" 12.5"));
        Check.equal(-307L, Money.parse("-3.07"));
        Check.equal(120_000L, Money.parse("1,200.00"));
        for (String wrong : List.of("", "-", "1.234", "1.", ".5", "1a", "--1")) {
            Check.fails(NumberFormatException.class, () -> Money.parse(wrong));
        }
        Check.fails(ArithmeticException.class, () -> Money.parse("99999999999999999999"));
    }

    static void amountsAreWritten() {
        Check.equal("0.05", Money.format(5));
        Check.equal("12.50", Money.format(1_250));
        Check.equal("-1,234,567.89", Money.format(-123_456_789));
        Check.equal("123.45", Money.format(12_345));
        for (long cents = -100_000; cents < 10_000_000; cents += 99_991) {
            Check.equal(cents, Money.parse(Money.format(cents)));
        }
    }

    static void nothingIsLostInSharing() {
        Check.equal("[34, 33, 33]", Arrays.toString(Money.allocate(100, 1, 1, 1)));
        Check.equal("[50, 17, 33]", Arrays.toString(Money.allocate(100, 3, 1, 2)));
        Check.equal("[-33, -33, -34]", Arrays.toString(Money.allocate(-100, 1, 1, 1)));
        for (int cents = 0; cents < 50; cents++) {
            Check.equal((long) cents, Arrays.stream(Money.allocate(cents, 5, 3, 7, 1)).sum());
        }
        Check.fails(IllegalArgumentException.class, () -> Money.allocate(5, 0, 0));
    }

    static void halvesGoToTheEvenNeighbour() {
        Check.equal(2L, Money.percent(50, 500));
        Check.equal(4L, Money.percent(70, 500));
        Check.equal(3L, Money.percent(52, 500));
        Check.equal(-2L, Money.percent(-50, 500));
        Check.equal(19L, Money.percent(100, 1_900));
    }

    static void plan() {
        List<Money.Rate> rates = Money.plan(10_000, 100, 3_400);
        Check.equal(4, rates.size());
        Check.equal(new Money.Rate(1, 100, 3_300, 6_700), rates.get(0));
        Check.equal(new Money.Rate(3, 34, 3_366, 1), rates.get(2));
        Check.equal(new Money.Rate(4, 0, 1, 0), rates.get(3));
        Check.fails(IllegalArgumentException.class, () -> Money.plan(10_000, 100, 100));
        Check.equal(List.of(), Money.plan(0, 100, 10));
    }
}
