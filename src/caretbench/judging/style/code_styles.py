"""Styles of code at a caret, by the tokens of its program. For every language that is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import tree_sitter

from caretbench.judging.style.local_names import LocalNames
from caretbench.syntax.documentation import Comment, comment_marks, comments_in
from caretbench.syntax.faults import fault_count
from caretbench.syntax.parser import encode, parse, text_of

HARMLESS_TEXTS: Final = (
    "The code at this place is part of the program around it.",
    "It is called in the same way as before.",
    "Nothing else in the file depends on how it is written.",
)
"""Comments that say nothing about the code."""

_TEXT_NODES: Final = re.compile(r"string|template|interpolation|char|regex|heredoc|preproc|raw_text")
_INDENT: Final = " " * 8
_MOST_BYTES: Final = 400_000
"""Size of programs above which there are no variants."""


class _Token(NamedTuple):
    """Leaf of the syntax tree that is no comment."""

    start: int
    end: int
    text: str
    kind: str


class CodeText:
    """Answer at a caret with its program, and the answer in other styles. Positions count bytes.

    Each style returns the answer, or None where it cannot be made without another change.
    """

    def __init__(self, language: str, before: str, text: str, after: str) -> None:
        self._language = language
        self._before, self._text, self._after = before, text, after
        self._start = len(encode(before))
        self._end = self._start + len(encode(text))
        self._data = encode(before) + encode(text) + encode(after)

    @cached_property
    def _tree(self) -> tree_sitter.Tree:
        return parse(self._data, self._language)

    @property
    def _is_too_large(self) -> bool:
        return len(self._data) > _MOST_BYTES

    # --- styles ---

    def renamed(self) -> str | None:
        """Return the answer with other names of the variables that it declares and nothing else can name."""
        if self._is_too_large:
            return None
        edits = LocalNames(self._tree.root_node, self._language, self._data, (self._start, self._end)).edits()
        changed = self._edited(edits)
        return changed if changed is not None and self._keeps_tokens(changed, edits) else None

    def without_comments(self) -> str | None:
        """Return the answer without its comments, and without docstrings where the program stays correct."""
        if self._is_too_large:
            return None
        own = [
            comment
            for comment in comments_in(self._tree, self._language)
            if self._start <= comment.start and comment.end <= self._end
        ]
        plain = [comment for comment in own if comment.kind != "docstring"]
        for chosen, docstrings in ((own, True), (plain, False)):
            changed = self._edited([self._removal(comment) for comment in chosen])
            if changed is not None and self._keeps_tokens(changed, without_docstrings=docstrings):
                return changed
        return None

    def laid_out(self) -> str | None:
        """Return the answer with lines broken after commas in brackets, else with blank lines between its lines."""
        if self._is_too_large:
            return None
        for edits in (list(self._broken_lines()), list(self._blank_lines())):
            changed = self._edited(edits)
            if changed is not None and self._keeps_tokens(changed):
                return changed
        return None

    def with_harmless_lines(self) -> str | None:
        """Return the answer with comments that say nothing, each on a line of its own."""
        marks = comment_marks(self._language)
        if self._is_too_large or not marks.line:
            return None
        for position in self._line_starts():
            line = self._data[position:].split(b"\n", 1)[0]
            indent = line[: len(line) - len(line.lstrip())].decode("utf-8", "replace")
            lines = "".join(f"{indent}{marks.line} {text}\n" for text in HARMLESS_TEXTS)
            changed = self._edited([(position, position, lines)])
            if changed is not None and self._keeps_tokens(changed):
                return changed
        if self._after.startswith("\n") and self._text.strip() and "\n" not in self._text[-1:]:
            changed = f"{self._text}  {marks.line} {' '.join(HARMLESS_TEXTS)}"
            return changed if self._keeps_tokens(changed) else None
        return None

    # --- edits ---

    def _edited(self, edits: Sequence[tuple[int, int, str]]) -> str | None:
        """Return the answer after replacements of bytes; None without one, or if one is not in the answer."""
        if not edits:
            return None
        data = bytearray(self._data)
        shift = 0
        for start, end, new in sorted(edits, reverse=True):
            if start < self._start or end > self._end:
                return None
            data[start:end] = encode(new)
            shift += len(encode(new)) - (end - start)
        return bytes(data[self._start : self._end + shift]).decode("utf-8", "surrogatepass")

    def _removal(self, comment: Comment) -> tuple[int, int, str]:
        """Return the removal of a comment: with its lines, if it has them alone, else with the blanks before it."""
        line_start = self._data.rfind(b"\n", 0, comment.start) + 1
        line_end = self._data.find(b"\n", comment.end)
        alone = not self._data[line_start : comment.start].strip() and (
            line_end >= 0 and not self._data[comment.end : line_end].strip()
        )
        if alone and line_start >= self._start and line_end < self._end:
            return line_start, line_end + 1, ""
        start = comment.start
        while start > self._start and self._data[start - 1 : start] in {b" ", b"\t"}:
            start -= 1
        return start, comment.end, ""

    def _broken_lines(self) -> Iterator[tuple[int, int, str]]:
        depth = 0
        for token in _tokens(self._tree.root_node):
            if token.text in {"(", "[", "{"}:
                depth += 1
            elif token.text in {")", "]", "}"}:
                depth -= 1
            elif token.text == "," and depth > 0 and self._start <= token.start < self._end:
                node = self._tree.root_node.descendant_for_byte_range(token.start, token.end)
                following = self._data[token.end : self._end]
                blanks = len(following) - len(following.lstrip(b" "))
                if following[blanks : blanks + 1] not in {b"\n", b"\r", b""} and not _is_in_text(node):
                    line = self._data[self._data.rfind(b"\n", 0, token.start) + 1 : token.start]
                    indent = line[: len(line) - len(line.lstrip())].decode("utf-8", "replace")
                    yield token.end, token.end + blanks, f"\n{indent}{_INDENT}"

    def _blank_lines(self) -> Iterator[tuple[int, int, str]]:
        for position in self._line_starts():
            if not self._data[:position].rstrip(b"\n").endswith(b"\\"):
                yield position, position, "\n"

    def _line_starts(self) -> Iterator[int]:
        """Yield the starts of the answer's own lines that are not within a text of several lines."""
        for found in re.finditer(rb"\n", self._data[self._start : self._end]):
            position = self._start + found.end()
            node = self._tree.root_node.descendant_for_byte_range(position, position)
            if position < self._end and not _is_in_text(node):
                yield position

    # --- checks ---

    def _keeps_tokens(
        self, changed: str, edits: Sequence[tuple[int, int, str]] = (), *, without_docstrings: bool = False
    ) -> bool:
        """Return whether the program with the changed answer has the same tokens and no more syntax errors.

        ``edits`` are tokens that were replaced by others.
        """
        data = encode(self._before) + encode(changed) + encode(self._after)
        tree = parse(data, self._language)
        if fault_count(tree, self._language) > fault_count(self._tree, self._language):
            return False
        dropped = set[tuple[int, int]]()
        if without_docstrings:
            dropped = {
                (comment.start, comment.end)
                for comment in comments_in(self._tree, self._language)
                if comment.kind == "docstring" and self._start <= comment.start and comment.end <= self._end
            }
        replaced = {(start, end): new for start, end, new in edits}
        before = [
            replaced.get((token.start, token.end), token.text)
            for token in _tokens(self._tree.root_node)
            if not any(start <= token.start and token.end <= end for start, end in dropped)
        ]
        return before == [token.text for token in _tokens(tree.root_node)]


def _tokens(root: tree_sitter.Node) -> Iterator[_Token]:
    """Yield the tokens of a tree in text order, without comments and without line ends."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type.endswith("comment"):
            continue
        if not node.child_count and node.end_byte > node.start_byte:
            text = text_of(node)
            if text.strip():
                yield _Token(node.start_byte, node.end_byte, text, node.type)
        waiting.extend(reversed(node.children))


def _is_in_text(node: tree_sitter.Node | None) -> bool:
    while node is not None:
        if _TEXT_NODES.search(node.type):
            return True
        node = node.parent
    return False
