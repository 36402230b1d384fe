"""Checks of the functions in words.py."""


def check_word_counts(candidate):
    assert candidate("a b A c b a") == {"a": 3, "b": 2, "c": 1}
    assert candidate("") == {}
    assert candidate("one") == {"one": 1}
    assert candidate("To be or not to be") == {"to": 2, "be": 2, "or": 1, "not": 1}


def check_initials(candidate):
    assert candidate("ada lovelace") == "A.L."
    assert candidate("") == ""
    assert candidate("grace brewster hopper") == "G.B.H."


def check_longest_word(candidate):
    assert candidate("a bb ccc dd") == "ccc"
    assert candidate("aa bb") == "aa"
    assert candidate("") == ""
    assert candidate("the quick brown foxes") == "quick"


def check_count_vowels(candidate):
    assert candidate("Banana") == 3
    assert candidate("rhythm") == 0
    assert candidate("") == 0
    assert candidate("AEIOU and y") == 6


def check_is_mirrored(candidate):
    assert candidate("Never odd or even") is True
    assert candidate("ab") is False
    assert candidate("") is True
    assert candidate("1 2-1") is True
    assert candidate("abca") is False


def check_numbered(candidate):
    assert candidate(["a", "b"]) == ["1: a", "2: b"]
    assert candidate([]) == []
    assert candidate(["x", "y", "z"]) == ["1: x", "2: y", "3: z"]


def check_shorten(candidate):
    assert candidate("short", 10) == "short"
    assert candidate("a longer text", 8) == "a lon..."
    assert candidate("abcdef", 2) == "ab"
    assert candidate("abcdef", 3) == "abc"
    assert candidate("abcdef", 6) == "abcdef"


def check_common_start(candidate):
    assert candidate("interval", "internal") == "inter"
    assert candidate("abc", "") == ""
    assert candidate("abc", "abc") == "abc"
    assert candidate("xyz", "abc") == ""


def check_run_lengths(candidate):
    assert candidate("aabccc") == [("a", 2), ("b", 1), ("c", 3)]
    assert candidate("") == []
    assert candidate("aba") == [("a", 1), ("b", 1), ("a", 1)]


def check_words_by_length(candidate):
    assert candidate(["a", "bb", "c", "dd"]) == {1: ["a", "c"], 2: ["bb", "dd"]}
    assert candidate([]) == {}
    assert candidate(["three", "four", "seven"]) == {5: ["three", "seven"], 4: ["four"]}


def check_capitalised(candidate):
    assert candidate(["Ada", "bob", "Cy"]) == ["Ada", "Cy"]
    assert candidate([]) == []
    assert candidate(["", "X", "x"]) == ["X"]
