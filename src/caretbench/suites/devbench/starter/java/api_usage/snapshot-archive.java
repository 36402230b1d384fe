import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/** Packs the reports of a device into one archive that support can attach to a ticket. */
class SnapshotArchive {
    /** Every entry carries this time, so that equal reports give equal bytes. */
    static final long ENTRY_TIME_MILLIS = 1_600_000_000_000L;

    private final Map<String, String> reports = new LinkedHashMap<>();

    void add(String name, String text) {
        if (reports.putIfAbsent(name, text) != null) {
            throw new IllegalArgumentException("report added twice: " + name);
        }
    }

    byte[] pack() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes, StandardCharsets.UTF_8)) {
            for (Map.Entry<String, String> report : reports.entrySet()) {
⟦                ZipEntry entry = new ZipEntry(report.getKey());
                entry.setTime(ENTRY_TIME_MILLIS);
                zip.putNextEntry(entry);
                zip.write(report.getValue().getBytes(StandardCharsets.UTF_8));
                zip.closeEntry();
⟧            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    static Map<String, String> unpack(byte[] archive) throws IOException {
        Map<String, String> reports = new LinkedHashMap<>();
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(archive), StandardCharsets.UTF_8)) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                reports.put(entry.getName(), new String(zip.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        return reports;
    }
}
⟦tests⟧

public class Main {
    public static void main(String[] args) throws Exception {
        assert SnapshotArchive.unpack(new SnapshotArchive().pack()).isEmpty();

        SnapshotArchive archive = new SnapshotArchive();
        archive.add("battery.txt", "level=81\nhealth=good");
        archive.add("radio/cells.txt", "Zürich: −71 dBm");
        archive.add("crashes.txt", "");
        byte[] packed = archive.pack();

        Map<String, String> restored = SnapshotArchive.unpack(packed);
        assert List.copyOf(restored.keySet()).equals(List.of("battery.txt", "radio/cells.txt", "crashes.txt"));
        assert restored.get("battery.txt").equals("level=81\nhealth=good");
        assert restored.get("radio/cells.txt").equals("Zürich: −71 dBm");
        assert restored.get("crashes.txt").isEmpty();

        assert Arrays.equals(packed, archive.pack());
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(packed))) {
            int entries = 0;
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                assert entry.getTime() == SnapshotArchive.ENTRY_TIME_MILLIS;
                entries++;
            }
            assert entries == 3;
        }
    }
}
