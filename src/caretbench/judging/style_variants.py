"""Style variants of an answer: the same content without comments, or longer.

A judge that gives a variant another score than the answer rates style. A variant of code changes no token but its
comments, and has no more syntax errors than the answer; otherwise there is no such variant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import tree_sitter

from caretbench.problem import Caret, Problem
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
# Each variant parses the whole program again, some of them twice.
_MAX_BYTES: Final = 400_000
"""Size of programs above which there are no variants."""


class _Token(NamedTuple):
    """Leaf of the syntax tree that is no comment."""

    start: int
    end: int
    text: str


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
        return len(self._data) > _MAX_BYTES

    # --- styles ---

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
        # A docstring that is the whole body of a function cannot go: then only the other comments do.
        for chosen, docstrings in ((own, True), (plain, False)):
            changed = self._edited([self._removal(comment) for comment in chosen])
            if changed is not None and self._keeps_tokens(changed, without_docstrings=docstrings):
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

    def _line_starts(self) -> Iterator[int]:
        """Yield the starts of the answer's own lines that are not within a text of several lines."""
        for found in re.finditer(rb"\n", self._data[self._start : self._end]):
            position = self._start + found.end()
            node = self._tree.root_node.descendant_for_byte_range(position, position)
            if position < self._end and not _is_in_text(node):
                yield position

    # --- checks ---

    def _keeps_tokens(self, changed: str, *, without_docstrings: bool = False) -> bool:
        """Return whether the program with the changed answer has the same tokens and no more syntax errors."""
        data = encode(self._before) + encode(changed) + encode(self._after)
        tree = parse(data, self._language)
        # The program may have had faults before: an answer need not parse.
        if fault_count(tree, self._language) > fault_count(self._tree, self._language):
            return False
        dropped = set[tuple[int, int]]()
        if without_docstrings:
            dropped = {
                (comment.start, comment.end)
                for comment in comments_in(self._tree, self._language)
                if comment.kind == "docstring" and self._start <= comment.start and comment.end <= self._end
            }
        before = [
            token.text
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
                yield _Token(node.start_byte, node.end_byte, text)
        waiting.extend(reversed(node.children))


def _is_in_text(node: tree_sitter.Node | None) -> bool:
    while node is not None:
        if _TEXT_NODES.search(node.type):
            return True
        node = node.parent
    return False


WITHOUT_COMMENTS, HARMLESS_LINES = "without-comments", "harmless-lines"

STYLES: Final = (WITHOUT_COMMENTS, HARMLESS_LINES)
"""Names of the styles. ``harmless-lines`` is the one that a judge which prefers long answers rates higher."""

_SENTENCE: Final = "This is the answer to the question that was given above."


def style_variants(problem: Problem, text: str) -> Mapping[str, str]:
    """Return the variants of an answer by style; those that cannot be made, or would change nothing, are missing.

    Args:
        problem: The problem.
        text: The text at the caret, or the answer to the question.
    """
    if not isinstance(problem.shown, Caret):
        found = {HARMLESS_LINES: _longer(text)}
    else:
        caret = problem.shown
        code = CodeText(caret.language, caret.prefix, text, caret.suffix)
        found = {WITHOUT_COMMENTS: code.without_comments(), HARMLESS_LINES: code.with_harmless_lines()}
    return {
        style: variant
        for style, variant in found.items()
        if variant is not None and variant.strip() and variant != text
    }


def _longer(text: str) -> str | None:
    """Return prose with a sentence that says nothing; None for answers of one word, such as a letter or a label."""
    # A sentence behind a letter or label changes the answer.
    if len(text.split()) < 3 or text.lstrip().startswith(("{", "[", "```")):
        return None
    return f"{text.rstrip()} {_SENTENCE}" if text.rstrip()[-1:] in ".!?" else f"{text.rstrip()}. {_SENTENCE}"
