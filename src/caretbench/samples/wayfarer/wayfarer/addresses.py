"""Finding the address that somebody meant."""

from collections import Counter


def edits(one, other):
    """The fewest insertions, deletions, replacements and swaps of neighbours between two words."""
    rows = [list(range(len(other) + 1))]
    for i, left in enumerate(one, start=1):
        row = [i]
        for j, right in enumerate(other, start=1):
            cost = 0 if left == right else 1
            best = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + cost)
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                best = min(best, rows[i - 2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def normal(address):
    """An address in lower case, with single spaces and without signs; `Str.` and `St` become `street`."""
    words = []
    for word in address.lower().split():
        letters = "".join(sign for sign in word if sign.isalnum())
        if letters in ("str", "st"):
            letters = "street"
        if letters:
            words.append(letters)
    return " ".join(words)


class Directory:
    """Known addresses: by their beginning, and by what sounds alike."""

    def __init__(self, addresses=()):
        self._root = {}
        self._all = []
        for address in addresses:
            self.add(address)

    def add(self, address):
        """Put an address in; False where it was known."""
        node = self._root
        for letter in normal(address):
            node = node.setdefault(letter, {})
        if "" in node:
            return False
        node[""] = address
        self._all.append(address)
        return True

    def beginning(self, text, most=5):
        """Addresses that begin like the text, in order."""
        node = self._root
        for letter in normal(text):
            if letter not in node:
                return []
            node = node[letter]
        found = []
        stack = [node]
        while stack and len(found) < most:
            node = stack.pop()
            if "" in node:
                found.append(node[""])
            for letter in sorted(node, reverse=True):
                if letter:
                    stack.append(node[letter])
        return found

    def meant(self, text, tolerance=2):
        """The address with the fewest differences, or None where all have more than the tolerance."""
        wanted = normal(text)
        best = None
        for address in self._all:
            candidate = normal(address)
            if abs(len(candidate) - len(wanted)) > tolerance:
                continue
            away = edits(wanted, candidate)
            if away <= tolerance and (best is None or away < best[0]):
                best = (away, address)
        return best[1] if best else None


def similarity(one, other):
    """How alike two texts are by their pairs of letters, from 0 to 1."""
    first, second = _pairs(one), _pairs(other)
    size = sum(first.values()) + sum(second.values())
    if size == 0:
        return 1.0 if normal(one) == normal(other) else 0.0
    shared = sum((first & second).values())
    return 2 * shared / size


def _pairs(text):
    letters = normal(text).replace(" ", "")
    return Counter(zip(letters, letters[1:]))


def shortened(text, width):
    """The text in lines no longer than the width; a longer word stands alone."""
    lines = []
    line = ""
    for word in text.split():
        if not line:
            line = word
        elif len(line) + 1 + len(word) <= width:
            line += " " + word
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines


def run_lengths(text):
    """Repeated signs as a number and the sign, as labels are printed: `aaab` is `3ab`."""
    result = ""
    place = 0
    while place < len(text):
        end = place
        while end < len(text) and text[end] == text[place]:
            end += 1
        count = end - place
        result += (str(count) if count > 1 else "") + text[place]
        place = end
    return result
