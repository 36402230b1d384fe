"""Comparison of a sibling with its original: the same shape, other words."""

from __future__ import annotations

import re
from typing import Final

from caretbench.metrics.text_overlap import bag_overlap
from caretbench.problem import Problem
from caretbench.suites.devbench.build.instance_rules.pattern_examples import tree_shape
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView

LEAST_SHAPE: Final = 0.85
"""Least overlap (F1) of the tree shapes of a sibling and its original; others of a cell have at most 0.78."""
MOST_WORDS: Final = 0.6
"""Largest share of words in common (Jaccard); others of a cell have at most 0.37, a copy has 1."""


def sibling_fault(original: Problem, sibling: Problem) -> str:
    """Return why a problem is no sibling of another: another shape, or the same words; empty if it is one."""
    first, second = ProgramView.of(original), ProgramView.of(sibling)
    shapes = (tree_shape(view.tree.root_node) for view in (first, second))
    shape = bag_overlap(*(one.elements() for one in shapes)).f1
    if shape < LEAST_SHAPE:
        return (
            f"it has not the shape of the original: {shape:.2f} of the syntax tree in common, at least {LEAST_SHAPE} "
            "required; keep statements and calls, change names, values and texts"
        )
    words, others = (set(re.findall(r"\w\w+", view.shown.lower())) for view in (first, second))
    share = len(words & others) / max(1, len(words | others))
    if share > MOST_WORDS:
        return f"it has {share:.0%} of its words in common with the original, at most {MOST_WORDS:.0%} allowed"
    return ""
