"""Exchanges of two identifiers in a patch that make another program of it, one that still parses.

Both stand in added lines of one hunk, at uses, in the same syntactic place and in the same function. What a guard
refuses is counted under the guard's name.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from caretbench.suites.efcb.edits import Edit, swap
from caretbench.suites.efcb.fragments import Fragment, even, fragments
from caretbench.suites.efcb.rendering import Rendered
from caretbench.syntax.parser import encode, error_count, parse

FEWEST_OCCURRENCES: Final = 2
"""Of each identifier in the new side of the patch, so that the rest of the patch says what belongs where."""

GUARDS: Final = ("same_name", "one_occurrence_each", "without_order", "beside_itself", "old_side")
"""Why two uses in the same place are no swap, in the order of asking.

``same_name``: the names are one, up to case and underscores. ``one_occurrence_each``: in the hunk, the exchange is a
consistent renaming. ``without_order``: it only changes the order of statements, of operands, of entries.
``beside_itself``: it brings a name to both sides of an operator or a comma (``depth = depth``), which tells a wrong
choice without the text. ``old_side``: it brings a removed line back.
"""
_BESIDE_ITSELF: Final = re.compile(
    r"(?<![\w.$])([A-Za-z_$][\w.$]*)\s*(?:[-+*/%<>=!&|^:,]{1,3}|\b(?:and|or|is|in)\b)\s*\1(?![\w$(\[]|\s*(?:\.|->|::))"
)
# Pairs that are looked at for each swap that is asked for.
_TRIES: Final = 4


Sources = Callable[[str], str | None]
"""Returns the text of a file, by its path, as it is after the change; None where it is not at hand."""


class Patch:
    """A rendered patch with its identifiers; ``refused`` counts what the guards said.

    Args:
        rendered: The patch.
        sources: Whole files of the source tree after the change, where they are at hand.

    Raises:
        DataError: what a file shows is no patch.
    """

    def __init__(self, rendered: Rendered, sources: Sources | None = None) -> None:
        self.rendered = rendered
        self.sources = sources
        self.refused: Counter[str] = Counter()
        self._lines = [file.hunks.split("\n") for file in rendered.files]
        self._fragments = list(fragments(rendered))
        self._occurring = Counter(name.name for part in self._fragments for name in part.read.names)

    def edits(self, generator: random.Random, most: int) -> list[Edit]:
        """At most ``most`` valid edits, drawn evenly, in the order of drawing.

        Whether they parse as well as the patch itself is asked of chosen ones alone (:meth:`raises_errors`).
        """
        groups = self._groups()
        sizes = [math.comb(len(members), 2) for _, members in groups]
        total = sum(sizes)
        found: list[Edit] = []
        for drawn in generator.sample(range(total), min(total, _TRIES * most)):
            group, rest = 0, drawn
            while rest >= sizes[group]:
                rest -= sizes[group]
                group += 1
            part, members = groups[group]
            earlier, later = _pair(rest)
            guard = self._refusal(part, members[earlier], members[later])
            if guard is not None:
                self.refused[guard] += 1
                continue
            found.append(
                swap("swap-name", part.occurrences[members[earlier]], part.occurrences[members[later]])
            )
            if len(found) == most:
                break
        return found

    def _groups(self) -> list[tuple[Fragment, list[int]]]:
        """By hunk, function and place: the numbers of the uses in added lines."""
        found: dict[tuple[int, int, str], list[int]] = defaultdict(list)
        for number, part in enumerate(self._fragments):
            for index, name in enumerate(part.read.names):
                if (
                    name.place
                    and part.lines[name.row] in part.added
                    and self._occurring[name.name] >= FEWEST_OCCURRENCES
                ):
                    found[number, name.function, name.place].append(index)
        return [(self._fragments[key[0]], found[key]) for key in sorted(found) if len(found[key]) > 1]

    def _refusal(self, part: Fragment, earlier: int, later: int) -> str | None:
        one, other = part.occurrences[earlier], part.occurrences[later]
        if _folded(one.name) == _folded(other.name):
            return "same_name"
        here = Counter(name.name for name in part.read.names)
        if here[one.name] == here[other.name] == 1:
            return "one_occurrence_each"
        edit = swap("swap-name", one, other)
        before, after = self.changed_lines(edit)
        if sorted(map(even, before)) == sorted(map(even, after)) or _without_order(part, earlier, later):
            return "without_order"
        if _beside_itself(after) > _beside_itself(before):
            return "beside_itself"
        if not part.removed.isdisjoint(map(even, after)) or self._new_side(part, [edit]) == part.old:
            return "old_side"
        return None

    def _new_side(self, part: Fragment, edits: Sequence[Edit]) -> str:
        lines = self.apply(edits).files[part.file].hunks.split("\n")
        return even("\n".join(lines[number][1:] for number in part.lines))

    def apply(self, edits: Iterable[Edit]) -> Rendered:
        """The patch with all these edits made; they share no place."""
        rendered = self.rendered
        edited = self._edited(edits)
        for file in sorted({file for file, _ in edited}):
            lines = list(self._lines[file])
            for (where, number), line in edited.items():
                if where == file:
                    lines[number] = line
            rendered = rendered.with_hunks(file, "\n".join(lines))
        return rendered

    def changed_lines(self, edit: Edit) -> tuple[list[str], list[str]]:
        """The lines that an edit changes, before and after, without their marks."""
        edited = self._edited([edit])
        places = sorted(edited)
        return [self._lines[file][line][1:] for file, line in places], [edited[place][1:] for place in places]

    def around(self, made: Iterable[Edit], *edits: Edit) -> str:
        """The part of the patch in which ``edits`` are, from the first line to the last, with some of them made."""
        edited = self._edited(made)
        places = sorted(place for edit in edits for place in edit.lines)
        (first, start), (last, end) = places[0], places[-1]
        return "\n".join(
            edited.get((file, number), self._lines[file][number])
            for file in range(first, last + 1)
            for number in range(
                start if file == first else 0, end + 1 if file == last else len(self._lines[file])
            )
        )

    def _edited(self, edits: Iterable[Edit]) -> dict[tuple[int, int], str]:
        """The lines that these edits change, as they become."""
        replaced = sorted(one for edit in edits for one in edit.replacements)
        found: dict[tuple[int, int], str] = {}
        for one in reversed(replaced):  # from the right, so that columns hold
            line = found.get((one.file, one.line), self._lines[one.file][one.line])
            found[one.file, one.line] = line[: one.start] + one.text + line[one.end :]
        return found

    def raises_errors(self, edits: Sequence[Edit]) -> bool:
        """Whether a hunk's new side has more faults with these edits than without."""
        edited = self._edited(edits)
        for part in self._fragments:
            if any((part.file, number) in edited for number in part.lines):
                text = "\n".join(
                    edited.get((part.file, number), self._lines[part.file][number])[1:]
                    for number in part.lines
                )
                if error_count(parse(text, part.grammar)) > part.read.errors:
                    return True
        return False

    def is_renaming(self, one: Sequence[Edit], other: Sequence[Edit]) -> bool:
        """Whether the patch with some edits is the patch with others, but for a consistent change of names.

        What counts is the new sides of the hunks in which the two differ.
        """
        ours, theirs = _renamed(one), _renamed(other)
        forth: dict[str, str] = {}
        back: dict[str, str] = {}
        for part in self._fragments:
            pairs = [
                (ours.get(place[:4], place.name), theirs.get(place[:4], place.name))
                for place in part.occurrences
            ]
            if all(left == right for left, right in pairs):
                continue
            for left, right in pairs:
                if forth.setdefault(left, right) != right or back.setdefault(right, left) != left:
                    return False
        return True


