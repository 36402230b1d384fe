"""Tables of EFCB's choices: accuracy by tier with its floors, and what a text adds to answers without it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from caretbench.grouping import grouped
from caretbench.metrics.intervals import Interval, mean_interval
from caretbench.metrics.skill import skill, skill_interval
from caretbench.problem import Problem, Profile
from caretbench.suites.efcb.baselines import BASELINES
from caretbench.suites.efcb.choices import CHOICE_SET_LABEL
from caretbench.suites.efcb.efcb_score import MAX_BLIND, MAX_JUDGED_SCORE
from caretbench.suites.efcb.lexical_similarity import MIN_QUESTIONS, best_floor, floor_credits
from caretbench.suites.efcb.problem_metadata import TASK_TITLES, EfcbTask
from caretbench.suites.efcb.tables.score_basis import NO_VALUE, ModelRows, ResultRow, blind_values, format_mean
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK, Table

QuestionGroup = tuple[str, str, str]
"""Task, tier and query variant."""

_BLIND: Final = "blind answers"

_CHOICE_HEADS: Final = (
    "Model", "Tier", "Above best floor", "Best floor", "Query", "Problems", "Coverage", "Accuracy", "No letter",
    "Above chance", "Consistent", "Leak test",
)  # fmt: skip


def choice_tables(
    models: Sequence[ModelRows], profile: Profile, problems: Iterable[Problem], seed: int = 0
) -> Iterator[Table]:
    """Yield the accuracy of choices by tier, unparsed answers, and skill above word attacks.

    Models that cannot be sent some of the run's problems have no row for them.
    """
    known = list(problems)
    there = Counter(_part_of(problem.labels) for problem in known)
    asked = Counter(_part_of(problem.labels) for problem in known if not problem.labels.get("rotation"))
    floors = floor_credits(known)
    rows = [
        _choice_row(model, part, _question_rows(model, part), (there[part], asked[part]), floors, seed)
        for model in models
        for part in sorted(part for part in there if part[0] in (EfcbTask.EASY, EfcbTask.HARD))
        # Baselines such as `copy` answer no choices, and a line of dashes for each would hide the models.
        if model.name not in BASELINES or _question_rows(model, part)
    ]
    if rows:
        yield Table(
            "efcb-choices",
            f"Choices by tier, and above what needs no understanding ({profile} profile)",
            _CHOICE_HEADS,
            tuple(rows),
            (
                "The headline of a tier is its skill above the best floor, (accuracy - floor) / (1 - floor), over the "
                "same problems: what understanding adds to the better of TF-IDF and "
                "n-grams of the question; of GMCQ-Hard the model's own answers without the text, where there are any. "
                "Below it and below the accuracy are 95 % intervals; they resample pull requests, and sets of four "
                "where questions share their choices.",
                "Problems: those with an answer. Coverage: their share of all; below 98 % believe no number next to "
                "it. Above chance: (accuracy - 0.25) / 0.75. Consistent: the share of questions that are answered "
                "rightly in all orders of the choices or in none, where a build has several. Leak test: whether the "
                f"tier has the {MIN_QUESTIONS} questions that show what attacks find without the text.",
            ),
        )


def _choice_row(
    model: ModelRows,
    part: QuestionGroup,
    lines: Sequence[ResultRow],
    sizes: tuple[int, int],
    floors: Mapping[str, Mapping[str, float]],
    seed: int,
) -> tuple[str, ...]:
    problems, questions = sizes
    answered = sorted({str(line["problem_id"]) for line in lines})
    best = best_floor(floors, answered)
    blind = blind_values(model) if part[:2] == (EfcbTask.HARD, "") else {}
    if blind and blind.keys() >= set(answered):
        # GMCQ-Hard is answered from its choices alone more often than from its words.
        floors, best = {**floors, _BLIND: blind}, _BLIND
    return (
        model.name,
        f"{TASK_TITLES[part[0]]} {part[1]}".strip(),
        _above(lines, floors[best], seed, blind=best == _BLIND) if best else NO_VALUE,
        f"{best}\n{sum(floors[best][one] for one in answered) / len(answered):.3f}" if best else NO_VALUE,
        part[2].replace("_", " "),
        str(len(answered)),
        f"{100 * len(answered) / problems:.1f}%",
        _accuracy_text(lines, seed) if lines else NO_VALUE,
        format_mean((float(line.get("invalid") or 0.0) for line in lines), 3),
        _skill(_accuracy(lines), 0.25) if lines else NO_VALUE,
        _consistency(lines),
        "tested" if questions >= MIN_QUESTIONS else f"too small to test ({questions})",
    )


_BLIND_HEADS: Final = ("Model", "Questions", "Problems", "With the text", "Blind", "Above blind")


def blind_tables(models: Sequence[ModelRows], profile: Profile, seed: int) -> Iterator[Table]:
    """Yield the skill of models above their own answers without the text, by task and tier."""
    rows = [row for model in models if model.blind_rows for row in _blind_rows(model, seed)]
    if rows:
        yield Table(
            "efcb-blind",
            f"Above the model's own answers without the text ({profile} profile)",
            _BLIND_HEADS,
            tuple(rows),
            (
                "Above blind: (value - blind) / (1 - blind) over the problems that were asked in both ways, with its "
                "95 % interval: the headline of GMCQ-Hard and MPR-Gen. From a blind value of "
                f"{MAX_BLIND} no skill is stated: the questions are answered without their text.",
                f"{FAILED_CONTROLS_MARK}: a judge did not pass its controls.",
            ),
        )


def _blind_rows(model: ModelRows, seed: int) -> Iterator[tuple[str, ...]]:
    ways = {
        "": ("passed", 1.0),
        ", judged": ("judged", MAX_JUDGED_SCORE),
        ", edit similarity": ("edit_similarity", 1.0),
    }
    for words, (name, maximum) in ways.items():
        blind = blind_values(model, name)
        parts: dict[QuestionGroup, list[ResultRow]] = defaultdict(list)
        for line in model.rows:
            chosen = line["task"] in (EfcbTask.EASY, EfcbTask.HARD)
            wanted = chosen if name == "passed" else line["task"] == EfcbTask.MASKED
            if wanted and line.get(name) is not None and line["problem_id"] in blind:
                parts[_part_of(line)].append(line)
        for part, lines in sorted(parts.items()):
            scores = [float(line[name]) / maximum for line in lines]
            floors = [blind[line["problem_id"]] / maximum for line in lines]
            value, floor = sum(scores) / len(scores), sum(floors) / len(floors)
            mark = f" {FAILED_CONTROLS_MARK}" if name == "judged" and any(one.get("withheld") for one in lines) else ""
            interval = skill_interval(scores, floors, _clusters(lines), seed=seed)
            yield (
                model.name,
                f"{TASK_TITLES[part[0]]} {part[1]}".strip() + words,
                str(len({line["problem_id"] for line in lines})),
                f"{value:.3f}{mark}",
                f"{floor:.3f}{mark}",
                answered_blind(floor) if floor >= MAX_BLIND else _spread(f"{_skill(value, floor)}{mark}", interval),
            )


def answered_blind(blind: float) -> str:
    """Return the words for questions that are answered without their text, ``(blind .98)`` behind them."""
    return f"answered without its text (blind {f'{blind:.2f}'.removeprefix('0')})"


def _above(lines: Sequence[ResultRow], floors: Mapping[str, float], seed: int, *, blind: bool) -> str:
    """Return the skill above a floor, with its interval in the next line."""
    scores = [float(bool(line["passed"])) for line in lines]
    floor = [floors[str(line["problem_id"])] for line in lines]
    if blind and sum(floor) >= MAX_BLIND * len(floor):
        return answered_blind(sum(floor) / len(floor))
    value = _skill(sum(scores) / len(scores), sum(floor) / len(floor))
    return value if value == NO_VALUE else _spread(value, skill_interval(scores, floor, _clusters(lines), seed=seed))


def _spread(value: str, interval: Interval) -> str:
    """Return a number, with its interval in the next line if there is one."""
    return value if math.isnan(interval.low) else f"{value}\n{interval.low:.3f} to {interval.high:.3f}"


def _clusters(lines: Sequence[ResultRow]) -> list[str]:
    """Return the cluster of each row: the set of its choices, else its pull request."""
    # The four questions of a set share their choices, so their answers depend on each other.
    return [str(line.get(CHOICE_SET_LABEL) or line["cluster"]) for line in lines]


def _part_of(labels: Mapping[str, Any]) -> QuestionGroup:
    return (str(labels["task"]), str(labels.get("tier") or ""), str(labels.get("query") or ""))


def _question_rows(model: ModelRows, part: QuestionGroup) -> list[ResultRow]:
    return [line for line in model.select(part[0]) if _part_of(line) == part and line["passed"] is not None]


def _accuracy(lines: Sequence[ResultRow]) -> float:
    return sum(bool(line["passed"]) for line in lines) / len(lines) if lines else float("nan")


def _accuracy_text(lines: Sequence[ResultRow], seed: int) -> str:
    """Return the accuracy with its interval, clustered by pull request or set of choices."""
    values = [float(bool(line["passed"])) for line in lines]
    return _spread(f"{_accuracy(lines):.3f}", mean_interval(values, seed=seed, clusters=_clusters(lines)))


def _skill(accuracy: float, floor: float | None) -> str:
    value = None if floor is None else skill(accuracy, floor)
    # Above a floor of .95 a model that is always wrong has a skill of -19.
    return NO_VALUE if value is None else f"{value:.3f}" if value >= -1 else "< -1"


def _consistency(lines: Sequence[ResultRow]) -> str:
    """Return the share of questions in several orders whose answers are all right or all wrong."""
    by_question = grouped(((str(line["cluster"]), int(line["sample"])), bool(line["passed"])) for line in lines)
    # Questions that are asked in one order say nothing about consistency.
    several = [passed for passed in by_question.values() if len(passed) > 1]
    return format_mean((float(all(passed) or not any(passed)) for passed in several), 3)
