"""Parsed new side of a patch: whole files if the source tree is available, else single hunks.

A hunk that does not parse alone is parsed inside of possible surrounding code; if that fails, too, it is not edited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import tree_sitter

from caretbench.build.sources.pull_request import PullRequest
from caretbench.suites.efcb.build.hunks import Hunk, parse_hunks
from caretbench.suites.efcb.patches import RenderedPatch
from caretbench.syntax.parser import error_count, parse
from caretbench.syntax.source import grammar_of


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

    ``kind`` is the kind of edit (``swap-variable``, ``boundary``). ``direction`` is the text before and after for
    operators and numbers (``<=→<``, ``3→4``), and empty if names or literals of the patch are exchanged.
    """

    kind: str
    direction: str
    replacements: tuple[Replacement, ...]

    @property
    def lines(self) -> frozenset[tuple[int, int]]:
        """The changed lines, by file and line."""
        return frozenset((one.file, one.line) for one in self.replacements)


def swap_edit(kind: str, one: Occurrence, other: Occurrence) -> PatchEdit:
    """Return the exchange of two texts."""
    positions = sorted(((one, other.text), (other, one.text)))
    return PatchEdit(kind, "", tuple(Replacement(*position[:4], name) for position, name in positions))


MAX_FILE_CHARACTERS: Final = 400_000
"""Maximum number of characters of a whole file; hunks of larger files are parsed one by one."""
OUTSIDE_PATCH: Final = -1
"""Line number of rows that are not part of the patch."""

FileReader = Callable[[str], str | None]
"""Function that returns the text of a file after the change, by path; None if it is not available."""

FileReaders = Callable[[PullRequest], FileReader | None]
"""Function that returns the file reader of a change; None without a source tree."""


def no_file_reader(_pull: PullRequest) -> None:
    """Return None: no source tree is available."""


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
        firsts, line = [], 0
        for hunk in hunks:
            firsts.append(line + 1)
            line += 1 + len(hunk.lines)
        if not any(entry.mark == "+" for hunk in hunks for entry in hunk.lines):
            continue
        text = reader(file.path) if reader is not None else None
        whole = _whole_file_part(number, grammar, text, hunks, firsts) if text is not None else None
        if whole is not None:
            yield whole
            continue
        for first, hunk in zip(firsts, hunks, strict=True):
            if any(entry.mark == "+" for entry in hunk.lines):
                yield _hunk_part(number, grammar, first, hunk)


def _whole_file_part(
    file: int, grammar: str, text: str, hunks: Sequence[Hunk], firsts: Sequence[int]
) -> PatchPart | None:
    """Return the whole file; None if it is too large or another version than the patch's."""
    # Generated tables and bundles: megabytes would be parsed for the two lines of a hunk.
    if len(text) > MAX_FILE_CHARACTERS:
        return None
    text = text.replace("\r\n", "\n")
    rows = text.split("\n")
    lines = [OUTSIDE_PATCH] * len(rows)
    for first, hunk in zip(firsts, hunks, strict=True):
        row = hunk.new_start - 1
        for offset, line in enumerate(hunk.lines):
            if line.mark in "+ ":
                # Another version of the file: its rows are not those of the patch, and edits would fall into the wrong
                # lines.
                if row >= len(rows) or rows[row] != line.text:
                    return None
                lines[row] = first + offset
                row += 1
    tree = parse(text, grammar)
    parts = tuple(_hunk_lines(first, hunk) for first, hunk in zip(firsts, hunks, strict=True))
    return PatchPart(file, grammar, text, tree, error_count(tree), tuple(lines), parts, is_whole_file=True)


def _hunk_part(file: int, grammar: str, first: int, hunk: Hunk) -> PatchPart:
    part = _hunk_lines(first, hunk)
    text = "\n".join(hunk.new_lines)
    tree = parse(text, grammar)
    syntax_error_count = error_count(tree)
    before = after = ""
    if syntax_error_count:
        for before, after in _surroundings(text, grammar):
            tried = parse(before + text + after, grammar)
            if not error_count(tried):
                tree, syntax_error_count = tried, 0
                break
        else:
            before = after = ""
    lines = (*[OUTSIDE_PATCH] * before.count("\n"), *part.lines, *[OUTSIDE_PATCH] * after.count("\n"))
    return PatchPart(
        file, grammar, before + text + after, tree, syntax_error_count, lines, (part,), is_whole_file=False
    )


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


def _hunk_lines(first: int, hunk: Hunk) -> HunkLines:
    new = [(first + index, line) for index, line in enumerate(hunk.lines) if line.mark in "+ "]
    return HunkLines(
        tuple(number for number, _ in new),
        frozenset(number for number, line in new if line.mark == "+"),
        frozenset(collapse_whitespace(line.text) for line in hunk.lines if line.mark == "-"),
        collapse_whitespace("\n".join(hunk.old_lines)),
    )
