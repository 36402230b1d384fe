"""Similarity of a completion to the reference, as the profile wants it."""

from __future__ import annotations

from caretbench.metrics.similarity import paper_line0, similarities
from caretbench.problem import Problem, Profile
from caretbench.suites.values import Measurement

SCORER = "similarity@1"


def similarity(problem: Problem, text: str | None, profile: Profile) -> Measurement:
    """Under ``paper`` the first lines are compared, as released; under ``default`` the full texts."""
    if profile == "paper":
        return Measurement(SCORER, paper_line0(text, problem.reference)._asdict())
    return Measurement(SCORER, similarities([(text, problem.reference)])[0]._asdict())
