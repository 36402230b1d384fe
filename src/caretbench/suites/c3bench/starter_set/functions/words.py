"""Words and lines: counting, joining, comparing."""


def word_counts(text: str) -> dict[str, int]:
    """Return how often each word occurs, without regard to case."""
    counts = {}
    for word in text.lower().split():
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    return counts


def initials(name: str) -> str:
    """Return the first letters of all words in upper case, each with a point."""
    letters = ""
    for word in name.split():
        letters += word[0].upper() + "."
    return letters


def longest_word(text: str) -> str:
    """Return the longest word, the first of several; empty without words."""
    longest = ""
    for word in text.split():
        if len(word) > len(longest):
            longest = word
    return longest


def count_vowels(text: str) -> int:
    """Return the number of vowels in a text."""
    count = 0
    for letter in text.lower():
        if letter in "aeiou":
            count += 1
    return count


def is_mirrored(text: str) -> bool:
    """Return whether the letters and digits of a text read the same from both ends."""
    letters = []
    for letter in text.lower():
        if letter.isalnum():
            letters.append(letter)
    return letters == letters[::-1]


def numbered(lines: list[str]) -> list[str]:
    """Return the lines with their numbers before them."""
    found = []
    for number, line in enumerate(lines):
        found.append(f"{number + 1}: {line}")
    return found


def shorten(text: str, width: int) -> str:
    """Return a text of at most a width, with three dots where something is left out."""
    if len(text) <= width:
        return text
    if width <= 3:
        return text[:width]
    return text[: width - 3] + "..."


def common_start(first: str, second: str) -> str:
    """Return the longest text with which both texts begin."""
    length = 0
    while length < len(first) and length < len(second) and first[length] == second[length]:
        length += 1
    return first[:length]


def run_lengths(text: str) -> list[tuple[str, int]]:
    """Return each run of equal characters with its length."""
    runs = []
    for letter in text:
        if runs and runs[-1][0] == letter:
            runs[-1] = (letter, runs[-1][1] + 1)
        else:
            runs.append((letter, 1))
    return runs


def words_by_length(words: list[str]) -> dict[int, list[str]]:
    """Return the words by their length, each list in the order of the words."""
    groups = {}
    for word in words:
        if len(word) in groups:
            groups[len(word)].append(word)
        else:
            groups[len(word)] = [word]
    return groups


def capitalised(words: list[str]) -> list[str]:
    """Return the words that begin with a capital letter."""
    found = []
    for word in words:
        if word[:1].isupper():
            found.append(word)
    return found
