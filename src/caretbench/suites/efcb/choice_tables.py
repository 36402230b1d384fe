"""What was chosen: accuracy by tier, beside chance and what words alone find."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from caretbench.metrics.intervals import mean_interval
from caretbench.metrics.skill import skill
from caretbench.problem import Problem, Profile
from caretbench.suites.base import Table
from caretbench.suites.baselines import NAMES
from caretbench.suites.efcb.efcb_score import EASY, HARD
from caretbench.suites.efcb.model_lines import NOTHING, TITLES, Line, ModelLines, mean_text

Part = tuple[str, str, str]
"""Task, tier, and the text that asks."""


def choice_tables(
    models: Sequence[ModelLines], profile: Profile, problems: Iterable[Problem], seed: int = 0
) -> Iterator[Table]:
    """Choices by tier: accuracy, what could not be read, and skill above what words alone find.

    Args:
        models: The lines of a run.
        profile: Under which they were scored.
        problems: All of the run: who cannot be asked some of them has no line there.
        seed: Of the resampling.
    """
    there = Counter(_part_of(problem.labels) for problem in problems)
    words = {
        line["problem_id"]: bool(line["passed"])
        for model in models
        if model.name == "lexical"
        for line in (*model.of(EASY), *model.of(HARD))
        if line["passed"] is not None
    }
    rows = [
        _row(model, part, _lines(model, part), there[part], words, seed)
        for model in models
        for part in sorted(part for part in there if part[0] in (EASY, HARD))
        if model.name not in NAMES or _lines(model, part)
    ]
    if rows:
        yield Table(
            "efcb-choices",
            f"Choices by tier, and above what needs no understanding ({profile} profile)",
            (
                "Model",
                "Tier",
                "Query",
                "Problems",
                "Coverage",
                "Accuracy",
                "No letter",
                "Above chance",
                "Above words",
                "Consistent",
            ),
            tuple(rows),
            (
                "Problems: those with an answer. Coverage: their share of all; below 98 % believe no number beside it. "
                "Below an accuracy stands its 95 % interval by pull request. "
                "Above chance: (accuracy - 0.25) / 0.75. Above words: the same above the baseline `lexical`, which "
                "takes the choice whose words are most like the question's, over the same problems. Consistent: the "
                "share of questions that are answered rightly in all orders of the choices or in none, where a build "
                "has several.",
            ),
        )


def _row(
    model: ModelLines, part: Part, lines: Sequence[Line], problems: int, words: Mapping[str, bool], seed: int
) -> tuple[str, ...]:
    answered = {line["problem_id"] for line in lines}
    accuracy = _accuracy(lines)
    lexical = [words[identity] for identity in answered if identity in words]
    return (
        model.name,
        f"{TITLES[part[0]]} {part[1]}".strip(),
        part[2].replace("_", " "),
        str(len(answered)),
        f"{100 * len(answered) / problems:.1f}%",
        _accuracy_text(lines, seed) if lines else NOTHING,
        mean_text((float(line.get("invalid") or 0.0) for line in lines), 3),
        _skill(accuracy, 0.25) if lines else NOTHING,
        _skill(accuracy, sum(lexical) / len(lexical) if lexical else None),
        _consistency(lines),
    )


def _part_of(labels: Mapping[str, Any]) -> Part:
    return (str(labels["task"]), str(labels.get("tier") or ""), str(labels.get("query") or ""))


def _lines(model: ModelLines, part: Part) -> list[Line]:
    return [line for line in model.of(part[0]) if _part_of(line) == part and line["passed"] is not None]


def _accuracy(lines: Sequence[Line]) -> float:
    return sum(bool(line["passed"]) for line in lines) / len(lines) if lines else float("nan")


def _accuracy_text(lines: Sequence[Line], seed: int) -> str:
    """With its interval below it: several tiers and orders are made of one pull request."""
    values = [float(bool(line["passed"])) for line in lines]
    interval = mean_interval(values, seed=seed, clusters=[str(line["cluster"]) for line in lines])
    value = f"{_accuracy(lines):.3f}"
    return value if math.isnan(interval.low) else f"{value}\n{interval.low:.3f} to {interval.high:.3f}"


def _skill(accuracy: float, floor: float | None) -> str:
    found = None if floor is None else skill(accuracy, floor)
    return NOTHING if found is None else f"{found:.3f}" if found >= -1 else "< -1"


def _consistency(lines: Sequence[Line]) -> str:
    """Of questions that were asked in several orders, the share whose answers are all right or all wrong alike."""
    by_question: dict[tuple[str, int], list[bool]] = defaultdict(list)
    for line in lines:
        by_question[str(line["cluster"]), int(line["sample"])].append(bool(line["passed"]))
    several = [found for found in by_question.values() if len(found) > 1]
    return mean_text((float(all(found) or not any(found)) for found in several), 3)
