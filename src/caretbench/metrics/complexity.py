"""Lines, tokens and cyclomatic complexity of problems, computed as for DevBench's Table 4 (``paper`` profile).

Kept from the released script, to give its numbers: a final line break adds a line; an empty completion has no
lines and no tokens; tokens of every language are Python's (see :mod:`caretbench.metrics.tokens`); complexity
is that of the *prefix* alone, by counting words also in comments and strings, so that ``else if`` counts
twice and ``return`` once. :mod:`caretbench.metrics.code_statistics` measures the same things as they should
be.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from caretbench.metrics.tokens import paper_token_count
from caretbench.syntax.parser import python_module

_WORDS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bif\b", r"\belse\s+if\b|\belif\b", r"\bfor\b", r"\bwhile\b", r"\bcase\b", r"\bcatch\b",
        r"\?", r"&&|\|\|", r"\bbreak\b", r"\bcontinue\b", r"\breturn\b",
    )
)  # fmt: skip

_PYTHON_BRANCHES = (ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.ExceptHandler)


class ProblemStatistics(NamedTuple):
    """Size of one problem, in lines and tokens, and its cyclomatic complexity."""

    prefix_lines: int
    completion_lines: int
    total_lines: int
    prefix_tokens: int
    completion_tokens: int
    total_tokens: int
    cyclomatic: int


def _lines(text: str) -> int:
    return text.count("\n") + 1


def paper_cyclomatic(text: str, language: str) -> int:
    """Return the cyclomatic complexity as the released script counts it, 1 for straight code.

    Python that parses is counted on its syntax tree; all else by searching for words.
    """
    module = python_module(text) if language == "python" else None
    if module is None:
        return 1 + sum(len(word.findall(text)) for word in _WORDS)
    count = 1
    for node in ast.walk(module):
        if isinstance(node, _PYTHON_BRANCHES):
            count += 1
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
    return count


def paper_statistics(prefix: str, completion: str, suffix: str, assertions: str, language: str) -> ProblemStatistics:
    """Return the statistics of one problem that DevBench's Table 4 averages.

    Args:
        prefix: Text before the caret.
        completion: The reference completion.
        suffix: Text after the caret.
        assertions: Hidden assertions; they count in the totals and are joined without a line break.
        language: Name of the language, as the table of languages has it.
    """
    program = prefix + completion + suffix + assertions
    return ProblemStatistics(
        prefix_lines=_lines(prefix),
        completion_lines=_lines(completion) if completion else 0,
        total_lines=_lines(program),
        prefix_tokens=paper_token_count(prefix),
        completion_tokens=paper_token_count(completion) if completion else 0,
        total_tokens=paper_token_count(program),
        cyclomatic=paper_cyclomatic(prefix, language),
    )
