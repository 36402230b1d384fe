"""Syntax check of a file with an answer in it, by the parser, without execution.

The unchanged file may have syntax faults (macros, dialects), so an answer is faulty if the file has more with it:
``indentation`` if only the layout is wrong, ``truncated`` if closing the open brackets and blocks at the end of the
answer repairs it, else ``syntax``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal

import tree_sitter

from caretbench.problem import FileSplice, Problem
from caretbench.projects.answer_requests import file_splice, original_file
from caretbench.syntax.faults import fault_count, layout_faults
from caretbench.syntax.parser import parse

SyntaxFault = Literal["", "syntax", "indentation", "truncated"]

_CLOSERS: Final = {"(": ")", "[": "]", "{": "}", "${": "}"}
_BLOCKS: Final = 3
"""Maximum number of blocks around the answer that are closed to detect truncation."""


def syntax_fault(problem: Problem, text: str) -> SyntaxFault:
    """Return the kind of syntax fault that an answer adds to its file; empty if it adds none.

    Raises:
        DataError: the problem's project is not on this machine.
    """
    splice, language = file_splice(problem), problem.caret.language
    before = original_file(splice.snapshot, splice.path)
    allowed = _faults(splice.snapshot, splice.path, language)
    tree = parse(splice.content(before, text), language)
    excess = fault_count(tree, language) - sum(allowed)
    if excess <= 0:
        return ""
    ended = _closed(tree, splice, before, text, language)
    if any(_fits(splice, before, language, closed) for closed in ended):
        return "truncated"
    layout = layout_faults(tree, language) - allowed[1]
    return "indentation" if layout >= excess else "syntax"


@lru_cache(maxsize=1024)
def _faults(snapshot: str, path: str, language: str) -> tuple[int, int]:
    """Return the number of faults in the unchanged file: other than layout, and of layout."""
    tree = parse(original_file(snapshot, path), language)
    layout = layout_faults(tree, language)
    return fault_count(tree, language) - layout, layout


def _fits(splice: FileSplice, before: bytes, language: str, text: str) -> bool:
    allowed = sum(_faults(splice.snapshot, splice.path, language))
    return fault_count(parse(splice.content(before, text), language), language) <= allowed


def _closed(tree: tree_sitter.Tree, splice: FileSplice, before: bytes, text: str, language: str) -> Iterator[str]:
    """Yield the answer with its open brackets closed at the end, then also with blocks around it closed."""
    body = text.rstrip()
    if language == "python":
        if body.endswith(":"):
            last = body.split("\n")[-1]
            yield f"{body}\n{last[: len(last) - len(last.lstrip())]}    pass\n"
        extra: tuple[str, ...] = ("",)
    else:
        extra = tuple("\n}" * number for number in range(_BLOCKS + 1))
    end = len(splice.content(before, text)) - (len(before) - splice.end)
    brackets = [_CLOSERS[bracket] for bracket in reversed(_left_open(tree, splice.start, end))]
    own = "".join(brackets)
    ended = "".join(f";{bracket}" if bracket == "}" else bracket for bracket in brackets) + ";"
    tail = text[len(body) :] or "\n"
    for more in extra:
        if own or more:
            yield body + own + more + tail
        if language != "python":
            yield body + ended + more + tail


def _left_open(tree: tree_sitter.Tree, start: int, end: int) -> list[str]:
    """Return the unclosed brackets between two byte offsets, outermost first."""
    stack: list[str] = []
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.end_byte <= start or node.start_byte >= end:
            continue
        if node.children:
            waiting.extend(reversed(node.children))
        elif node.type in _CLOSERS and not node.is_missing:
            stack.append(node.type)
        elif stack and not node.is_missing and node.type == _CLOSERS[stack[-1]]:
            stack.pop()
    return stack
