package tallyhouse;

import java.util.List;
import java.util.Map;

final class TablesTest {
    private static final String SALES = "day,article,amount\n1,tea,3.50\n1,salt,1\n2,tea,7\n";

    static void read() {
        Check.equal(List.of(List.of("a", "b c"), List.of("", "d\"e")), Tables.read("a,b c\r\n,\"d\"\"e\"", ','));
        Check.equal(List.of(List.of("a;b\nc", "d")), Tables.read("\"a;b\nc\";d\n", ';'));
        Check.equal(List.of(List.of("a", "")), Tables.read("a,", ','));
        Check.equal(List.of(List.of("a\"b")), Tables.read("a\"b", ','));
        Check.equal(List.of(List.of("")), Tables.read("\"\"", ','));
        Check.equal(List.of(), Tables.read("", ','));
        Check.fails(IllegalArgumentException.class, () -> Tables.read("a,\"b", ','));
    }

    static void whatIsWrittenIsReadAgain() {
        List<List<String>> rows = List.of(
                List.of("plain", "with,comma", "with \"quotes\""), List.of("two\nlines", "", "a\rb"), List.of(""));
        Check.equal(rows, Tables.read(Tables.write(rows, ','), ','));
        Check.equal("plain;a,b\n", Tables.write(List.of(List.of("plain", "a,b")), ';'));
    }

    static void named() {
        List<Map<String, String>> records = Tables.named(Tables.read(SALES, ','));
        Check.equal(3, records.size());
        Check.equal(Map.of("day", "1", "article", "salt", "amount", "1"), records.get(1));
        Check.equal(List.of("day", "article", "amount"), List.copyOf(records.get(0).keySet()));
        Check.equal(List.of(), Tables.named(List.of()));
        Check.fails(IllegalArgumentException.class, () -> Tables.named(Tables.read("a,b\n1\n", ',')));
    }

    static void join() {
        List<Map<String, String>> sales = Tables.named(Tables.read(SALES, ','));
        List<Map<String, String>> articles = Tables.named(Tables.read("article,amount,box\ntea,9,A\ntea,8,B\n", ','));
        List<Map<String, String>> joined = Tables.join(sales, articles, "article");
        Check.equal(4, joined.size());
        Check.equal(Map.of("day", "1", "article", "tea", "amount", "3.50", "box", "B"), joined.get(1));
        Check.equal("2", joined.get(2).get("day"));
    }

    static void sums() {
        List<Map<String, String>> sales = Tables.named(Tables.read(SALES, ','));
        Check.equal(Map.of("tea", 1_050L, "salt", 100L), Tables.sums(sales, "article", "amount"));
    }

    static void layOut() {
        String text = Tables.layOut(Tables.read("name,price\ntea,3.50\nsalted nuts,12\n", ','));
        Check.equal("name         price\ntea           3.50\nsalted nuts     12\n", text);
        Check.equal("a\nbb  c\n", Tables.layOut(List.of(List.of("a"), List.of("bb", "c"))));
    }

    static void pages() {
        List<Map<String, String>> sales = Tables.named(Tables.read(SALES, ','));
        Check.equal(2, Tables.pages(sales, record -> true, 2).size());
        Check.equal(1, Tables.pages(sales, record -> true, 2).get(1).size());
        List<List<Map<String, String>>> tea = Tables.pages(sales, record -> record.get("article").equals("tea"), 1);
        Check.equal("2", tea.get(1).get(0).get("day"));
        Check.equal(List.of(), Tables.pages(sales, record -> false, 2));
    }
}
