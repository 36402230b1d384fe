package tallyhouse;

import java.util.List;

final class SearchTest {
    static void find() {
        Check.equal(List.of(0, 2, 4), Search.find("aba", "abababa"));
        Check.equal(List.of(10), Search.find("abcabd", "abcabcabca" + "abcabd"));
        Check.equal(List.of(3), Search.find("aab", "aaaaab"));
        Check.equal(List.of(), Search.find("abc", "ab"));
        Check.equal(List.of(), Search.find("", "ab"));
        String text = "aabaabaaabaabaab";
        for (String word : List.of("a", "aab", "aabaab", "baab", "aaa", "x")) {
            java.util.List<Integer> places = new java.util.ArrayList<>();
            for (int place = 0; place + word.length() <= text.length(); place++) {
                if (text.startsWith(word, place)) {
                    places.add(place);
                }
            }
            Check.equal(places, Search.find(word, text));
        }
    }

    static void fits() {
        Check.equal(true, Search.fits("*.csv", "sales.2024.csv"));
        Check.equal(false, Search.fits("*.csv", "sales.csv.old"));
        Check.equal(true, Search.fits("s?les*", "sales"));
        Check.equal(false, Search.fits("s?les", "sles"));
        Check.equal(true, Search.fits("a*b*c", "aXbYbZc"));
        Check.equal(false, Search.fits("a*b*c", "aXcYb"));
        Check.equal(true, Search.fits("**", ""));
        Check.equal(false, Search.fits("", "a"));
        Check.equal(false, Search.fits("?", ""));
    }

    static void common() {
        Check.equal("BDAB".length(), Search.common("ABCBDAB", "BDCABA").length());
        Check.equal("ace", Search.common("abcde", "ace"));
        Check.equal("", Search.common("abc", "xyz"));
        Check.equal("", Search.common("", "xyz"));
    }

    static void best() {
        Search search = new Search();
        search.add("Green tea, two boxes of tea");
        search.add("Salt and pepper");
        search.add("A box of green paper for the office printer");
        search.add("Tea");
        Check.equal(List.of(3, 0), search.best("tea", 5));
        Check.equal(List.of(1), search.best("PEPPER!", 5));
        Check.equal(0, search.best("green tea", 1).size() - 1);
        Check.equal(List.of(0, 3, 2), search.best("green tea", 3));
        Check.equal(List.of(), search.best("coffee", 3));
    }
}
