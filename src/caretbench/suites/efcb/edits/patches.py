"""A rendered patch that can be edited: its valid edits, drawn evenly over their kinds, and the patch with some made.

Valid is what makes another program of the patch, one that still parses, and whose names can be used where they are.
What a guard refuses is counted under the guard's name; ``docs/efcb.md`` says what each refuses.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from caretbench.suites.efcb.edits.constants import constant_edits
from caretbench.suites.efcb.edits.edit import Edit, Occurrence, even
from caretbench.suites.efcb.edits.line_guards import (
    asserted_equal,
    copied,
    is_asserted,
    is_empty_loop_test,
    is_permutation,
    is_test,
    is_unseen,
    operands_beside_themselves,
    repeats_label,
)
from caretbench.suites.efcb.edits.names import replacements, swaps
from caretbench.suites.efcb.edits.parts import Sources, parts_of
from caretbench.suites.efcb.edits.tokens import token_edits
from caretbench.suites.efcb.edits.units import Unit
from caretbench.suites.efcb.rendering import Rendered
from caretbench.syntax.parser import encode, error_count

_BESIDE_ITSELF: Final = re.compile(
    r"(?<![\w.$])([A-Za-z_$][\w.$]*)\s*(?:[-+*/%<>=!&|^:,]{1,3}|\b(?:and|or|is|in)\b)\s*\1(?![\w$(\[]|\s*(?:\.|->|::))"
)
_COMPARED_WITH_ITSELF: Final = re.compile(
    r"([A-Za-z_$][\w.$()\[\]]{2,})\s*,\s*\1\s*[,)]|\(([A-Za-z_$][\w.$\[\]()]*)\)(?:\.\w+)*\(\2\)"
    r"|\b([A-Za-z_$][\w.$\[\]]*)\.\w+(?:\(\)(?:\.\w+)*)?\(\3\)"
)

_LITERAL: Final = re.compile(r"-?\d[\w.]*|[\"'`].*|:\w+|[Tt]rue|[Ff]alse")
_Place = tuple[int, int, int, int]


class _Renaming:
    """A one-to-one map of texts, as far as it is known."""

    def __init__(self) -> None:
        self._forth: dict[str, str] = {}
        self._back: dict[str, str] = {}

    def takes(self, pairs: Iterable[tuple[str, str]]) -> bool:
        """Add pairs; return whether they agree with each other and those before."""
        return all(
            self._forth.setdefault(left, right) == right and self._back.setdefault(right, left) == left
            for left, right in pairs
        )


class Patch:
    """A rendered patch with its edits; ``refused`` counts what the guards refused.

    ``sources`` gives whole files of the source tree after the change, where they are at hand.

    Raises:
        DataError: what a file shows is no patch.
    """

    def __init__(self, rendered: Rendered, sources: Sources | None = None) -> None:
        self.rendered = rendered
        self.refused: Counter[str] = Counter()
        self._lines = [file.hunks.split("\n") for file in rendered.files]
        self._units = [Unit(part) for part in parts_of(rendered, sources)]

    def edits(self, generator: random.Random, most: int) -> list[Edit]:
        """Return at most ``most`` valid edits, drawn evenly over their kinds, in the order of drawing."""
        kinds: dict[str, list[Edit]] = defaultdict(list)
        for edit in dict.fromkeys(self._possible(generator)):
            kinds[edit.kind].append(edit)
        for members in kinds.values():
            generator.shuffle(members)
        found: list[Edit] = []
        names = sorted(kinds)
        while names and len(found) < most:
            for name in tuple(names):
                drawn = self._next(kinds[name])
                if drawn is None:
                    names.remove(name)
                elif len(found) < most:
                    found.append(drawn)
        return found

    def _next(self, members: list[Edit]) -> Edit | None:
        """Return the next that no guard refuses."""
        while members:
            edit = members.pop()
            guard = self._refusal(edit)
            if guard is None:
                return edit
            self.refused[guard] += 1
        return None

    def _possible(self, generator: random.Random) -> Iterator[Edit]:
        sound = []
        for unit in self._units:
            if unit.part.errors and not unit.part.whole:
                self.refused["broken_surroundings"] += 1
            else:
                sound.append(unit)
        for unit in sound:
            yield from swaps(unit, self.refused, generator)
            yield from replacements(unit, self.refused, generator)
            yield from token_edits(unit)
        yield from constant_edits(sound, self.refused, generator)

    def _refusal(self, edit: Edit) -> str | None:
        unit = next(
            unit
            for unit in self._units
            if unit.part.file == edit.replacements[0].file
            and any(edit.replacements[0].line in hunk.lines for hunk in unit.part.hunks)
        )
        before, after = self.changed_lines(edit)
        if edit.kind.startswith(("swap-", "arguments")):
            if self._renames(unit, edit):
                return "one_occurrence_each"
            if sorted(map(even, before)) == sorted(map(even, after)) or _without_order(unit, edit):
                return "without_order"
        if _beside_itself(after) != _beside_itself(before):
            return "beside_itself"
        guard = self._line_refusal(unit, edit)
        if guard is not None:
            return guard
        hunk = unit.part.hunks[unit.hunk(Occurrence(*edit.replacements[0]))]
        if (
            not hunk.removed.isdisjoint(map(even, after))
            or self._new_side(unit, hunk.lines, edit) == hunk.old
        ):
            return "old_side"
        return "raises_errors" if self.raises_errors([edit]) else None

    def _line_refusal(self, unit: Unit, edit: Edit) -> str | None:
        """Why an edit is refused by what the lines around it say."""
        if self.copies([edit]):
            return "copied_line"
        for one in edit.replacements:
            lines = [line[1:] for line in self._lines[one.file]]
            own = lines[one.line]
            old = own[one.start - 1 : one.end - 1]
            if re.fullmatch(r"[A-Za-z_]\w*", old) and asserted_equal(lines, one.line, old, one.text):
                return "asserted_equal"
            if is_unseen(own, one.start - 1, old) or (
                edit.kind in ("boundary", "comparison") and is_empty_loop_test(lines, one.line)
            ):
                return "same_value"
            if repeats_label(lines, one.line, self._edited([edit])[one.file, one.line][1:]):
                return "repeated_label"
            if _LITERAL.fullmatch(old):
                function = unit.function_text(one.line)
                if is_test(self.rendered.files[one.file].path, function) and not is_asserted(
                    old, function, own
                ):
                    return "test_data"
        return None

    def copies(self, edits: Sequence[Edit]) -> bool:
        """Return whether these edits make a line like one of the three above or below."""
        edited = self._edited(edits)
        for file in {file for file, _ in edited}:
            places = [number for where, number in edited if where == file]
            shown = [
                (number, line) for number, line in enumerate(self._lines[file]) if line[:1] in (" ", "+")
            ]
            rows = {number: row for row, (number, _) in enumerate(shown)}
            before = [line[1:] for _, line in shown]
            after = [edited.get((file, number), line)[1:] for number, line in shown]
            at = [rows[number] for number in places]
            if copied(after, at) > copied(before, at):
                return True
        return False

    def is_permutation(self, one: Sequence[Edit], other: Sequence[Edit]) -> bool:
        """Return whether the patch with some edits is the patch with others, with its lines in another order."""
        ours, theirs = self._edited(one), self._edited(other)
        places = sorted(ours.keys() | theirs.keys())
        first, second = (
            [made.get(place, self._lines[place[0]][place[1]])[1:] for place in places]
            for made in (ours, theirs)
        )
        return is_permutation(first, second)

    def _renames(self, unit: Unit, edit: Edit) -> bool:
        """Return whether each of two exchanged names occurs in the hunk once."""
        hunk = unit.part.hunks[unit.hunk(Occurrence(*edit.replacements[0]))]
        lines = frozenset(hunk.lines)
        here = Counter(one.name for place, one in unit.by_place.items() if place[1] in lines)
        return all(here[one.text] == 1 for one in edit.replacements)

    def _new_side(self, unit: Unit, numbers: Sequence[int], edit: Edit) -> str:
        edited = self._edited([edit])
        file = unit.part.file
        return even(
            "\n".join(edited.get((file, number), self._lines[file][number])[1:] for number in numbers)
        )

    def apply(self, edits: Iterable[Edit]) -> Rendered:
        """Return the patch with all these edits made; they share no place."""
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
        """Return the lines that an edit changes, before and after, without their marks."""
        edited = self._edited([edit])
        places = sorted(edited)
        return [self._lines[file][line][1:] for file, line in places], [edited[place][1:] for place in places]

    def exchanged(self, edit: Edit) -> set[frozenset[str]]:
        """Return what an edit exchanges: the text before and after of each replacement, in no order."""
        return {
            frozenset((self._lines[one.file][one.line][one.start : one.end], one.text))
            for one in edit.replacements
        }

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
        """Return the lines that these edits change, as they become."""
        replaced = sorted(one for edit in edits for one in edit.replacements)
        found: dict[tuple[int, int], str] = {}
        for one in reversed(replaced):  # from the right, so that columns hold
            line = found.get((one.file, one.line), self._lines[one.file][one.line])
            found[one.file, one.line] = line[: one.start] + one.text + line[one.end :]
        return found

    def raises_errors(self, edits: Sequence[Edit]) -> bool:
        """Return whether a part of the new side, a whole file where it is at hand, has more faults with these edits."""
        edited = self._edited(edits)
        for unit in self._units:
            part = unit.part
            rows = {
                row: (part.file, line) for row, line in enumerate(part.lines) if (part.file, line) in edited
            }
            if (
                rows
                and error_count(unit.parsed_with({row: edited[place][1:] for row, place in rows.items()}))
                > part.errors
            ):
                return True
        return False

    def is_renaming(self, one: Sequence[Edit], other: Sequence[Edit]) -> bool:
        """Return whether the patch with some edits is the patch with others, but for a consistent change of names.

        What counts is the new sides of the hunks in which the two differ.
        """
        ours, theirs = _renamed(one), _renamed(other)
        if ours == theirs:
            return True
        literals = {place: value for unit in self._units for place, value in unit.literals.items()}
        if any(
            place not in literals and all(place not in unit.by_place for unit in self._units)
            for place in ours.keys() ^ theirs.keys()
        ):
            return False  # neither names nor literals
        renaming = _Renaming()
        # A value means the same in all of the patch, a name in its hunk.
        if any(ours.get(place) != theirs.get(place) for place in literals):
            pairs = [(ours.get(place, value), theirs.get(place, value)) for place, value in literals.items()]
            if not renaming.takes(pairs):
                return False
        return all(
            renaming.takes(pairs)
            for pairs in self._named_pairs(ours, theirs)
            if any(left != right for left, right in pairs)
        )

    def _named_pairs(
        self, ours: Mapping[_Place, str], theirs: Mapping[_Place, str]
    ) -> Iterator[list[tuple[str, str]]]:
        """Yield the names of each hunk, as both have them."""
        for unit in self._units:
            for hunk in unit.part.hunks:
                lines = frozenset(hunk.lines)
                yield [
                    (ours.get(place, name.name), theirs.get(place, name.name))
                    for place, name in unit.by_place.items()
                    if place[1] in lines
                ]


def _renamed(edits: Iterable[Edit]) -> Mapping[_Place, str]:
    return {one[:4]: one.text for edit in edits for one in edit.replacements}


def _beside_itself(lines: Iterable[str]) -> int:
    """Return how often a name has itself for a neighbour."""
    return sum(
        len(_BESIDE_ITSELF.findall(line))
        + len(_COMPARED_WITH_ITSELF.findall(line))
        + operands_beside_themselves(line)
        for line in lines
    )


def _without_order(unit: Unit, edit: Edit) -> bool:
    """Return whether the exchange makes two parts of something without an order take each other's place."""
    found = [unit.by_place[one[:4]] for one in edit.replacements if one[:4] in unit.by_place]
    if len(found) != 2:
        return False
    one, other = found
    data = unit.data
    for number in set(one.unordered_groups) & set(other.unordered_groups):
        first, second = (
            next((span for span in unit.parts[number] if span.contains((name.start, name.end))), None)
            for name in (one, other)
        )
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
