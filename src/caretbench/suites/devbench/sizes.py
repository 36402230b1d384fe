"""Sizes and complexity of problems (the paper's Table 4)."""

from __future__ import annotations

from caretbench.metrics.code_statistics import problem_statistics
from caretbench.metrics.complexity import ProblemStatistics, paper_statistics
from caretbench.problem import Problem


def statistics(problem: Problem, *, as_released: bool) -> ProblemStatistics:
    """Return one problem's statistics; with ``as_released``, of the released texts, as the released script counts."""
    language = problem.caret.language
    if as_released and problem.released:
        prefix, suffix, assertions = (problem.released[name] for name in ("prefix", "suffix", "assertions"))
        return paper_statistics(prefix, problem.reference, suffix, assertions, language)
    caret = problem.caret
    count = paper_statistics if as_released else problem_statistics
    return count(caret.prefix, problem.reference, caret.suffix, problem.hidden_tests, language)
