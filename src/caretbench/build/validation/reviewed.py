"""Results of a review by people, for builders: problems that people rejected are dropped from a build.

The review room writes such rows (``settled.jsonl``, and the rejected ones among them as ``rejections.jsonl``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field

from caretbench.errors import DataError
from caretbench.files import read_rows, sha256_text
from caretbench.problem import Caret, Problem, Row

REJECTED: Final = "reject"
"""Value of a rejected problem, in every protocol that rejects."""

SETTLED_NAME: Final = "settled.jsonl"
"""Name of the file in an export of a review."""

_DROPPED_STATES: Final = frozenset({"no_majority"})
"""States of problems that are dropped although nobody's answer holds."""


class ReviewedProblem(Row):
    """Settled result of one item of a review.

    ``value`` answers the question of the settlement, ``means`` are over people by scale. ``problem_hash`` is that of
    the problem's texts: a result about other texts does not count.
    """

    item: str
    problem_id: str
    suite: str
    problem_hash: str = ""
    state: str
    value: int | str | None
    means: Mapping[str, float] = Field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ReviewedProblems(NamedTuple):
    """Problems that people keep, the reasons of dropped ones by id, and lines about the review."""

    kept: list[Problem]
    dropped: Mapping[str, str]
    lines: tuple[str, ...]


def problem_hash(problem: Problem) -> str:
    """Return the hash of the texts of a problem that people review, hidden tests included."""
    shown = problem.shown
    if isinstance(shown, Caret):
        tests = (problem.hidden_tests,) if problem.hidden_tests else ()
        return sha256_text(shown.prefix, problem.reference, shown.suffix, shown.instruction or "", *tests)
    return sha256_text(shown.text, *shown.choices, problem.reference)


def reviewed_problems(path: Path, problems: Sequence[Problem]) -> ReviewedProblems:
    """Return the problems without those that a review rejected, or about which it found no majority.

    Args:
        path: ``settled.jsonl`` or ``rejections.jsonl`` of a review's export, or the folder of the export.
        problems: Problems of a build.

    Raises:
        DataError: the file is missing, or a row does not fit.
    """
    file = path / SETTLED_NAME if path.is_dir() else path
    if not file.exists():
        raise DataError(f"{file}: no such file; `caretbench review export` writes it")
    rows = {row.problem_id: row for row in read_rows(file, ReviewedProblem)}
    dropped: dict[str, str] = {}
    settled = other_text = 0
    for problem in problems:
        row = rows.get(problem.id)
        if row is None:
            continue
        # People judged another text under this id: a build with new options numbers its problems anew.
        if row.problem_hash != problem_hash(problem):
            other_text += 1
        elif row.value == REJECTED or row.state in _DROPPED_STATES:
            dropped[problem.id] = "; ".join((*row.reasons, *row.notes)) or row.state.replace("_", " ")
            settled += 1
        else:
            settled += row.value is not None
    lines = [f"{file}: people decided {settled} of {len(problems)} problems; {len(dropped)} are dropped"]
    if other_text:
        lines.append(f"{file}: {other_text} results are about other texts and do not count")
    return ReviewedProblems([problem for problem in problems if problem.id not in dropped], dropped, tuple(lines))
