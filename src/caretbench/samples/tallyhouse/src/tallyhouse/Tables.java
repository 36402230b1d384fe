package tallyhouse;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Tables of text: reading and writing them with separators, choosing, joining, laying out. */
public final class Tables {
    /** Reads rows of cells; a cell in quotes may hold separators, line ends and doubled quotes. */
    public static List<List<String>> read(String text, char separator) {
        List<List<String>> rows = new ArrayList<>();
        List<String> row = new ArrayList<>();
        StringBuilder cell = new StringBuilder();
        boolean quoted = false;
        boolean begun = false;
        for (int place = 0; place < text.length(); place++) {
            char sign = text.charAt(place);
            if (quoted) {
                if (sign != '"') {
                    cell.append(sign);
                } else if (place + 1 < text.length() && text.charAt(place + 1) == '"') {
                    cell.append('"');
                    place++;
                } else {
                    quoted = false;
                }
            } else if (sign == '"' && cell.length() == 0) {
                quoted = true;
                begun = true;
            } else if (sign == separator) {
                row.add(cell.toString());
                cell.setLength(0);
                begun = true;
            } else if (sign == '\n') {
                row.add(cell.toString());
                cell.setLength(0);
                rows.add(row);
                row = new ArrayList<>();
                begun = false;
            } else if (sign != '\r') {
                cell.append(sign);
                begun = true;
            }
        }
        if (quoted) {
            throw new IllegalArgumentException("a quote is not closed");
        }
        if (begun) {
            row.add(cell.toString());
            rows.add(row);
        }
        return rows;
    }

    /** Writes rows so that {@link #read} gives them again. */
    public static String write(List<List<String>> rows, char separator) {
        StringBuilder text = new StringBuilder();
        for (List<String> row : rows) {
            for (int place = 0; place < row.size(); place++) {
                if (place > 0) {
                    text.append(separator);
                }
                String cell = row.get(place);
                boolean plain = !cell.isEmpty();
                for (char sign : cell.toCharArray()) {
                    if (sign == separator || sign == '"' || sign == '\n' || sign == '\r') {
                        plain = false;
                        break;
                    }
                }
                text.append(plain ? cell : '"' + cell.replace("\"", "\"\"") + '"');
            }
            text.append('\n');
        }
        return text.toString();
    }

    /** Rows as maps by the names in the first row. */
    public static List<Map<String, String>> named(List<List<String>> rows) {
        List<Map<String, String>> records = new ArrayList<>();
        if (rows.isEmpty()) {
            return records;
        }
        List<String> names = rows.get(0);
        for (int number = 1; number < rows.size(); number++) {
            List<String> row = rows.get(number);
            if (row.size() != names.size()) {
                throw new IllegalArgumentException("row " + number + " has " + row.size() + " cells");
            }
            Map<String, String> record = new LinkedHashMap<>();
            for (int place = 0; place < names.size(); place++) {
                record.put(names.get(place), row.get(place));
            }
            records.add(record);
        }
        return records;
    }

    /** Records of two tables with the same value under a name, those of the right one after the left's. */
    public static List<Map<String, String>> join(
            List<Map<String, String>> left, List<Map<String, String>> right, String name) {
        Map<String, List<Map<String, String>>> byValue = new HashMap<>();
        for (Map<String, String> record : right) {
            byValue.computeIfAbsent(record.get(name), value -> new ArrayList<>()).add(record);
        }
        List<Map<String, String>> joined = new ArrayList<>();
        for (Map<String, String> record : left) {
            for (Map<String, String> other : byValue.getOrDefault(record.get(name), List.of())) {
                Map<String, String> both = new LinkedHashMap<>(record);
                other.forEach(both::putIfAbsent);
                joined.add(both);
            }
        }
        return joined;
    }

    /** Sums of one column by the values of another, in the order in which these come. */
    public static Map<String, Long> sums(List<Map<String, String>> records, String by, String column) {
        Map<String, Long> sums = new LinkedHashMap<>();
        for (Map<String, String> record : records) {
            sums.merge(record.get(by), Money.parse(record.get(column)), Long::sum);
        }
        return sums;
    }

    /** Rows under each other; columns of numbers stand to the right. */
    public static String layOut(List<List<String>> rows) {
        List<Integer> widths = new ArrayList<>();
        List<Boolean> numbers = new ArrayList<>();
        for (List<String> row : rows) {
            for (int place = 0; place < row.size(); place++) {
                if (place == widths.size()) {
                    widths.add(0);
                    numbers.add(true);
                }
                String cell = row.get(place);
                widths.set(place, Math.max(widths.get(place), cell.length()));
                if (row != rows.get(0) && !cell.matches("-?[\\d,.]*")) {
                    numbers.set(place, false);
                }
            }
        }
        StringBuilder text = new StringBuilder();
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int place = 0; place < row.size(); place++) {
                String cell = row.get(place);
                String space = " ".repeat(widths.get(place) - cell.length());
                line.append(place > 0 ? "  " : "");
                line.append(numbers.get(place) ? space + cell : cell + space);
            }
            text.append(line.toString().stripTrailing()).append('\n');
        }
        return text.toString();
    }

    /** The records that a test lets through, in pages of some size. */
    public static List<List<Map<String, String>>> pages(
            List<Map<String, String>> records, Predicate<Map<String, String>> test, int size) {
        List<List<Map<String, String>>> pages = new ArrayList<>();
        for (Map<String, String> record : records) {
            if (!test.test(record)) {
                continue;
            }
            if (pages.isEmpty() || pages.get(pages.size() - 1).size() == size) {
                pages.add(new ArrayList<>());
            }
            pages.get(pages.size() - 1).add(record);
        }
        return pages;
    }

    private Tables() {}
}
