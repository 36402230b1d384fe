"""Truncations of the released evaluators of SAFIM and CrossCodeEval, as steps of policies.

Reimplemented from the released code's rules, faults included: SAFIM at commit 9543286 (`prompt_utils`, `ast_utils`),
CrossCodeEval at 25f9cab (`scripts/eval_utils`). Its grammars are older than ours. A parser that recovers (a missing
bracket, added by itself) counts as no error there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final

import tree_sitter

from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.extraction.cuts import max_cuts
from caretbench.languages import get_language
from caretbench.syntax.parser import encode, parse, walk

_PYTHON: Final = "python"


def parses_as_released(program: str | bytes, language: str, *, ignored: bytes | None = None) -> bool:
    """Return whether the tree of a program has no error node, but for those whose text is ``ignored``."""
    root = parse(program, language).root_node
    nodes = walk(root, closed=lambda node: node.is_error or not node.has_error)
    return all(node.text == ignored for node in nodes if node.is_error)


def safim_parses(program: str | bytes, language: str) -> bool:
    """Return whether SAFIM's check of the syntax accepts a program; a lone ``;`` is no error for it."""
    return parses_as_released(program, language, ignored=b";")


def safim_control(text: str, surroundings: Surroundings) -> str:
    """Return the first line that is not blank (Python), or the text before the first ``)`` that it did not open.

    Brackets in literals count, so that 11 of 8,629 references are damaged.
    """
    if surroundings.language == _PYTHON:
        return next((line for line in text.splitlines() if line.strip()), "")
    return next((text[:position] for position, depth in _closing_brackets(text) if depth < 0), text)


def safim_api_call(text: str, surroundings: Surroundings) -> str:  # noqa: ARG001  the released code looked at the text alone
    """Return the text up to its first ``)`` that leaves no bracket open: of chained calls, the first."""
    return next((text[: position + 1] for position, depth in _closing_brackets(text) if depth <= 0), text)


def _closing_brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the position of each ``)``, and the number of brackets that are open after it."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == ")":
            yield position, depth


def safim_block(text: str, surroundings: Surroundings) -> str:
    """Return the text without last lines, until the program with it has only added nodes, and all in one place.

    It is compared with the program with ``pass`` (Python), or nothing, for an answer. As released, an answer whose
    nodes are like those around it is dropped, and so is ``pass``; the text stays where the program to compare with
    has errors (the released code ended there).
    """
    before, after = encode(surroundings.before), encode(surroundings.after)
    empty = before + (b"pass" if surroundings.language == _PYTHON else b"") + after
    lines = text.splitlines(keepends=True)[: max_cuts(len(surroundings.program(text)))]
    expected: list[tuple[bool, str]] | None = None
    while lines:
        program = before + encode("".join(lines)) + after
        if safim_parses(program, surroundings.language):
            if expected is None:
                if not safim_parses(empty, surroundings.language):
                    return text
                expected = _trace(parse(empty, surroundings.language))
            missing = _unmatched(expected, _trace(parse(program, surroundings.language)))
            if missing == (_PASS_EVENTS if surroundings.language == _PYTHON else 0):
                break
        lines.pop()
    return "".join(lines)


_PASS_EVENTS: Final = 4
"""Beginnings and ends of the statement ``pass`` and of its word."""


def _trace(tree: tree_sitter.Tree) -> list[tuple[bool, str]]:
    """Return the beginnings (True) and ends of all nodes, in the order of the text, but for those in error nodes."""
    cursor = tree.walk()
    trace = []
    while (node := cursor.node) is not None:
        trace.append((True, node.type))
        if not node.is_error and cursor.goto_first_child():
            continue
        trace.append((False, node.type))
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return trace
            trace.append((False, cursor.node.type if cursor.node else ""))
    return trace


def _unmatched(expected: list[tuple[bool, str]], actual: list[tuple[bool, str]]) -> int | None:
    """Return the length of ``expected`` without what both have at their beginnings and at their ends; None if longer.

    Both ends are counted on their own, as released: it is below zero where they overlap.
    """
    if len(expected) > len(actual):
        return None
    return len(expected) - _equal(expected, actual) - _equal(reversed(expected), reversed(actual))


def _equal(first: Iterable[object], second: Iterable[object]) -> int:
    """Return the number of items at the beginning of both that are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def safim_cut(text: str, surroundings: Surroundings) -> str:
    """Return the text as SAFIM cuts answers to this kind of hole; unchanged at a caret of another benchmark."""
    cut = {"block": safim_block, "control": safim_control, "api": safim_api_call}.get(surroundings.hole or "")
    return cut(text, surroundings) if cut is not None else text


def crosscodeeval_statement(text: str, surroundings: Surroundings) -> str:
    """Return the first statement: in Python up to the first line end at which the program so far parses.

    In other languages it ends behind the first ``;``, ``{`` or ``}``; one at the very beginning ends nothing. Without
    such an end, the whole text is returned.
    """
    if not get_language(surroundings.language).indented:
        end = next((position for position, character in enumerate(text) if character in ";{}"), 0)
        return text[: end + 1] if end else text
    before, position = encode(surroundings.before), 0
    for _ in range(max_cuts(len(surroundings.program(text)))):
        position = text.find("\n", position + 1)
        if position < 0:
            break
        if parses_as_released(before + encode(text[:position]), surroundings.language):
            return text[:position].rstrip()
    return text
