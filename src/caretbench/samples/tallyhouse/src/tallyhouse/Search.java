package tallyhouse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Finding texts: in a text, by pattern, by words, by what is alike. */
public final class Search {
    private final Map<String, Map<Integer, Integer>> postings = new TreeMap<>();
    private final List<Integer> lengths = new ArrayList<>();

    /** All places where a word begins in a text, overlapping ones too (Knuth, Morris and Pratt). */
    public static List<Integer> find(String word, String text) {
        List<Integer> places = new ArrayList<>();
        if (word.isEmpty()) {
            return places;
        }
        int[] back = new int[word.length()];
        for (int place = 1, matched = 0; place < word.length(); place++) {
            while (matched > 0 && word.charAt(place) != word.charAt(matched)) {
                matched = back[matched - 1];
            }
            if (word.charAt(place) == word.charAt(matched)) {
                matched++;
            }
            back[place] = matched;
        }
        int matched = 0;
        for (int place = 0; place < text.length(); place++) {
            while (matched > 0 && text.charAt(place) != word.charAt(matched)) {
                matched = back[matched - 1];
            }
            if (text.charAt(place) == word.charAt(matched)) {
                matched++;
            }
            if (matched == word.length()) {
                places.add(place - matched + 1);
                matched = back[matched - 1];
            }
        }
        return places;
    }

    /** Whether a text fits a pattern in which ? is any sign and * any number of signs. */
    public static boolean fits(String pattern, String text) {
        int inPattern = 0;
        int inText = 0;
        int star = -1;
        int tried = 0;
        while (inText < text.length()) {
            boolean more = inPattern < pattern.length();
            if (more && pattern.charAt(inPattern) == '*') {
                star = inPattern++;
                tried = inText;
            } else if (more && (pattern.charAt(inPattern) == '?' || pattern.charAt(inPattern) == text.charAt(inText))) {
                inPattern++;
                inText++;
            } else if (star >= 0) {
                inPattern = star + 1;
                inText = ++tried;
            } else {
                return false;
            }
        }
        while (inPattern < pattern.length() && pattern.charAt(inPattern) == '*') {
            inPattern++;
        }
        return inPattern == pattern.length();
    }

    /** The longest text that two texts have in common, not always in one piece. */
    public static String common(String one, String other) {
        int[][] lengths = new int[one.length() + 1][other.length() + 1];
        for (int i = one.length() - 1; i >= 0; i--) {
            for (int j = other.length() - 1; j >= 0; j--) {
                if (one.charAt(i) == other.charAt(j)) {
                    lengths[i][j] = lengths[i + 1][j + 1] + 1;
                } else {
                    lengths[i][j] = Math.max(lengths[i + 1][j], lengths[i][j + 1]);
                }
            }
        }
        StringBuilder text = new StringBuilder();
        int i = 0;
        int j = 0;
        while (i < one.length() && j < other.length()) {
            if (one.charAt(i) == other.charAt(j)) {
                text.append(one.charAt(i));
                i++;
                j++;
            } else if (lengths[i + 1][j] >= lengths[i][j + 1]) {
                i++;
            } else {
                j++;
            }
        }
        return text.toString();
    }

    /** Takes a text in, and gives its number. */
    public int add(String text) {
        int number = lengths.size();
        String[] words = words(text);
        for (String word : words) {
            postings.computeIfAbsent(word, key -> new LinkedHashMap<>()).merge(number, 1, Integer::sum);
        }
        lengths.add(words.length);
        return number;
    }

    /** The numbers of the texts that fit a question best; rare words weigh more. */
    public List<Integer> best(String question, int most) {
        Map<Integer, Double> scores = new HashMap<>();
        for (String word : words(question)) {
            Map<Integer, Integer> found = postings.get(word);
            if (found == null) {
                continue;
            }
            double weight = Math.log(1 + (double) lengths.size() / found.size());
            found.forEach((number, count) ->
                    scores.merge(number, weight * count / Math.sqrt(lengths.get(number)), Double::sum));
        }
        List<Integer> numbers = new ArrayList<>(scores.keySet());
        numbers.sort((one, other) -> {
            int byScore = Double.compare(scores.get(other), scores.get(one));
            return byScore != 0 ? byScore : Integer.compare(one, other);
        });
        return numbers.subList(0, Math.min(most, numbers.size()));
    }

    private static String[] words(String text) {
        return Arrays.stream(text.toLowerCase(Locale.ROOT).split("[^a-z0-9]+"))
                .filter(word -> !word.isEmpty())
                .toArray(String[]::new);
    }
}
