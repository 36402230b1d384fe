"""Values that the EFCB score counts: problems of a profile, outcomes, coverage, judges without passed controls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from caretbench.problem import Problem, Profile
from caretbench.profiles import PROFILES
from caretbench.suites.efcb.efcb_score import (
    EASY_TASK,
    HALLUCINATION_TASK,
    HARD_TASK,
    MASKED_TASK,
    MAX_JUDGED_SCORE,
    REVERSE_TASK,
    TASKS,
    ProblemOutcome,
)
from caretbench.suites.efcb.options import efcb_profile
from caretbench.suites.efcb.released.released_problems import RELEASE_LABEL
from caretbench.suites.efcb.tables.model_rows import ModelRows

JUDGED_TASKS: Final = (MASKED_TASK, REVERSE_TASK, HALLUCINATION_TASK)
"""Tasks whose values are judgements."""


class ScoreBasis(NamedTuple):
    """Basis of a profile's tables: the problems that the score counts, and whether they are released ones.

    Released problems are counted as published under every profile: they have no other tiers.
    """

    profile: Profile
    counted: Mapping[str, Mapping[str, str]]
    released: bool

    @classmethod
    def of(cls, profile: Profile, problems: Mapping[str, Problem]) -> ScoreBasis:
        """Return the basis of a run's problems under a profile."""
        released = any(RELEASE_LABEL in problem.labels for problem in problems.values())
        return cls(profile, efcb_profile(PROFILES[0] if released else profile).scored_problems, released)

    def labels(self, task: str) -> Mapping[str, str]:
        """Return the labels of the problems of a task that count."""
        return self.counted.get(task, {})


def counted_outcomes(model: ModelRows, basis: ScoreBasis, copied: Mapping[str, float]) -> Iterator[ProblemOutcome]:
    """Yield the values that the score counts; answers without a judgement are missing."""
    for task in TASKS:
        for line in model.select(task, **basis.labels(task)):
            where = (task, str(line["repository"]), str(line["cluster"]))
            if task in (EASY_TASK, HARD_TASK):
                if line["passed"] is not None:
                    yield ProblemOutcome(*where, float(line["passed"]))
            elif (value := line.get("judged")) is not None:
                copying = copied.get(line["problem_id"], MAX_JUDGED_SCORE * float(line.get("floor") or 0.0))
                yield ProblemOutcome(*where, float(value), copying if task == MASKED_TASK else 0.0)


def lowest_coverage(model: ModelRows, basis: ScoreBasis, problems: Mapping[str, Problem]) -> float:
    """Return the share of counted problems that have a value, the lowest of all tasks."""
    shares = []
    for task in TASKS:
        counted = basis.labels(task)
        wanted = sum(
            problem.labels.get("task") == task
            and all(problem.labels.get(name) == value for name, value in counted.items())
            for problem in problems.values()
        )
        value = "passed" if task in (EASY_TASK, HARD_TASK) else "judged"
        there = {line["problem_id"] for line in model.select(task, **counted) if line.get(value) is not None}
        shares += [len(there) / wanted] if wanted else []
    return min(shares, default=0.0)


def failed_judges(model: ModelRows, basis: ScoreBasis) -> dict[str, str]:
    """Return, by counted judged task, the reason why its judge may not enter the score."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for task in JUDGED_TASKS:
        for line in model.select(task, **basis.labels(task)):
            if line.get("judged") is not None and line.get("withheld"):
                found[task][line["withheld"]] = None
    return {task: "; ".join(reasons) for task, reasons in found.items()}