def _renamed(edits: Iterable[Edit]) -> Mapping[tuple[int, int, int, int], str]:
    return {one[:4]: one.text for edit in edits for one in edit.replacements}


def _beside_itself(lines: Iterable[str]) -> int:
    """How often a name has itself for a neighbour."""
    return sum(len(_BESIDE_ITSELF.findall(line)) for line in lines)


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()


def _pair(number: int) -> tuple[int, int]:
    """The pair ``earlier < later`` with this number, counted as (0, 1), (0, 2), (1, 2), (0, 3)."""
    later = (1 + math.isqrt(1 + 8 * number)) // 2
    return number - math.comb(later, 2), later


def _without_order(part: Fragment, earlier: int, later: int) -> bool:
    """Whether the exchange makes two parts of something without an order take each other's place."""
    one, other = part.read.names[earlier], part.read.names[later]
    data = encode(part.text)
    for number in set(one.around) & set(other.around):
        holders = [
            next((span for span in part.read.parts[number] if span.holds((name.start, name.end))), None)
            for name in (one, other)
        ]
        first, second = holders
        if first is None or second is None or first == second:
            continue
        changed = [
            data[span.start : name.start] + encode(new.name) + data[name.end : span.end]
            for span, name, new in ((first, one, other), (second, other, one))
        ]
        if [_blank(text) for text in changed] == [
            _blank(data[span.start : span.end]) for span in (second, first)
        ]:
            return True
    return False


def _blank(text: bytes) -> bytes:
    return b" ".join(text.split())
