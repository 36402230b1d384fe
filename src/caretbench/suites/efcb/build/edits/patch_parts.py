"""Parsed new side of a patch: whole files if the source tree is available, else single hunks.

A hunk that does not parse alone is parsed inside of possible surrounding code; if that fails, too, it is not edited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import tree_sitter

from caretbench.build.sources.pull_request import PullRequest
from caretbench.errors import DataError
from caretbench.suites.efcb.problem_metadata import RenderedPatch
from caretbench.syntax.parser import error_count, parse
from caretbench.syntax.source import grammar_of

_HEADER = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*", re.DOTALL)


class DiffLine(NamedTuple):
    """One line of a hunk without its mark: kept, added, removed, or a note of the diff, after a backslash."""

    mark: str
    text: str


class Hunk(NamedTuple):
    """One hunk: number of its first line in the patch (the header is line 0), and in the new file from 1; its lines."""

    first: int
    new_start: int
    lines: tuple[DiffLine, ...]

    def numbered(self, marks: str) -> Iterator[tuple[int, DiffLine]]:
        """Yield the lines with some marks, with their numbers in the patch: ``+`` and space are the new side."""
        return ((number, line) for number, line in enumerate(self.lines, self.first) if line.mark in marks)


def parse_hunks(patch: str, *, truncated: bool = False) -> tuple[Hunk, ...]:
    """Return the hunks of one file's patch, which begins with the first ``@@``; none if it is empty.

    If the patch is ``truncated``, an incomplete last hunk is dropped.

    Raises:
        DataError: the text is no patch; the message has the line and the cause.
    """
    # ``splitlines`` would also end lines at form feeds and U+2028, which occur within lines of real files.
    lines = patch.removesuffix("\n").split("\n") if patch else []
    hunks: list[Hunk] = []
    end = 0
    while end < len(lines):
        start, header = end + 1, _HEADER.fullmatch(lines[end])
        if header is None:
            # Records of other tools may be cut in mid-line: what is left of a header is no hunk.
            if truncated and hunks and start == len(lines):
                break
            raise DataError(f"line {start} of the patch: expected a hunk, found {lines[end][:80]!r}")
        closed = _hunk_end(lines, start, *(int(count or 1) for count in header.group(1, 3)))
        if closed is None:
            if truncated:
                break
            raise DataError(f"line {start} of the patch: the hunk is shorter than {lines[end][:80]!r} states")
        end = closed
        own = (DiffLine(line[:1] or " ", line[1:]) for line in lines[start:end])
        hunks.append(Hunk(start, int(header[2]), tuple(own)))
    return tuple(hunks)


def _hunk_end(lines: Sequence[str], end: int, old: int, new: int) -> int | None:
    """Return the index behind a hunk's last line; None if the patch ends before the hunk does."""
    while old > 0 or new > 0:
        if end == len(lines):
            return None
        mark = lines[end][:1] or " "  # mail programs and editors strip the space of an empty kept line
        old, new, end = old - (mark in " -"), new - (mark in " +"), end + 1
        if mark not in " +-\\":
            raise DataError(f"line {end} of the patch: a line begins with ' ', '+', '-' or '\\', found {mark!r}")
        if old < 0 or new < 0:
            raise DataError(f"line {end} of the patch: the hunk is longer than its header states")
    # Git's note about a missing line feed at the end of a file follows the last line, and no header counts it.
    return end + (end < len(lines) and lines[end].startswith("\\"))


class Occurrence(NamedTuple):
    r"""A text in a patch: number of the file, line of its hunks, columns with the diff mark, and the text.

    Columns count characters: ``hunks.split("\n")[line][start:end] == text``.
    """

    file: int
    line: int
    start: int
    end: int
    text: str


def collapse_whitespace(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return " ".join(text.split())


class Replacement(NamedTuple):
    """New text for some columns of a line, counted as in :class:`Occurrence`."""

    file: int
    line: int
    start: int
    end: int
    text: str


class PatchEdit(NamedTuple):
    """Replacements that are made together.

    ``kind`` is the kind of edit (``swap-variable``, ``boundary``).
    """

    kind: str
    replacements: tuple[Replacement, ...]

    @property
    def lines(self) -> frozenset[tuple[int, int]]:
        """The changed lines, by file and line."""
        return frozenset((replacement.file, replacement.line) for replacement in self.replacements)


def swap_edit(kind: str, one: Occurrence, other: Occurrence) -> PatchEdit:
    """Return the exchange of two texts."""
    positions = sorted(((one, other.text), (other, one.text)))
    return PatchEdit(kind, tuple(Replacement(*position[:4], name) for position, name in positions))


MAX_FILE_CHARACTERS: Final = 400_000
"""Maximum number of characters of a whole file; hunks of larger files are parsed one by one."""
OUTSIDE_PATCH: Final = -1
"""Line number of rows that are not part of the patch."""

FileReader = Callable[[str], str | None]
"""Function that returns the text of a file after the change, by path; None if it is not available."""

FileReaders = Callable[[PullRequest], FileReader | None]
"""Function that returns the file reader of a change; None without a source tree."""


# Possible code before a hunk, by grammar: start of a type, start of a function.
_AROUND: Final = {
    "java": ("class A {", "void a() {"),
    "csharp": ("class A {", "void a() {"),
    "cpp": ("struct A {", "void a() {"),
    "go": ("", "func a() {"),
    "javascript": ("class A {", "function a() {"),
    "typescript": ("class A {", "function a() {"),
    "tsx": ("class A {", "function a() {"),
    "rust": ("impl A {", "fn a() {"),
}
_TEXT: Final = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL)


