"""Lines, tokens and cyclomatic complexity of problems by the syntax of their language (``default`` profile).

All numbers are computed on the syntax tree of the whole program, so the caret may be inside a line or a string, and
code outside functions, of which most DevBench programs consist, counts too. Within
functions the decisions agree with lizard's in C++ and Java; lizard leaves out C#'s ``foreach`` and all code
outside functions, and counts Python's ``finally``, which decides nothing.
"""

from __future__ import annotations

from tree_sitter import Node

from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.complexity import ProblemStatistics
from caretbench.syntax.parser import encode, parse, walk


def lines_of_code(text: str) -> int:
    """Return the number of lines, blank ones included; a final line break ends a line and begins none."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def _is_comment(node: Node) -> bool:
    return node.type.endswith("comment")


def _is_token(node: Node) -> bool:
    return not node.child_count and node.end_byte > node.start_byte


def problem_statistics(prefix: str, completion: str, suffix: str, assertions: str, language: str) -> ProblemStatistics:
    """Return the statistics of one problem, with the reference completion in its place.

    A token is a leaf of the syntax tree (a string literal counts its quotes and its content; comments and what a parser
    had to invent do not count) and belongs to the part in which it begins. Complexity is 1 + the number of decisions of
    the whole program (McCabe 1976, for one module): branches, loops (comprehensions included), cases, arms of switch
    expressions, handlers of exceptions, conditional expressions and short-circuit operators; ``else``, ``default``,
    ``finally`` and jumps are none.

    Args:
        prefix: Text before the caret.
        completion: The reference completion.
        suffix: Text after the caret.
        assertions: Text that follows the suffix on a line of its own.
        language: Name of the language, as the table of languages has it.

    Raises:
        KeyError: the table of languages has no such language.
    """
    program = prefix + completion + suffix
    if assertions and not program.endswith("\n"):
        program += "\n"
    program += assertions
    start = len(encode(prefix))
    end = start + len(encode(completion))
    tokens = [0, 0, 0]
    decisions = 0
    kinds = node_kinds(language)
    for node in walk(parse(program, language).root_node, closed=_is_comment):
        if _is_comment(node):
            continue
        decisions += node.type in (kinds.decisions if node.is_named else kinds.decision_tokens)
        if _is_token(node):
            tokens[(node.start_byte >= start) + (node.start_byte >= end)] += 1
    return ProblemStatistics(
        prefix_lines=lines_of_code(prefix),
        completion_lines=lines_of_code(completion),
        total_lines=lines_of_code(program),
        prefix_tokens=tokens[0],
        completion_tokens=tokens[1],
        total_tokens=sum(tokens),
        cyclomatic=1 + decisions,
    )
