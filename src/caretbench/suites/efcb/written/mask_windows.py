"""Lines of a patch that can be masked: added, informative, and not shown anywhere else.

A window is a run of added lines of one hunk. Tier ``added`` takes windows of a given number of lines that have no
twin among the removed lines; tier ``changed`` takes all added lines of a run that removes lines too, and these stay
visible. No window holds a blank line, one of a comment alone or of an import alone.
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
from caretbench.sources.git.unified_diff import parse_hunks
from caretbench.suites.efcb.rendering import Rendered
from caretbench.syntax.docs.comments import comment_marks, comments
from caretbench.syntax.parser import encode
from caretbench.syntax.source import grammar_of
from caretbench.syntax.uses.identifiers import identifiers

MaskTier = Literal["added", "changed"]
MASK: Final = "[[MASK]]"

FEWEST_SAYING: Final = 3
"""Lines of a window that say something."""
FEWEST_NAMES: Final = 2
"""Distinct identifiers with which a line says something."""
TWIN: Final = 0.6
"""From this mean similarity to removed lines on, these give a window of tier ``added`` away."""

Reason = Literal[
    "malformed", "no_grammar", "no_run", "unsuitable_lines", "few_identifiers", "told_in_text", "deleted_twin"
]  # fmt: skip
"""Why a patch has no window: the last guard, in this order, to which one of its windows fell."""
_REASONS: Final[tuple[Reason, ...]] = get_args(Reason)

_IMPORT: Final = re.compile(
    r"""\s*(?:
        (?:import|package|from|use|pub\s+use|using|extern\s+crate|mod|require|require_relative)\b[^=(]*[;({]?
        | \#\s*include\b.* | export\b.*\bfrom\b.* | (?:const|let|var)\b.*=\s*require\(.*
        | (?:[\w.]+\s+)?"[^"\s]+"  # an entry of an import block in Go
    )\s*""",
    re.VERBOSE,
)


class Fragment(NamedTuple):
    """The new side of one hunk: its lines by their numbers in the file's hunks, and which of them are added."""

    file: int
    grammar: str
    text: str
    lines: tuple[int, ...]
    added: frozenset[int]


class Window(NamedTuple):
    """Lines ``start`` to ``stop`` (not included) of the hunks of the file with this number, and their texts.

    ``saying`` are those that say something, without blanks around them; ``deleted_twin`` is how like removed lines of
    the patch these are, from 0 to 1, each beside the one that is most like it.
    """

    file: int
    start: int
    stop: int
    text: tuple[str, ...]
    saying: tuple[str, ...]
    deleted_twin: float


def windows(rendered: Rendered, tier: MaskTier, told: str, lines: int) -> list[Window] | Reason:
    """All windows of ``lines`` lines (tier ``changed``: from three to twice as many), in order; or why there is none.

    A line that stands in ``told``, the text next to the patch, is no riddle.
    """
    try:
        parts = list(_fragments(rendered))
    except DataError:
        return "malformed"
    twin = _twins(rendered)
    found: list[Window] = []
    reached: list[Reason] = ["no_run" if parts else "no_grammar"]
    for part in parts:
        hunks = rendered.files[part.file].hunks.split("\n")
        suitable, saying = _suitable_lines(part), _saying_lines(part)
        for start, stop in _RUNS[tier](part, hunks, lines):
            numbers = range(start, stop)
            if not suitable.issuperset(numbers):
                reached.append("unsuitable_lines")
                continue
            says = tuple(hunks[number][1:].strip() for number in numbers if number in saying)
            if len(says) < FEWEST_SAYING:
                reached.append("few_identifiers")
                continue
            if any(line in told for line in says):
                reached.append("told_in_text")
                continue
            likeness = sum(map(twin, says)) / len(says)
            if tier == "added" and likeness >= TWIN:
                reached.append("deleted_twin")
                continue
            text = tuple(line[1:] for line in hunks[start:stop])
            found.append(Window(part.file, start, stop, text, says, likeness))
    return found or max(reached, key=_REASONS.index)


def _fragments(rendered: Rendered) -> Iterator[Fragment]:
    """Yield the hunks with an added line, of all files whose suffix stands for a known grammar."""
    for file, shown in enumerate(rendered.files):
        grammar = grammar_of(shown.path)
        first = 1
        for hunk in parse_hunks(shown.hunks, truncated=True) if grammar is not None else ():
            new = [(number, line) for number, line in enumerate(hunk.lines, first) if line.mark in "+ "]
            added = frozenset(number for number, line in new if line.mark == "+")
            if grammar is not None and added:
                text = "\n".join(line.text for _, line in new)
                yield Fragment(file, grammar, text, tuple(number for number, _ in new), added)
            first += 1 + len(hunk.lines)


def _runs(part: Fragment) -> Iterator[tuple[int, int]]:
    """First and last (not included) of each run of added lines."""
    for _, run in groupby(enumerate(sorted(part.added)), lambda entry: entry[1] - entry[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1] + 1


def _added(part: Fragment, _hunks: Sequence[str], lines: int) -> Iterator[tuple[int, int]]:
    for start, stop in _runs(part):
        for first in range(start, stop - lines + 1):
            yield first, first + lines


def _changed(part: Fragment, hunks: Sequence[str], lines: int) -> Iterator[tuple[int, int]]:
    for start, stop in _runs(part):
        if hunks[start - 1].startswith(("-", "\\")) and FEWEST_SAYING <= stop - start <= 2 * lines:
            yield start, stop


_RUNS: Final[Mapping[MaskTier, Callable[[Fragment, Sequence[str], int], Iterator[tuple[int, int]]]]] = {
    "added": _added,
    "changed": _changed,
}


def _saying_lines(part: Fragment) -> set[int]:
    names: dict[int, set[str]] = defaultdict(set)
    for name in identifiers(part.text, part.grammar).names:
        names[part.lines[name.row]].add(name.name)
    return {line for line, distinct in names.items() if len(distinct) >= FEWEST_NAMES}


def _suitable_lines(part: Fragment) -> set[int]:
    """Return the lines that may be masked: not blank, a comment alone or an import alone.

    Nor such as an answer could not be told from its wrapping: they begin like a fence or with a plus, they hold a mask
    or a lone carriage return.
    """
    marks = comment_marks(part.grammar)
    begins = (marks.line, *marks.block, "```", "~~~")
    bare = _without_comments(part.text, part.grammar).split("\n")
    found = set()
    for number, line, code in zip(part.lines, part.text.split("\n"), bare, strict=True):
        text = line.strip()
        # A hunk may begin inside a comment, which then reads like code.
        inside = bool(marks.block) and (text == "*" or text.startswith(("* ", "*/")))
        unclear = inside or text.startswith(begins) or line.startswith("+") or MASK in line or "\r" in line
        if code.strip() and not unclear and not _IMPORT.fullmatch(line):
            found.add(number)
    return found


def _without_comments(text: str, grammar: str) -> str:
    """Return the text with blanks for every character of its comments and docstrings."""
    data = bytearray(encode(text))
    for comment in comments(text, grammar):
        span = data[comment.start : comment.end]
        data[comment.start : comment.end] = re.sub(rb"[^\n]", b" ", span)
    return data.decode("utf-8", "surrogatepass")


def _twins(rendered: Rendered) -> Callable[[str], float]:
    """Return how like the removed line that is most like it a line is, from 0 to 1."""
    lines = [line for file in rendered.files for line in file.hunks.split("\n")]
    removed = sorted({line[1:].strip() for line in lines if line.startswith("-")} - {""})

    @cache
    def twin(line: str) -> float:
        found = process.extractOne(line, removed, scorer=fuzz.ratio)
        return found[1] / 100 if found else 0.0

    return twin
