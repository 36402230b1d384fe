"""Sizes and complexity of the problems (Table 4), as the profile counts them."""

from __future__ import annotations

from caretbench.metrics.code_statistics import problem_statistics
from caretbench.metrics.complexity import ProblemStatistics, paper_statistics
from caretbench.problem import InlineSplice, Problem, Profile


def statistics(problem: Problem, profile: Profile) -> ProblemStatistics:
    """One problem's statistics: ``paper`` counts the released texts as the released script does."""
    language = problem.caret.language
    if profile == "paper" and problem.released:
        prefix, suffix, assertions = (problem.released[name] for name in ("prefix", "suffix", "assertions"))
        return paper_statistics(prefix, problem.reference, suffix, assertions, language)
    suffix = problem.caret.suffix
    hidden = problem.splice.after.removeprefix(suffix) if isinstance(problem.splice, InlineSplice) else ""
    count = paper_statistics if profile == "paper" else problem_statistics
    return count(problem.caret.prefix, problem.reference, suffix, hidden, language)
