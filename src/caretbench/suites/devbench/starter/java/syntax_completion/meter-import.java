import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What an import of meter readings brought: totals by meter, and the numbers of the lines that were refused. */
class ImportResult {
    final Map<String, Integer> totals = new TreeMap<>();
    final List<Integer> refusedLines = new ArrayList<>();
}

class MeterImport {
    /**
     * Reads lines of the form {@code meter;kilowatt-hours}. Blank lines are skipped; lines that do not have two fields
     * or whose amount is no integer are refused, the others added up. The reader is closed in every case.
     */
    static ImportResult read(Reader source) throws IOException {
        ImportResult result = new ImportResult();
        try (BufferedReader lines = new BufferedReader(source)) {
            int number = 0;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                number++;
⟦                if (line.isBlank()) {
                    continue;
                }
                String[] fields = line.split(";", -1);
                try {
                    if (fields.length != 2) {
                        throw new NumberFormatException("fields: " + fields.length);
                    }
                    result.totals.merge(fields[0].strip(), Integer.parseInt(fields[1].strip()), Integer::sum);
                } catch (NumberFormatException e) {
                    result.refusedLines.add(number);
                }
            }
        }
⟧        return result;
    }
}

public class Main {
    static class ClosingReader extends StringReader {
        boolean closed;

        ClosingReader(String text) {
            super(text);
        }

        @Override
        public void close() {
            closed = true;
            super.close();
        }
    }

    public static void main(String[] args) throws IOException {
        ClosingReader source = new ClosingReader("north; 40\n\nsouth;x7\nnorth;2\neast\n  \nwest;1;2\nsouth;-5\n;\n");
        ImportResult result = MeterImport.read(source);
        assert result.totals.equals(Map.of("north", 42, "south", -5)) : result.totals;
        assert result.refusedLines.equals(List.of(3, 5, 7, 9)) : result.refusedLines;
        assert source.closed;

        ImportResult empty = MeterImport.read(new StringReader(""));
        assert empty.totals.isEmpty() && empty.refusedLines.isEmpty();
        assert MeterImport.read(new StringReader("a;1")).totals.equals(Map.of("a", 1));
    }
}
