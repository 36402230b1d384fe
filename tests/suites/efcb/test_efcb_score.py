from __future__ import annotations

import csv
import math
import random
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from caretbench.metrics.intervals import bootstrap_mean, wilson
from caretbench.metrics.skill import skill
from caretbench.suites.efcb.efcb_score import CHANCE_ACCURACY, ProblemOutcome, efcb_score
from caretbench.suites.efcb.problem_metadata import TASKS, EfcbTask

# Averages of Tables 5 to 9, and the score that the paper prints.
AVERAGES = {
    "Llama-3.3-70B": (
        {
            EfcbTask.EASY: 0.803,
            EfcbTask.HARD: 0.476,
            EfcbTask.MASKED: 7.23,
            EfcbTask.REVERSE: 3.74,
            EfcbTask.HALLUCINATION: 0.965,
        },
        0.482,
    ),
    "o4-mini": (
        {
            EfcbTask.EASY: 0.892,
            EfcbTask.HARD: 0.868,
            EfcbTask.MASKED: 7.41,
            EfcbTask.REVERSE: 3.67,
            EfcbTask.HALLUCINATION: 0.946,
        },
        0.584,
    ),
}
TABLES = {
    "table_5": EfcbTask.MASKED,
    "table_6": EfcbTask.EASY,
    "table_7": EfcbTask.HARD,
    "table_8": EfcbTask.REVERSE,
    "table_9": EfcbTask.HALLUCINATION,
}


def scores_of(means: Mapping[str, float], floor: float = 0.0) -> tuple[float, float]:
    """The published and the corrected score of one problem of each task."""
    found = efcb_score([ProblemOutcome(task, "r", "c", value, floor) for task, value in means.items()])
    assert found.published is not None
    assert found.corrected is not None
    return found.published.value, found.corrected.value


@pytest.mark.parametrize("model", AVERAGES)
def test_the_averages_give_the_published_score(model: str) -> None:
    means, score = AVERAGES[model]
    assert round(scores_of(means)[0], 3) == score


def test_table_4_taken_literally_does_not() -> None:
    means = {
        EfcbTask.EASY: 0.803,
        EfcbTask.HARD: 0.476,
        EfcbTask.MASKED: 3.74,
        EfcbTask.REVERSE: 0.965,
        EfcbTask.HALLUCINATION: 7.23,
    }
    assert scores_of(means)[0] == pytest.approx(-0.896, abs=5e-4)


