"""From a raw answer to the lines that it writes in the place of the masks.

The lines alone are asked for. A patch or a hunk around them is understood too: the lines are then what stands between
the shown lines before the masks and those after them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from caretbench.suites.efcb.choice_answers import remove_reasoning
from caretbench.suites.efcb.open_answers.mask_windows import MASK

AnswerForm = Literal["lines", "patch", "empty", "unfinished_reasoning"]

_FENCED: Final = re.compile(r"^(```+|~~~+)[^\n`]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_HEADER: Final = re.compile(r"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_FRAME: Final = re.compile(
    r"@@(?:\s|$)|diff --git |index [0-9a-f]{6,}\.\.|(?:---|\+\+\+) (?:[ab]/|/dev/null)|---$"
)
_MAX_LINES: Final = 1_000
"""Lines of an answer that are looked at: more is a model that repeats itself."""


class MaskedAnswer(NamedTuple):
    """The lines, without plus signs, and what was recognised: the ``lines`` alone, or a ``patch`` around them."""

    lines: tuple[str, ...]
    form: AnswerForm

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


class MaskedHunk(NamedTuple):
    """The hunk that holds the masks: its shown lines before and after them, with their marks.

    It is the hunk with this ``number``, from 0, of the ``hunks`` of the patch.
    """

    before: tuple[str, ...]
    mask_count: int
    after: tuple[str, ...]
    hunk_index: int
    hunk_count: int

    def split_new_side(self, lines: Sequence[str]) -> tuple[str, str]:
        """Return the new side of the hunk before the masks, and with ``lines`` in their place and what follows."""
        before = [line[1:] for line in self.before if line[:1] in ("", " ", "+")]
        after = [line[1:] for line in self.after if line[:1] in ("", " ", "+")]
        return "\n".join((*before, "")), "\n".join((*lines, *after))


def find_masked_hunk(patch: str) -> MaskedHunk:
    """Return the hunk of a shown patch that holds its masks, by the lengths that its header gives.

    Raises:
        ValueError: the patch has no masks, or they stand in no hunk alone (as in the ``paper`` profile).
    """
    shown = patch.split("\n")
    first = shown.index(MASK) if MASK in shown else 0
    top = next((index for index in range(first, -1, -1) if shown[index].startswith("@@")), None)
    header = _HEADER.match(shown[top]) if top is not None else None
    if top is None or header is None or MASK not in shown:
        raise ValueError("the patch has no masks inside a hunk")
    old, new = (int(header[name] or 1) for name in ("old", "new"))
    index = top + 1
    while index < len(shown) and (old > 0 or new > 0):
        mark = "+" if shown[index] == MASK else shown[index][:1]
        old -= mark in ("", " ", "-")
        new -= mark in ("", " ", "+")
        index += 1
    masks = next((count for count in range(index - first) if shown[first + count] != MASK), index - first)
    headers = [number for number, line in enumerate(shown) if line.startswith("@@")]
    before, after = tuple(shown[top + 1 : first]), tuple(shown[first + masks : index])
    return MaskedHunk(before, masks, after, headers.index(top), len(headers))


def parse_masked_answer(text: str | None, patch: str) -> MaskedAnswer:
    """What an answer writes in the place of the masks of the patch that was shown.

    Reasoning, fences (the longest block counts) and plus signs are taken off. Where a hunk or a patch stands around
    the lines, they are what comes between the shown lines. Any answer that has more lines than are hidden loses shown
    lines that it repeats at its ends.
    """
    hunk = find_masked_hunk(patch)
    body = unwrap_answer(text)
    if body is None:
        return MaskedAnswer((), "unfinished_reasoning")
    lines = _trim_blank_lines([line for line in body.split("\n")[:_MAX_LINES] if line.strip() != MASK])
    form: AnswerForm = "lines"
    if any(map(_FRAME.match, lines)):
        lines, form = _lines_between(_masked_part(lines, hunk), hunk), "patch"
    elif len(lines) > hunk.mask_count:
        trimmed = _remove_repeated_context(lines, hunk)
        lines, form = trimmed, "lines" if len(trimmed) == len(lines) else "patch"
    lines = _trim_blank_lines(lines)
    return MaskedAnswer(_strip_plus_signs(lines), form) if lines else MaskedAnswer((), "empty")


def unwrap_answer(text: str | None) -> str | None:
    """Return an answer without reasoning, and of several fenced blocks the longest; None where reasoning never ends."""
    said = remove_reasoning((text or "").replace("\r\n", "\n"))
    if said is None:
        return None
    blocks = [found[2] for found in _FENCED.finditer(said)]
    return max(blocks, key=len) if blocks else said


def _trim_blank_lines(lines: list[str]) -> list[str]:
    """Return the lines without blank ones at both ends."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _strip_plus_signs(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without the plus signs of added ones, where most of them have one."""
    filled = [line for line in lines if line.strip()]
    if 2 * sum(line.startswith("+") for line in filled) < len(filled):
        return tuple(lines)
    return tuple(line.removeprefix("+") for line in lines if not line.startswith("-"))


