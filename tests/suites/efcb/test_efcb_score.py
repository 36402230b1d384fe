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
from caretbench.suites.efcb.problem_metadata import (
    EASY_TASK,
    HALLUCINATION_TASK,
    HARD_TASK,
    MASKED_TASK,
    REVERSE_TASK,
    TASKS,
)

# Averages of Tables 5 to 9, and the score that the paper prints.
AVERAGES = {
    "Llama-3.3-70B": (
        {EASY_TASK: 0.803, HARD_TASK: 0.476, MASKED_TASK: 7.23, REVERSE_TASK: 3.74, HALLUCINATION_TASK: 0.965},
        0.482,
    ),
    "o4-mini": (
        {EASY_TASK: 0.892, HARD_TASK: 0.868, MASKED_TASK: 7.41, REVERSE_TASK: 3.67, HALLUCINATION_TASK: 0.946},
        0.584,
    ),
}
TABLES = {
    "table_5": MASKED_TASK,
    "table_6": EASY_TASK,
    "table_7": HARD_TASK,
    "table_8": REVERSE_TASK,
    "table_9": HALLUCINATION_TASK,
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
    means = {EASY_TASK: 0.803, HARD_TASK: 0.476, MASKED_TASK: 3.74, REVERSE_TASK: 0.965, HALLUCINATION_TASK: 7.23}
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
        EASY_TASK: CHANCE_ACCURACY,
        HARD_TASK: CHANCE_ACCURACY,
        MASKED_TASK: 6.0,
        REVERSE_TASK: 0.0,
        HALLUCINATION_TASK: 1.0,
    }
    assert scores_of(means, floor=6.0)[1] == 0.0
    best = {EASY_TASK: 1.0, HARD_TASK: 1.0, MASKED_TASK: 10.0, REVERSE_TASK: 10.0, HALLUCINATION_TASK: 0.0}
    assert scores_of(best)[1] == 1.0
    means = AVERAGES["o4-mini"][0]
    chosen = [skill(means[EASY_TASK], 0.25), skill(means[HARD_TASK], 0.25)]
    assert scores_of(means, 5.0)[1] == pytest.approx((sum(filter(None, chosen)) + 0.241 + 0.367 + 0.054) / 5)


def outcomes_of(pulls: int, seed: int = 1, repositories: int = 3) -> list[ProblemOutcome]:
    """Values in which the tasks of one pull request rise and fall together."""
    draw = random.Random(seed)  # noqa: S311 - a test
    found = []
    for number in range(pulls):
        skilled = draw.random()
        for task in TASKS:
            if task == HARD_TASK and number % 2:
                continue
            chance = 1 - skilled if task == HALLUCINATION_TASK else skilled
            value = 10 * skilled if task in (MASKED_TASK, REVERSE_TASK) else float(draw.random() < chance)
            found.append(ProblemOutcome(task, f"r{number % repositories}", f"c{number}", value, 2.0))
    return found


def test_macro_weighs_repositories_and_micro_problems() -> None:
    outcomes = [ProblemOutcome(EASY_TASK, "large", f"l{number}", 1.0) for number in range(9)]
    outcomes += [ProblemOutcome(EASY_TASK, "small", "s", 0.0)]
    assert efcb_score(outcomes).tasks[EASY_TASK].value == 0.5
    assert efcb_score(outcomes, weighting="micro").tasks[EASY_TASK].value == 0.9


def test_order_is_irrelevant_and_a_seed_gives_the_same_numbers() -> None:
    outcomes = outcomes_of(60)
    first = efcb_score(outcomes, seed=3, resamples=300)
    random.Random(2).shuffle(outcomes)  # noqa: S311 - a test
    assert efcb_score(outcomes, seed=3, resamples=300) == first
    assert efcb_score(outcomes, seed=4, resamples=300) != first


def test_the_interval_of_one_task_in_one_repository_is_the_house_s() -> None:
    outcomes = [entry for entry in outcomes_of(200, repositories=1) if entry.task == REVERSE_TASK]
    found = efcb_score(outcomes, resamples=4000).tasks[REVERSE_TASK]
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
    found = efcb_score([entry for entry in outcomes_of(40) if entry.task != HARD_TASK], resamples=50)
    assert found.published is None
    assert found.corrected is None
    assert set(found.tasks) == set(TASKS) - {HARD_TASK}


def test_too_little_to_resample_is_said() -> None:
    alone = efcb_score([ProblemOutcome(EASY_TASK, "r", "c", 1.0)]).tasks[EASY_TASK].interval
    assert alone.method == "undefined"
    assert math.isnan(alone.low)
    few = (
        efcb_score([ProblemOutcome(EASY_TASK, "r", f"c{number}", 1.0) for number in range(5)]).tasks[EASY_TASK].interval
    )
    assert few.method == "wilson"
    assert few.low < 1.0
    assert few.warning == "only 5 pull requests: the interval may be too narrow"
    two = [ProblemOutcome(EASY_TASK, "r", f"c{number // 2}", float(number % 2)) for number in range(6)]
    half = efcb_score(two).tasks[EASY_TASK].interval  # every pull request has one of two: no draw differs
    assert half[:2] == wilson(1.5, 3)[:2]
    same = efcb_score([ProblemOutcome(REVERSE_TASK, "r", f"c{number}", 1.0) for number in range(50)])
    assert same.tasks[REVERSE_TASK].interval.method == "constant"


@pytest.mark.parametrize(
    "outcome", [ProblemOutcome("gmcq", "r", "c", 1.0), ProblemOutcome(EASY_TASK, "r", "c", math.nan)]
)
def test_what_is_no_value_is_refused(outcome: ProblemOutcome) -> None:
    with pytest.raises(ValueError, match="no value of a task"):
        efcb_score([outcome])
    with pytest.raises(ValueError, match="nothing to score"):
        efcb_score([])
