"""What was chosen: accuracy by tier, beside chance and what words alone find."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from caretbench.metrics.skill import skill
from caretbench.problem import Profile
from caretbench.suites.base import Table
from caretbench.suites.efcb.efcb_score import EASY, HARD
from caretbench.suites.efcb.model_lines import NOTHING, TITLES, Line, ModelLines, mean_text


def choice_tables(models: Sequence[ModelLines], profile: Profile) -> Iterator[Table]:
    """Choices by tier: accuracy, what could not be read, and skill above what words alone find."""
    parts = sorted(
        {
            (str(line["task"]), str(line.get("tier") or ""), str(line.get("query") or ""))
            for model in models
            for task in (EASY, HARD)
            for line in model.of(task)
        }
    )
    floors = {
        part: _accuracy(_part(model, part)) for part in parts for model in models if model.name == "lexical"
    }
    rows = [
        (
            model.name,
            f"{TITLES[part[0]]} {part[1]}".strip(),
            part[2].replace("_", " "),
            str(len({line["problem_id"] for line in lines})),
            f"{_accuracy(lines):.3f}",
            mean_text((float(line.get("invalid") or 0.0) for line in lines), 3),
            _skill(_accuracy(lines), 0.25),
            _skill(_accuracy(lines), floors.get(part)),
            _consistency(lines),
        )
        for model in models
        for part in parts
        if (lines := _part(model, part))
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
                "Accuracy",
                "No letter",
                "Above chance",
                "Above words",
                "Consistent",
            ),
            tuple(rows),
            (
                "Above chance: (accuracy - 0.25) / 0.75. Above words: the same above the baseline `lexical`, which "
                "takes the choice whose words are most like the question's. Consistent: the share of questions that "
                "are answered rightly in all orders of the choices or in none, where a build has several.",
            ),
        )


def _part(model: ModelLines, part: tuple[str, str, str]) -> list[Line]:
    return [
        line
        for line in model.of(part[0])
        if (str(line.get("tier") or ""), str(line.get("query") or "")) == part[1:]
        and line["passed"] is not None
    ]


def _accuracy(lines: Sequence[Line]) -> float:
    return sum(bool(line["passed"]) for line in lines) / len(lines) if lines else float("nan")


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
