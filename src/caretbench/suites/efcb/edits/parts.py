"""The new side of a patch as parsed text: whole files where the source tree is at hand, else hunk by hunk.

A hunk is a fragment. One that does not parse as it is cut out is read inside of what may have been around it; where
that does not help, it is not edited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import tree_sitter

from caretbench.sources.git.unified_diff import Hunk, parse_hunks
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.edits.edit import even
from caretbench.suites.efcb.rendering import Rendered
from caretbench.syntax.parser import error_count, parse
from caretbench.syntax.source import grammar_of

MOST_CHARACTERS: Final = 400_000
"""Of a whole file that is read; hunks of a larger one are read as fragments."""
OUTSIDE: Final = -1
"""The line of the patch that a row of the text is, where it is none."""

Sources = Callable[[str], str | None]
"""Returns the text of a file, by its path, as it is after the change; None where it is not at hand."""

SourcesOf = Callable[[PullRequest], Sources | None]
"""Returns the reader of a change's files; None where there is no source tree."""


def no_sources(_pull: PullRequest) -> None:
    """Return None: no source tree is at hand."""


# What a cut hunk may have had around it, by grammar: the beginning of a type, and of a function.
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
_TEXT: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL
)


class HunkLines(NamedTuple):
    """One hunk: the lines of its new side by their numbers in the file's hunks, which of them are added.

    ``removed`` are the removed lines and ``old`` the whole old side, both with blanks made even.
    """

    lines: tuple[int, ...]
    added: frozenset[int]
    removed: frozenset[str]
    old: str


class PatchPart(NamedTuple):
    """A text with its tree: ``lines`` gives for each row the line of the patch, or :data:`OUTSIDE`.

    ``whole``: it is a whole file.
    """

    file: int
    grammar: str
    text: str
    tree: tree_sitter.Tree
    errors: int
    lines: tuple[int, ...]
    hunks: tuple[HunkLines, ...]
    whole: bool

    @property
    def added_rows(self) -> list[int]:
        """The rows that are added lines."""
        added = frozenset().union(*(hunk.added for hunk in self.hunks))
        return [row for row, line in enumerate(self.lines) if line in added]


def parts_of(rendered: Rendered, sources: Sources | None = None) -> Iterator[PatchPart]:
    """Yield the parts with an added line, of all files whose suffix stands for a known grammar.

    Raises:
        DataError: what a file shows is no patch.
    """
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
        text = sources(file.path) if sources is not None else None
        whole = _whole(number, grammar, text, hunks, firsts) if text is not None else None
        if whole is not None:
            yield whole
            continue
        for first, hunk in zip(firsts, hunks, strict=True):
            if any(entry.mark == "+" for entry in hunk.lines):
                yield _cut(number, grammar, first, hunk)


def _whole(
    file: int, grammar: str, text: str, hunks: Sequence[Hunk], firsts: Sequence[int]
) -> PatchPart | None:
    """Return the whole file; none where it is too large, or another version than the patch's."""
    if len(text) > MOST_CHARACTERS:
        return None
    text = text.replace("\r\n", "\n")
    rows = text.split("\n")
    lines = [OUTSIDE] * len(rows)
    for first, hunk in zip(firsts, hunks, strict=True):
        row = hunk.new_start - 1
        for offset, line in enumerate(hunk.lines):
            if line.mark in "+ ":
                if row >= len(rows) or rows[row] != line.text:
                    return None
                lines[row] = first + offset
                row += 1
    tree = parse(text, grammar)
    parts = tuple(_hunk_lines(first, hunk) for first, hunk in zip(firsts, hunks, strict=True))
    return PatchPart(file, grammar, text, tree, error_count(tree), tuple(lines), parts, whole=True)


def _cut(file: int, grammar: str, first: int, hunk: Hunk) -> PatchPart:
    part = _hunk_lines(first, hunk)
    text = "\n".join(hunk.new_lines)
    tree = parse(text, grammar)
    errors = error_count(tree)
    before = after = ""
    if errors:
        for before, after in _surroundings(text, grammar):
            tried = parse(before + text + after, grammar)
            if not error_count(tried):
                tree, errors = tried, 0
                break
        else:
            before = after = ""
    lines = (*[OUTSIDE] * before.count("\n"), *part.lines, *[OUTSIDE] * after.count("\n"))
    return PatchPart(file, grammar, before + text + after, tree, errors, lines, (part,), whole=False)


def _surroundings(text: str, grammar: str) -> Iterator[tuple[str, str]]:
    """Yield what may be before and behind a cut hunk, in lines of their own."""
    if grammar == "python":
        indents = [len(line) - len(line.lstrip()) for line in text.split("\n") if line.strip()]
        if indents and (indents[0] or min(indents)):
            steps = sorted({0, *(indent for indent in indents if indent < indents[0])})
            yield "".join(f"{' ' * step}if _:\n" for step in steps), ""
        return
    kind, function = _AROUND.get(grammar, ("", ""))
    if not function:
        return
    open_, missing = _brackets(text)
    closing = "\n" + "}" * open_ if open_ else ""
    for depth in range(missing, missing + 3):
        closed = closing + "\n" + "}" * (depth - missing) if depth > missing else closing
        if depth == 0:
            yield "", closed
            continue
        yield f"{function}{'{' * (depth - 1)}\n", closed
        if kind:
            yield (f"{kind}{function}{'{' * (depth - 2)}\n" if depth > 1 else f"{kind}\n"), closed


def _brackets(text: str) -> tuple[int, int]:
    """Return how many braces stay open, and how many are closed that the text does not open."""
    depth = missing = 0
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
        frozenset(even(line.text) for line in hunk.lines if line.mark == "-"),
        even("\n".join(hunk.old_lines)),
    )
