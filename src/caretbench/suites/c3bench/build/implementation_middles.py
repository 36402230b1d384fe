"""Middles of functions for ICC: which of those with equivalent implementations are used."""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Iterator, Sequence

from caretbench.files import sha256_text
from caretbench.suites.c3bench.build.build_types import Extraction, ImplementationContext, Reject
from caretbench.suites.c3bench.checked_functions import CheckedFunction
from caretbench.suites.c3bench.implementations.equivalents import EquivalentContext, equivalent_contexts
from caretbench.syntax.parser import python_module

LINE_SHARE = 0.3
"""Share of middles that are runs of lines; the others are nodes of the syntax tree."""

LINES = range(3, 6)
"""Number of lines of a run."""


def implementation_middles(
    function: CheckedFunction, max_share: float, per_function: int, seed: int
) -> tuple[list[ImplementationContext], list[Reject]]:
    """Return the chosen middles of a function, and the reasons why the others are not used.

    Middles of a function do not overlap. Three of ten functions prefer a run of lines to a node.

    Args:
        function: Function with tests.
        max_share: Maximum length of a middle, as a share of the text around it.
        per_function: Maximum number of middles.
        seed: Random seed.
    """
    found = equivalent_contexts(function.text, function.entry_point, math.inf)
    if not found:
        return [], [_reject(function.id, "no_rewrite", "no middle with an equivalent implementation")]
    rejects = []
    usable: list[ImplementationContext] = []
    long = odd = 0
    for one in found:
        length = one.end - one.start
        kind = _extraction(function, one)
        if length > max_share * (len(function.text) - length):
            long += 1
        elif kind is None:
            odd += 1
        else:
            usable.append(ImplementationContext(function, one.start, one.end, kind, one.equivalents))
    if long:
        rejects.append(_reject(function.id, "long", f"longer than {max_share:.0%} of the text around it", long))
    if odd:
        rejects.append(_reject(function.id, "no_unit", "neither a node nor a run of 3 to 5 lines", odd))
    chosen = _chosen(usable, per_function, _prefers_lines(function.id, seed))
    if len(chosen) < len(usable):
        detail = f"overlaps another middle, or the function has {per_function} already"
        rejects.append(_reject(function.id, "not_needed", detail, len(usable) - len(chosen)))
    return chosen, rejects


def _reject(place: str, reason: str, detail: str, count: int = 1) -> Reject:
    return Reject(stage="middle", place=place, reason=reason, detail=detail, count=count)


def _prefers_lines(name: str, seed: int) -> bool:
    return int(sha256_text(str(seed), "extraction", name)[:8], 16) < LINE_SHARE * 16**8


def _chosen(
    usable: Sequence[ImplementationContext], per_function: int, lines_first: bool
) -> list[ImplementationContext]:
    """Return middles that do not overlap: by preferred kind, then those with the most implementations."""
    preferred: Extraction = "lines" if lines_first else "node"
    ordered = sorted(usable, key=lambda one: (one.extraction != preferred, -len(one.equivalents), one.start, one.end))
    found: list[ImplementationContext] = []
    for one in ordered:
        if len(found) < per_function and not any(one.start < each.end and each.start < one.end for each in found):
            found.append(one)
    return found


def _extraction(function: CheckedFunction, context: EquivalentContext) -> Extraction | None:
    """Return the unit of a middle: a statement, block or whole body; a run of lines; None for another run."""
    text = function.text[context.start : context.end]
    module = python_module(textwrap.dedent(text))
    if module is None:
        return None
    lines = sum(1 for line in text.split("\n") if line.strip())
    if len(module.body) == 1 or len(module.body) in _body_lengths(function):
        return "node"
    return "lines" if lines in LINES else None


def _body_lengths(function: CheckedFunction) -> Iterator[int]:
    """Yield the number of statements of the function's body, without its docstring."""
    module = python_module(function.text)
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.FunctionDef) and node.name == function.entry_point:
            documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
            yield len(node.body) - int(documented)