class HunkLines(NamedTuple):
    """One hunk: line numbers of its new side in the file's hunks, and which of them are added.

    ``removed`` are the removed lines and ``old_text`` is the old side, both with collapsed white space.
    """

    lines: tuple[int, ...]
    added: frozenset[int]
    removed: frozenset[str]
    old_text: str


class PatchPart(NamedTuple):
    """A parsed text; ``lines`` has for each row the line of the patch, or :data:`OUTSIDE`."""

    file: int
    grammar: str
    text: str
    tree: tree_sitter.Tree
    syntax_error_count: int
    lines: tuple[int, ...]
    hunks: tuple[HunkLines, ...]
    is_whole_file: bool

    @property
    def added_rows(self) -> list[int]:
        """Rows that are added lines."""
        added = frozenset().union(*(hunk.added for hunk in self.hunks))
        return [row for row, line in enumerate(self.lines) if line in added]


def patch_parts(rendered: RenderedPatch, reader: FileReader | None = None) -> Iterator[PatchPart]:
    """Yield the parts with an added line, of all files with a known grammar."""
    for number, file in enumerate(rendered.files):
        grammar = grammar_of(file.path)
        if grammar is None:
            continue
        hunks = parse_hunks(file.hunks, truncated=True)
        adding = [hunk for hunk in hunks if any(hunk.numbered("+"))]
        text = reader(file.path) if reader is not None and adding else None
        whole = _whole_file_part(number, grammar, text, hunks) if text is not None else None
        yield from (_hunk_part(number, grammar, hunk) for hunk in adding) if whole is None else (whole,)


def _whole_file_part(file: int, grammar: str, text: str, hunks: Sequence[Hunk]) -> PatchPart | None:
    """Return the whole file; None if it is too large or another version than the patch's."""
    # Generated tables and bundles: megabytes would be parsed for the two lines of a hunk.
    if len(text) > MAX_FILE_CHARACTERS:
        return None
    text = text.replace("\r\n", "\n")
    rows = text.split("\n")
    lines = [OUTSIDE_PATCH] * len(rows)
    for hunk in hunks:
        for row, (number, line) in enumerate(hunk.numbered("+ "), hunk.new_start - 1):
            # Another version of the file: its rows are not those of the patch, and edits would fall into the wrong
            # lines.
            if row >= len(rows) or rows[row] != line.text:
                return None
            lines[row] = number
    tree = parse(text, grammar)
    parts = tuple(map(_hunk_lines, hunks))
    return PatchPart(file, grammar, text, tree, error_count(tree), tuple(lines), parts, is_whole_file=True)


def _hunk_part(file: int, grammar: str, hunk: Hunk) -> PatchPart:
    part = _hunk_lines(hunk)
    own = "\n".join(line.text for _, line in hunk.numbered("+ "))
    tried = ((before, own, after) for before, after in chain([("", "")], _surroundings(own, grammar)))
    texts = next((texts for texts in tried if not error_count(parse("".join(texts), grammar))), ("", own, ""))
    text = "".join(texts)
    tree = parse(text, grammar)
    before, after = ([OUTSIDE_PATCH] * texts[place].count("\n") for place in (0, 2))
    lines = (*before, *part.lines, *after)
    return PatchPart(file, grammar, text, tree, error_count(tree), lines, (part,), is_whole_file=False)


def _surroundings(text: str, grammar: str) -> Iterator[tuple[str, str]]:
    """Yield possible code before and after a hunk, in lines of its own."""
    if grammar == "python":
        indents = [len(line) - len(line.lstrip()) for line in text.split("\n") if line.strip()]
        # A hunk of Python that begins in a body parses after the heads of the blocks that it is in; their conditions do
        # not matter.
        if indents and (indents[0] or min(indents)):
            steps = sorted({0, *(indent for indent in indents if indent < indents[0])})
            yield "".join(f"{' ' * step}if _:\n" for step in steps), ""
        return
    kind, function = _AROUND.get(grammar, ("", ""))
    if not function:
        return
    open_, missing = _count_open_braces(text)
    closing = "\n" + "}" * open_ if open_ else ""
    # A hunk may close braces that it does not open. Up to two more are tried: those of the function and of the type
    # around it.
    for depth in range(missing, missing + 3):
        closed = closing + "\n" + "}" * (depth - missing) if depth > missing else closing
        if depth == 0:
            yield "", closed
            continue
        yield f"{function}{'{' * (depth - 1)}\n", closed
        if kind:
            yield (f"{kind}{function}{'{' * (depth - 2)}\n" if depth > 1 else f"{kind}\n"), closed


def _count_open_braces(text: str) -> tuple[int, int]:
    """Return the number of braces that stay open, and of those closed without being opened."""
    depth = missing = 0
    # Braces of strings and comments open nothing.
    for sign in re.sub(r"[^{}]", "", _TEXT.sub("", text)):
        depth += 1 if sign == "{" else -1
        if depth < 0:
            missing, depth = missing + 1, 0
    return depth, missing


def _hunk_lines(hunk: Hunk) -> HunkLines:
    return HunkLines(
        tuple(number for number, _ in hunk.numbered("+ ")),
        frozenset(number for number, _ in hunk.numbered("+")),
        frozenset(collapse_whitespace(line.text) for _, line in hunk.numbered("-")),
        collapse_whitespace("\n".join(line.text for _, line in hunk.numbered("- "))),
    )
