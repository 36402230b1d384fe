"""Windows of lines in a patch that can be masked: added, informative, and not shown anywhere else.

A window is a run of added lines of one hunk. Tier ``added`` has windows of a given number of lines that are not similar
to removed lines; tier ``changed`` has all added lines of a run that removes lines, too, which stay visible. No window
contains blank lines, or lines with only a comment or an import.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Final, Literal, NamedTuple, get_args

from rapidfuzz import fuzz, process

from caretbench.errors import DataError
from caretbench.suites.efcb.patch_rendering import RenderedPatch
from caretbench.suites.efcb.unified_diff import parse_hunks
from caretbench.syntax.documentation import comment_marks, comments
from caretbench.syntax.parser import encode
from caretbench.syntax.source import grammar_of
from caretbench.syntax.uses.identifiers import identifiers

MaskTier = Literal["added", "changed"]
MASK_PLACEHOLDER: Final = "[[MASK]]"

MIN_INFORMATIVE_LINES: Final = 3
"""Minimum number of informative lines of a window."""
MIN_IDENTIFIERS: Final = 2
"""Minimum number of different identifiers of an informative line."""
MAX_REMOVED_SIMILARITY: Final = 0.6
"""Maximum mean similarity to removed lines of a window in tier ``added``."""

NoWindowReason = Literal[
    "malformed", "no_grammar", "no_run", "unsuitable_lines", "few_identifiers", "told_in_text", "deleted_twin"
]  # fmt: skip
"""Reason why a patch has no window: the last guard, in this order, that refused one of its windows."""
_REASONS: Final[tuple[NoWindowReason, ...]] = get_args(NoWindowReason)

_IMPORT: Final = re.compile(
    r"""\s*(?:
        (?:import|package|from|use|pub\s+use|using|extern\s+crate|mod|require|require_relative)\b[^=(]*[;({]?
        | \#\s*include\b.* | export\b.*\bfrom\b.* | (?:const|let|var)\b.*=\s*require\(.*
        | (?:[\w.]+\s+)?"[^"\s]+"  # an entry of an import block in Go
    )\s*""",
    re.VERBOSE,
)


class HunkFragment(NamedTuple):
    """The new side of one hunk: its text, line numbers in the file's hunks, and which lines are added."""

    file: int
    grammar: str
    text: str
    lines: tuple[int, ...]
    added: frozenset[int]


class MaskWindow(NamedTuple):
    """Lines ``start`` to ``stop`` (excluded) of a file's hunks, and their texts.

    ``informative_lines`` are stripped; ``removed_similarity`` is their mean similarity to the patch's most similar
    removed lines, from 0 to 1.
    """

    file: int
    start: int
    stop: int
    text: tuple[str, ...]
    informative_lines: tuple[str, ...]
    removed_similarity: float


def find_windows(
    rendered: RenderedPatch, tier: MaskTier, shown_text: str, line_count: int
) -> list[MaskWindow] | NoWindowReason:
    """Return all windows of ``line_count`` lines (``changed``: three to twice as many) in order, or the reason.

    Windows with a line that occurs in ``shown_text``, the text next to the patch, are refused.
    """
    try:
        parts = list(_fragments(rendered))
    except DataError:
        return "malformed"
    twin = _removed_similarity(rendered)
    found: list[MaskWindow] = []
    reached: list[NoWindowReason] = ["no_run" if parts else "no_grammar"]
    for part in parts:
        hunks = rendered.files[part.file].hunks.split("\n")
        suitable, saying = _suitable_lines(part), _informative_lines(part)
        for start, stop in _RUNS[tier](part, hunks, line_count):
            numbers = range(start, stop)
            if not suitable.issuperset(numbers):
                reached.append("unsuitable_lines")
                continue
            says = tuple(hunks[number][1:].strip() for number in numbers if number in saying)
            if len(says) < MIN_INFORMATIVE_LINES:
                reached.append("few_identifiers")
                continue
            if any(line in shown_text for line in says):
                reached.append("told_in_text")
                continue
            likeness = sum(map(twin, says)) / len(says)
            if tier == "added" and likeness >= MAX_REMOVED_SIMILARITY:
                reached.append("deleted_twin")
                continue
            text = tuple(line[1:] for line in hunks[start:stop])
            found.append(MaskWindow(part.file, start, stop, text, says, likeness))
    return found or max(reached, key=_REASONS.index)


def _fragments(rendered: RenderedPatch) -> Iterator[HunkFragment]:
    """Yield the hunks with an added line, of all files with a known grammar."""
    for file, shown in enumerate(rendered.files):
        grammar = grammar_of(shown.path)
        first = 1
        for hunk in parse_hunks(shown.hunks, truncated=True) if grammar is not None else ():
            new = [(number, line) for number, line in enumerate(hunk.lines, first) if line.mark in "+ "]
            added = frozenset(number for number, line in new if line.mark == "+")
            if grammar is not None and added:
                text = "\n".join(line.text for _, line in new)
                yield HunkFragment(file, grammar, text, tuple(number for number, _ in new), added)
            first += 1 + len(hunk.lines)


def _runs(part: HunkFragment) -> Iterator[tuple[int, int]]:
    """Yield the first and last line (excluded) of each run of added lines."""
    for _, run in groupby(enumerate(sorted(part.added)), lambda entry: entry[1] - entry[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1] + 1


def _added(part: HunkFragment, _hunks: Sequence[str], lines: int) -> Iterator[tuple[int, int]]:
    for start, stop in _runs(part):
        for first in range(start, stop - lines + 1):
            yield first, first + lines


def _changed(part: HunkFragment, hunks: Sequence[str], lines: int) -> Iterator[tuple[int, int]]:
    for start, stop in _runs(part):
        if hunks[start - 1].startswith(("-", "\\")) and MIN_INFORMATIVE_LINES <= stop - start <= 2 * lines:
            yield start, stop


_RUNS: Final[Mapping[MaskTier, Callable[[HunkFragment, Sequence[str], int], Iterator[tuple[int, int]]]]] = {
    "added": _added,
    "changed": _changed,
}


def _informative_lines(part: HunkFragment) -> set[int]:
    names: dict[int, set[str]] = defaultdict(set)
    for name in identifiers(part.text, part.grammar).names:
        names[part.lines[name.row]].add(name.name)
    return {line for line, distinct in names.items() if len(distinct) >= MIN_IDENTIFIERS}


def _suitable_lines(part: HunkFragment) -> set[int]:
    """Return the lines that may be masked: not blank, no comment and no import alone.

    Lines that a parser could not tell from an answer's wrapping are excluded: they begin like a fence or with a plus,
    or contain a mask or a lone carriage return.
    """
    marks = comment_marks(part.grammar)
    begins = (marks.line, *marks.block, "```", "~~~")
    bare = _without_comments(part.text, part.grammar).split("\n")
    found = set()
    for number, line, code in zip(part.lines, part.text.split("\n"), bare, strict=True):
        text = line.strip()
        # A hunk may begin inside a comment, which then parses as code.
        inside = bool(marks.block) and (text == "*" or text.startswith(("* ", "*/")))
        unclear = inside or text.startswith(begins) or line.startswith("+") or MASK_PLACEHOLDER in line or "\r" in line
        if code.strip() and not unclear and not _IMPORT.fullmatch(line):
            found.add(number)
    return found


def _without_comments(text: str, grammar: str) -> str:
    """Return the text with spaces for every character of its comments and docstrings."""
    data = bytearray(encode(text))
    for comment in comments(text, grammar):
        span = data[comment.start : comment.end]
        data[comment.start : comment.end] = re.sub(rb"[^\n]", b" ", span)
    return data.decode("utf-8", "surrogatepass")


def _removed_similarity(rendered: RenderedPatch) -> Callable[[str], float]:
    """Return a function for the similarity of a line to the most similar removed line, from 0 to 1."""
    lines = [line for file in rendered.files for line in file.hunks.split("\n")]
    removed = sorted({line[1:].strip() for line in lines if line.startswith("-")} - {""})

    @cache
    def twin(line: str) -> float:
        found = process.extractOne(line, removed, scorer=fuzz.ratio)
        return found[1] / 100 if found else 0.0

    return twin
