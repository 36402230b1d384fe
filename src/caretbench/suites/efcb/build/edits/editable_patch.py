"""Editable patch: its valid edits, drawn evenly over their kinds, and the patch with some edits applied.

A valid edit gives another program that still parses and in which all names can be used; ``docs/reference/efcb.md``
describes the guards.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse, islice, zip_longest
from typing import Final

from caretbench.grouping import grouped
from caretbench.suites.efcb.build.edits.edit_guards import (
    are_asserted_together,
    count_copied_lines,
    count_repeated_operands,
    is_asserted,
    is_empty_loop_test,
    is_reordering,
    is_test_code,
    is_unobservable,
    repeats_label,
)
from caretbench.suites.efcb.build.edits.exchange_edits import literal_edits, name_replacements, name_swaps
from caretbench.suites.efcb.build.edits.name_uses import ParsedPart
from caretbench.suites.efcb.build.edits.operator_edits import operator_edits
from caretbench.suites.efcb.build.edits.patch_parts import (
    FileReader,
    Occurrence,
    PatchEdit,
    Replacement,
    collapse_whitespace,
    patch_parts,
)
from caretbench.suites.efcb.problem_metadata import RenderedPatch
from caretbench.syntax.parser import encode, error_count

# `depth = depth` is never written by people, so it would be told without reading the question. The guard costs 3 of 73
# questions.
_BESIDE_ITSELF: Final = re.compile(
    r"(?<![\w.$])([A-Za-z_$][\w.$]*)\s*(?:[-+*/%<>=!&|^:,]{1,3}|\b(?:and|or|is|in)\b)\s*\1(?![\w$(\[]|\s*(?:\.|->|::))"
)
_COMPARED_WITH_ITSELF: Final = re.compile(
    r"([A-Za-z_$][\w.$()\[\]]{2,})\s*,\s*\1\s*[,)]|\(([A-Za-z_$][\w.$\[\]()]*)\)(?:\.\w+)*\(\2\)"
    r"|\b([A-Za-z_$][\w.$\[\]]*)\.\w+(?:\(\)(?:\.\w+)*)?\(\3\)"
)

_LITERAL: Final = re.compile(r"-?\d[\w.]*|[\"'`].*|:\w+|[Tt]rue|[Ff]alse")
_Position = tuple[int, int, int, int]


class EditablePatch:
    """A rendered patch with its edits; ``reader`` returns whole files after the change, if they are available.

    Raises:
        DataError: a file's text is no patch.
    """

    def __init__(self, rendered: RenderedPatch, reader: FileReader | None = None) -> None:
        self.rendered = rendered
        self._lines = [file.hunks.split("\n") for file in rendered.files]
        self._units = [ParsedPart(part) for part in patch_parts(rendered, reader)]

    def draw_edits(self, generator: random.Random, limit: int) -> list[PatchEdit]:
        """Return at most ``limit`` valid edits, drawn evenly over their kinds, in drawn order."""
        kinds = grouped((edit.kind, edit) for edit in dict.fromkeys(self._possible_edits(generator)))
        for members in kinds.values():
            generator.shuffle(members)
        # One of each kind in turn: a patch has far more pairs of names than operators, and most questions would be
        # about names.
        valid = (filterfalse(self.is_refused, reversed(kinds[name])) for name in sorted(kinds))
        in_turns = (edit for turn in zip_longest(*valid) for edit in turn if edit is not None)
        return list(islice(in_turns, limit))

    def _possible_edits(self, generator: random.Random) -> Iterator[PatchEdit]:
        # Names and operators of a tree with errors are guesses: an edit of them may be no change of the program at all.
        sound = [unit for unit in self._units if not unit.part.syntax_error_count or unit.part.is_whole_file]
        for unit in sound:
            yield from name_swaps(unit, generator)
            yield from name_replacements(unit, generator)
            yield from operator_edits(unit)
        yield from literal_edits(sound, generator)

    def is_refused(self, edit: PatchEdit) -> bool:
        """Return whether a guard refuses an edit."""
        unit = next(
            unit
            for unit in self._units
            if unit.part.file == edit.replacements[0].file
            and any(edit.replacements[0].line in hunk.lines for hunk in unit.part.hunks)
        )
        before, after = self.changed_lines(edit)
        hunk = unit.part.hunks[unit.hunk_number(Occurrence(*edit.replacements[0]))]
        if edit.kind.startswith(("swap-", "arguments")) and (
            # Two names that occur once each, exchanged, are the same program under other names: both choices would be
            # right.
            _renames(unit, frozenset(hunk.lines), edit)
            or sorted(map(collapse_whitespace, before)) == sorted(map(collapse_whitespace, after))
            or _swaps_unordered_parts(unit, edit)
        ):
            return True
        edited, file = self._edited_lines([edit]), unit.part.file
        new_side = (edited.get((file, number), self._lines[file][number])[1:] for number in hunk.lines)
        return (
            # Compared with the line before the edit: `x == x` may have been there, as a test for NaN.
            _count_repeated_neighbours(after) != _count_repeated_neighbours(before)
            or self.copies_line([edit])
            or any(self._is_idle(unit, edit, replacement) for replacement in edit.replacements)
            # The edit undoes the change, and the removed line that is shown would say so.
            or not hunk.removed.isdisjoint(map(collapse_whitespace, after))
            or collapse_whitespace("\n".join(new_side)) == hunk.old_text
            or self.adds_syntax_errors([edit])
        )

    def _is_idle(self, unit: ParsedPart, edit: PatchEdit, replacement: Replacement) -> bool:
        """Return whether a replacement leaves what the program does, or a correct test, or repeats a label."""
        lines = [line[1:] for line in self._lines[replacement.file]]
        own = lines[replacement.line]
        old_text = own[replacement.start - 1 : replacement.end - 1]
        is_name = re.fullmatch(r"[A-Za-z_]\w*", old_text)
        if is_name and are_asserted_together(lines, replacement.line, old_text, replacement.text):
            return True
        if is_unobservable(own, replacement.start - 1, old_text):
            return True
        if edit.kind in ("boundary", "comparison") and is_empty_loop_test(lines, replacement.line):
            return True
        edited = self._edited_lines([edit])[replacement.file, replacement.line][1:]
        if repeats_label(lines, replacement.line, edited):
            return True
        # Another value of test data leaves a correct test, as long as no assertion expects the old one.
        function = unit.function_text(replacement.line) if _LITERAL.fullmatch(old_text) else ""
        is_test = bool(function) and is_test_code(self.rendered.files[replacement.file].path, function)
        return is_test and not is_asserted(old_text, function, own)

    def copies_line(self, edits: Sequence[PatchEdit]) -> bool:
        """Return whether edits make a line equal to one of the three above or below."""
        edited = self._edited_lines(edits)
        # Lines that repeat a neighbour look like a slip of the editor, whatever they do.
        for file in {file for file, _ in edited}:
            positions = [number for where, number in edited if where == file]
            shown = [(number, line) for number, line in enumerate(self._lines[file]) if line[:1] in (" ", "+")]
            rows = {number: row for row, (number, _) in enumerate(shown)}
            before = [line[1:] for _, line in shown]
            after = [edited.get((file, number), line)[1:] for number, line in shown]
            at = [rows[number] for number in positions]
            if count_copied_lines(after, at) > count_copied_lines(before, at):
                return True
        return False

    def is_reordering(self, one: Sequence[PatchEdit], other: Sequence[PatchEdit]) -> bool:
        """Return whether the patch with some edits has the lines of that with others in another order."""
        ours, theirs = self._edited_lines(one), self._edited_lines(other)
        positions = sorted(ours.keys() | theirs.keys())
        first, second = (
            [applied_edits.get(position, self._lines[position[0]][position[1]])[1:] for position in positions]
            for applied_edits in (ours, theirs)
        )
        return is_reordering(first, second)

    def apply(self, edits: Iterable[PatchEdit]) -> RenderedPatch:
        """Return the patch with all these edits, which do not overlap."""
        rendered = self.rendered
        edited = self._edited_lines(edits)
        for file in sorted({file for file, _ in edited}):
            lines = list(self._lines[file])
            for (where, number), line in edited.items():
                if where == file:
                    lines[number] = line
            rendered = rendered.replace_hunks(file, "\n".join(lines))
        return rendered

    def changed_lines(self, edit: PatchEdit) -> tuple[list[str], list[str]]:
        """Return the lines that an edit changes, before and after, without diff marks."""
        edited = self._edited_lines([edit])
        positions = sorted(edited)
        return [self._lines[file][line][1:] for file, line in positions], [
            edited[position][1:] for position in positions
        ]

    def exchanged_texts(self, edit: PatchEdit) -> set[frozenset[str]]:
        """Return the pairs of texts that an edit exchanges, without order."""
        return {
            frozenset(
                (self._lines[replacement.file][replacement.line][replacement.start : replacement.end], replacement.text)
            )
            for replacement in edit.replacements
        }

    def excerpt(self, applied_edits: Iterable[PatchEdit], *edits: PatchEdit) -> str:
        """Return the part of the patch from the first to the last line of ``edits``, with some applied."""
        edited = self._edited_lines(applied_edits)
        positions = sorted(position for edit in edits for position in edit.lines)
        (first, start), (last, end) = positions[0], positions[-1]
        return "\n".join(
            edited.get((file, number), self._lines[file][number])
            for file in range(first, last + 1)
            for number in range(start if file == first else 0, end + 1 if file == last else len(self._lines[file]))
        )

    def _edited_lines(self, edits: Iterable[PatchEdit]) -> dict[tuple[int, int], str]:
        """Return the lines that edits change, after the edits."""
        replaced = sorted(change for edit in edits for change in edit.replacements)
        edited: dict[tuple[int, int], str] = {}
        for change in reversed(replaced):  # from the right, so that columns stay valid
            line = edited.get((change.file, change.line), self._lines[change.file][change.line])
            edited[change.file, change.line] = line[: change.start] + change.text + line[change.end :]
        return edited

    def adds_syntax_errors(self, edits: Sequence[PatchEdit]) -> bool:
        """Return whether a part (a file or hunk) has more syntax errors with these edits."""
        edited = self._edited_lines(edits)
        for unit in self._units:
            part = unit.part
            rows = {row: (part.file, line) for row, line in enumerate(part.lines) if (part.file, line) in edited}
            if (
                rows
                and error_count(unit.parse_with_rows({row: edited[position][1:] for row, position in rows.items()}))
                > part.syntax_error_count
            ):
                return True
        return False

    def is_renaming(self, one: Sequence[PatchEdit], other: Sequence[PatchEdit]) -> bool:
        """Return whether the patch with some edits is that with others after a consistent renaming.

        Only the new sides of hunks that differ are compared.
        """
        ours, theirs = _replaced_texts(one), _replaced_texts(other)
        if ours == theirs:
            return True
        # After a consistent renaming two choices are the same program, and one of them would be a second right answer.
        literals = {position: value for unit in self._units for position, value in unit.literals_by_position.items()}
        if any(
            position not in literals and all(position not in unit.names_by_position for unit in self._units)
            for position in ours.keys() ^ theirs.keys()
        ):
            return False  # neither names nor literals
        # A value has the same meaning in the whole patch, a name in its hunk.
        groups = [
            [(ours.get(position, value), theirs.get(position, value)) for position, value in literals.items()],
            *self._named_pairs(ours, theirs),
        ]
        pairs = {pair for group in groups if any(left != right for left, right in group) for pair in group}
        return len({left for left, _ in pairs}) == len({right for _, right in pairs}) == len(pairs)

    def _named_pairs(
        self, ours: Mapping[_Position, str], theirs: Mapping[_Position, str]
    ) -> Iterator[list[tuple[str, str]]]:
        """Yield the names of each hunk in both versions."""
        for unit in self._units:
            for hunk in unit.part.hunks:
                lines = frozenset(hunk.lines)
                yield [
                    (ours.get(position, name.name), theirs.get(position, name.name))
                    for position, name in unit.names_by_position.items()
                    if position[1] in lines
                ]


def _replaced_texts(edits: Iterable[PatchEdit]) -> Mapping[_Position, str]:
    return {replacement[:4]: replacement.text for edit in edits for replacement in edit.replacements}


def _count_repeated_neighbours(lines: Iterable[str]) -> int:
    """Return the number of names next to themselves."""
    return sum(
        len(_BESIDE_ITSELF.findall(line)) + len(_COMPARED_WITH_ITSELF.findall(line)) + count_repeated_operands(line)
        for line in lines
    )


def _renames(unit: ParsedPart, lines: frozenset[int], edit: PatchEdit) -> bool:
    """Return whether each of two exchanged names occurs only once in the lines of a hunk."""
    here = Counter(use.name for position, use in unit.names_by_position.items() if position[1] in lines)
    return all(here[replacement.text] == 1 for replacement in edit.replacements)


def _swaps_unordered_parts(unit: ParsedPart, edit: PatchEdit) -> bool:
    """Return whether an exchange swaps two parts of a construct without order."""
    if len(edit.replacements) != 2:
        return False
    # Literals, too: `case "a", "b"` and a list that is searched have no order.
    one, other = (unit.byte_span(replacement) for replacement in edit.replacements)
    data = unit.data
    for spans in unit.identifiers.group_member_spans.values():
        # Most groups of a file are elsewhere.
        if not spans or spans[0].start > min(one, other)[0] or spans[-1].end < max(one, other)[1]:
            continue
        first, second = (next((span for span in spans if span.contains(place)), None) for place in (one, other))
        if first is None or second is None or first == second:
            continue
        changed = [
            data[span.start : place[0]] + encode(new.text) + data[place[1] : span.end]
            for span, place, new in zip((first, second), (one, other), edit.replacements, strict=True)
        ]
        if [_blank(text) for text in changed] == [_blank(data[span.start : span.end]) for span in (second, first)]:
            return True
    return False


def _blank(text: bytes) -> bytes:
    return b" ".join(text.split())
