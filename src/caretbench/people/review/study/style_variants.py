"""Longer variants of answers that say nothing more: a judge that rates them higher prefers long answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import tree_sitter

from caretbench.languages import language_of_grammar
from caretbench.problem import Caret, Problem
from caretbench.syntax.parser import encode, fault_count, parse, text_of, upwards, walk

HARMLESS_TEXTS: Final = (
    "The code at this place is part of the program around it.",
    "It is called in the same way as before.",
    "Nothing else in the file depends on how it is written.",
)
"""Comments that say nothing about the code."""
_SENTENCE: Final = "This is the answer to the question that was given above."
HARMLESS_LINES: Final = "harmless-lines"
"""Name of the style, which a judge that prefers long answers rates higher."""
_TEXT_NODES: Final = re.compile(r"string|template|interpolation|char|regex|heredoc|preproc|raw_text")
# Each variant parses the whole program again.
_MAX_BYTES: Final = 400_000
"""Size of programs above which there are no variants."""


def style_variants(problem: Problem, text: str) -> Mapping[str, str]:
    """Return the variant of an answer by style; empty if it cannot be made.

    Args:
        problem: The problem.
        text: The text at the caret, or the answer to the question.
    """
    variant = with_harmless_lines(problem.shown, text) if isinstance(problem.shown, Caret) else _longer(text)
    return {} if variant is None or not variant.strip() else {HARMLESS_LINES: variant}


def with_harmless_lines(caret: Caret, text: str) -> str | None:
    """Return code with comments that say nothing, each on a line of its own, or behind it; None where neither fits."""
    mark, data = language_of_grammar(caret.language).line_comment, encode(caret.prefix + text + caret.suffix)
    if len(data) > _MAX_BYTES or not mark:
        return None
    tree = parse(data, caret.language)
    for position in _line_starts(tree, len(encode(caret.prefix)), text):
        line = text[position:].partition("\n")[0]
        indent = line[: len(line) - len(line.lstrip())]
        lines = "".join(f"{indent}{mark} {comment}\n" for comment in HARMLESS_TEXTS)
        changed = text[:position] + lines + text[position:]
        if _keeps_tokens(tree, caret, changed):
            return changed
    changed = f"{text}  {mark} {' '.join(HARMLESS_TEXTS)}"
    ends = caret.suffix.startswith("\n") and text.strip() and not text.endswith("\n")
    return changed if ends and _keeps_tokens(tree, caret, changed) else None


def _line_starts(tree: tree_sitter.Tree, start: int, text: str) -> Iterator[int]:
    """Yield the starts of the answer's own lines that are not within a text of several lines."""
    for line_feed in re.finditer("\n", text):
        at = start + len(encode(text[: line_feed.end()]))
        if line_feed.end() < len(text) and not _is_in_text(tree.root_node.descendant_for_byte_range(at, at)):
            yield line_feed.end()


def _keeps_tokens(tree: tree_sitter.Tree, caret: Caret, changed: str) -> bool:
    """Return whether the program with the changed answer has the same tokens and no more syntax errors."""
    other = parse(encode(caret.prefix + changed + caret.suffix), caret.language)
    # The program may have had faults before: an answer need not parse.
    if fault_count(other, caret.language) > fault_count(tree, caret.language):
        return False
    return list(_tokens(tree.root_node)) == list(_tokens(other.root_node))


def _tokens(root: tree_sitter.Node) -> Iterator[str]:
    """Yield the tokens of a tree in text order, without comments and without line ends."""
    for node in walk(root, closed=_is_comment):
        if not (node.child_count or _is_comment(node)) and text_of(node).strip():
            yield text_of(node)


def _is_comment(node: tree_sitter.Node) -> bool:
    return node.type.endswith("comment")


def _is_in_text(node: tree_sitter.Node | None) -> bool:
    return any(_TEXT_NODES.search(outer.type) for outer in upwards(node))


def _longer(text: str) -> str | None:
    """Return prose with a sentence that says nothing; None for answers of one word, such as a letter or a label."""
    # A sentence behind a letter or label changes the answer.
    if len(text.split()) < 3 or text.lstrip().startswith(("{", "[", "```")):
        return None
    return f"{text.rstrip()} {_SENTENCE}" if text.rstrip()[-1:] in ".!?" else f"{text.rstrip()}. {_SENTENCE}"