@pytest.mark.parametrize("model", AVERAGES)
def test_the_values_by_repository_give_averages_and_score(test_data: Path, model: str) -> None:
    cells: dict[str, dict[str, float]] = defaultdict(dict)
    with (test_data / "published" / "efcb.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["table"] in TABLES and row["model"] == model:
                cells[TABLES[row["table"]]][row["subset"].rpartition("repo=")[2]] = float(row["value"])
    averages, score = AVERAGES[model]
    outcomes = []
    for task in TASKS:
        printed = cells[task].pop("all")
        assert len(cells[task]) == 6
        assert printed == averages[task]
        assert sum(cells[task].values()) / 6 == pytest.approx(printed, abs=0.0051 if printed > 1 else 0.00084)
        outcomes += [ProblemOutcome(task, name, f"{name}@1", value) for name, value in cells[task].items()]
    found = efcb_score(outcomes, resamples=10)
    assert found.published is not None
    assert round(found.published.value, 3) == score


def test_guessing_and_copying_get_nothing_in_the_corrected_score() -> None:
    means = {
        EfcbTask.EASY: CHANCE_ACCURACY,
        EfcbTask.HARD: CHANCE_ACCURACY,
        EfcbTask.MASKED: 6.0,
        EfcbTask.REVERSE: 0.0,
        EfcbTask.HALLUCINATION: 1.0,
    }
    assert scores_of(means, floor=6.0)[1] == 0.0
    best = {
        EfcbTask.EASY: 1.0,
        EfcbTask.HARD: 1.0,
        EfcbTask.MASKED: 10.0,
        EfcbTask.REVERSE: 10.0,
        EfcbTask.HALLUCINATION: 0.0,
    }
    assert scores_of(best)[1] == 1.0
    means = AVERAGES["o4-mini"][0]
    chosen = [skill(means[EfcbTask.EASY], 0.25), skill(means[EfcbTask.HARD], 0.25)]
    assert scores_of(means, 5.0)[1] == pytest.approx((sum(filter(None, chosen)) + 0.241 + 0.367 + 0.054) / 5)


def outcomes_of(pulls: int, seed: int = 1, repositories: int = 3) -> list[ProblemOutcome]:
    """Values in which the tasks of one pull request rise and fall together."""
    draw = random.Random(seed)  # noqa: S311 - a test
    found = []
    for number in range(pulls):
        skilled = draw.random()
        for task in TASKS:
            if task == EfcbTask.HARD and number % 2:
                continue
            chance = 1 - skilled if task == EfcbTask.HALLUCINATION else skilled
            value = 10 * skilled if task in (EfcbTask.MASKED, EfcbTask.REVERSE) else float(draw.random() < chance)
            found.append(ProblemOutcome(task, f"r{number % repositories}", f"c{number}", value, 2.0))
    return found


def test_macro_weighs_repositories_and_micro_problems() -> None:
    outcomes = [ProblemOutcome(EfcbTask.EASY, "large", f"l{number}", 1.0) for number in range(9)]
    outcomes += [ProblemOutcome(EfcbTask.EASY, "small", "s", 0.0)]
    assert efcb_score(outcomes).tasks[EfcbTask.EASY].value == 0.5
    assert efcb_score(outcomes, weighting="micro").tasks[EfcbTask.EASY].value == 0.9


def test_order_is_irrelevant_and_a_seed_gives_the_same_numbers() -> None:
    outcomes = outcomes_of(60)
    first = efcb_score(outcomes, seed=3, resamples=300)
    random.Random(2).shuffle(outcomes)  # noqa: S311 - a test
    assert efcb_score(outcomes, seed=3, resamples=300) == first
    assert efcb_score(outcomes, seed=4, resamples=300) != first


def test_the_interval_of_one_task_in_one_repository_is_the_house_s() -> None:
    outcomes = [entry for entry in outcomes_of(200, repositories=1) if entry.task == EfcbTask.REVERSE]
    found = efcb_score(outcomes, resamples=4000).tasks[EfcbTask.REVERSE]
    values = [entry.value for entry in outcomes]
    house = bootstrap_mean(values, seed=0, method="percentile", resamples=4000)
    assert found.value == pytest.approx(sum(values) / len(values))
    assert found.interval[:2] == pytest.approx(house[:2], abs=0.1)
    assert (found.problems, found.pull_requests) == (200, 200)


def test_tasks_of_one_pull_request_are_drawn_together() -> None:
    together = outcomes_of(240)
    apart = [entry._replace(cluster=f"{entry.cluster}/{entry.task}") for entry in together]

    def width(outcomes: list[ProblemOutcome]) -> float:
        found = efcb_score(outcomes, resamples=2000).published
        assert found is not None
        return found.interval.high - found.interval.low

    assert width(together) > 1.15 * width(apart)


def test_without_all_tasks_there_is_no_score() -> None:
    found = efcb_score([entry for entry in outcomes_of(40) if entry.task != EfcbTask.HARD], resamples=50)
    assert found.published is None
    assert found.corrected is None
    assert set(found.tasks) == set(TASKS) - {EfcbTask.HARD}


def test_too_little_to_resample_is_said() -> None:
    alone = efcb_score([ProblemOutcome(EfcbTask.EASY, "r", "c", 1.0)]).tasks[EfcbTask.EASY].interval
    assert alone.method == "undefined"
    assert math.isnan(alone.low)
    few = (
        efcb_score([ProblemOutcome(EfcbTask.EASY, "r", f"c{number}", 1.0) for number in range(5)])
        .tasks[EfcbTask.EASY]
        .interval
    )
    assert few.method == "wilson"
    assert few.low < 1.0
    assert "only 5 pull requests" in (few.warning or "")
    two = [ProblemOutcome(EfcbTask.EASY, "r", f"c{number // 2}", float(number % 2)) for number in range(6)]
    half = efcb_score(two).tasks[EfcbTask.EASY].interval  # every pull request has one of two: no draw differs
    assert half[:2] == wilson(1.5, 3)[:2]
    same = efcb_score([ProblemOutcome(EfcbTask.REVERSE, "r", f"c{number}", 1.0) for number in range(50)])
    assert same.tasks[EfcbTask.REVERSE].interval.method == "constant"


@pytest.mark.parametrize(
    "outcome", [ProblemOutcome("gmcq", "r", "c", 1.0), ProblemOutcome(EfcbTask.EASY, "r", "c", math.nan)]
)
def test_what_is_no_value_is_refused(outcome: ProblemOutcome) -> None:
    with pytest.raises(ValueError, match="no value"):
        efcb_score([outcome])
    with pytest.raises(ValueError, match="nothing to"):
        efcb_score([])
