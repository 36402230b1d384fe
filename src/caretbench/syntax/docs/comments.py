"""Comments and Python docstrings of a program, with their positions."""

from __future__ import annotations

from typing import Literal, NamedTuple

import tree_sitter

from caretbench.languages import language_of_grammar
from caretbench.problem import Row
from caretbench.syntax.parser import parse, text_of
from caretbench.syntax.queries import captures

CommentKind = Literal["line", "block", "docstring"]


class Comment(Row):
    """One comment, marks included; ``start`` and ``end`` count bytes of the UTF-8 text."""

    kind: CommentKind
    start: int
    end: int
    text: str


class CommentMarks(NamedTuple):
    """Comment marks of a language: of line comments, and the two marks of block comments; may be empty."""

    line: str
    block: tuple[str, ...]


def comment_marks(language: str) -> CommentMarks:
    """Return the marks of a language (by name or alias), a dialect, or one that is parsed only.

    Raises:
        KeyError: the table has no such language.
    """
    entry = language_of_grammar(language)
    return CommentMarks(entry.line_comment, entry.block_comment)


def _kind(text: str, language: str) -> CommentKind:
    mark = next(iter(comment_marks(language).block), None)
    return "block" if mark and text.startswith(mark) else "line"


def comments_in(tree: tree_sitter.Tree, language: str) -> list[Comment]:
    """Return the comments and docstrings of a parsed program, in text order."""
    found = captures(tree.root_node, language, "comments")
    everything = []
    for node in found.get("comment", []):
        text = text_of(node)
        end = node.end_byte
        if text.endswith(("\n", "\r")):  # some grammars count the line end to a line comment
            text = text.rstrip("\r\n")
            end = node.start_byte + len(text.encode("utf-8", "surrogatepass"))
        everything.append(Comment(kind=_kind(text, language), start=node.start_byte, end=end, text=text))
    everything += [
        Comment(kind="docstring", start=node.start_byte, end=node.end_byte, text=text_of(node))
        for node in found.get("docstring", [])
    ]
    return sorted(everything, key=lambda comment: comment.start)


def comments(text: str, language: str) -> list[Comment]:
    """Return the comments and docstrings of a program, in text order.

    Raises:
        KeyError: the table has no such language.
    """
    return comments_in(parse(text, language), language)
