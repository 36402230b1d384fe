import java.util.*;
import java.util.stream.*;

class Index {
    /** Keys by value; entries without a value are left out. */
    static <K extends Comparable<K>, V extends Comparable<V>> SortedMap<V, List<K>> invert(Map<K, V> entries) {
        return entries.entrySet().stream()
                .⟦filter(entry -> entry.getValue() != null)
                .sorted(Map.Entry.comparingByKey())
                .collect(Collectors.groupingBy(
                        Map.Entry::getValue,
                        TreeMap::new,
                        Collectors.mapping(Map.Entry::getKey, Collectors.toList())));
    }
}⟧
⟦tests⟧

public class Main {
    public static void main(String[] args) {
        Map<String, Integer> heights = new HashMap<>();
        for (String peak : List.of("Tor=512", "Ben=981", "Nab=512", "Rig=1797", "Alp=981", "Zug=512")) {
            heights.put(peak.substring(0, 3), Integer.valueOf(peak.substring(4)));
        }
        heights.put("Fog", null);
        SortedMap<Integer, List<String>> byHeight = Index.invert(heights);
        assert byHeight.toString().equals("{512=[Nab, Tor, Zug], 981=[Alp, Ben], 1797=[Rig]}") : byHeight;
        assert byHeight.firstKey() == 512;
        assert Index.invert(new HashMap<String, String>()).isEmpty();
        assert Index.invert(Map.of(3, 'x', 1, 'x', 2, 'a')).toString().equals("{a=[2], x=[1, 3]}");
    }
}