def _key(line: str) -> str:
    """What is compared of a line: marks and blanks around it come and go in answers."""
    return (line[1:] if line[:1] in ("+", "-", " ") else line).strip()


def _remove_repeated_context(lines: list[str], hunk: MaskedHunk) -> list[str]:
    """The lines without those at the beginning that stand right before the masks, and those at the end after them.

    Removed lines may be repeated with the others, or left out.
    """
    keys = [_key(line) for line in lines]
    spare = len(lines) - hunk.mask_count
    head = _count_repeated(keys, hunk.before, spare, at_end=False)
    tail = _count_repeated(keys, hunk.after, spare - head, at_end=True)
    return lines[head : len(lines) - tail]


def _count_repeated(keys: Sequence[str], shown: Sequence[str], most: int, *, at_end: bool) -> int:
    """Return how many lines at one end of an answer are the shown ones next to the masks."""
    whole = [_key(line) for line in shown]
    kept = [_key(line) for line in shown if not line.startswith("-")]
    for count in range(most, 0, -1):
        part = list(keys[-count:] if at_end else keys[:count])
        if any(part == (lines[:count] if at_end else lines[-count:]) for lines in (whole, kept)):
            return count
    return 0


def _masked_part(lines: Sequence[str], hunk: MaskedHunk) -> list[str]:
    """Of the hunks that an answer writes, the one with the masks.

    Where it writes all of the patch, their places agree; else it is the one with most of the shown lines, and of equal
    ones the longest.
    """
    parts: list[list[str]] = [[]]
    hunks: list[list[str]] = []
    for line in lines:
        if _FRAME.match(line):
            parts.append([])
            if line.startswith("@@"):
                hunks.append(parts[-1])
        else:
            parts[-1].append(line)
    if len(hunks) == hunk.hunk_count:
        return hunks[hunk.hunk_index]
    shown = Counter(key for line in (*hunk.before, *hunk.after) if (key := _key(line)))
    return max(parts, key=lambda part: ((Counter(map(_key, part)) & shown).total(), len(part)))


def _lines_between(lines: Sequence[str], hunk: MaskedHunk) -> list[str]:
    """What comes between the shown lines, where these are matched as well as can be; the most, where that is open."""
    keys = [_key(line) for line in lines]
    before = _matched_lengths(keys, [_key(line) for line in hunk.before])
    after = _matched_lengths(keys[::-1], [_key(line) for line in hunk.after][::-1])[::-1]
    # The first beginning that matches as many as the beginning up to a cut does leaves most between.
    starts = [before.index(matched) for matched in before]
    stop = max(range(len(keys) + 1), key=lambda cut: (before[cut] + after[cut], cut - starts[cut]))
    return list(lines[starts[stop] : stop])


def _matched_lengths(keys: Sequence[str], shown: Sequence[str]) -> list[int]:
    """For each beginning of ``keys``, the length of its longest common subsequence with ``shown``."""
    lengths = [0]
    row = [0] * (len(shown) + 1)
    for key in keys:
        diagonal = 0
        for index, line in enumerate(shown, start=1):
            above = row[index]
            row[index] = diagonal + 1 if key == line else max(above, row[index - 1])
            diagonal = above
        lengths.append(row[-1])
    return lengths
