"""The EFCB score and the paper's tables of results, in form, with what they need to be read rightly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from caretbench.metrics.skill import skill
from caretbench.problem import Problem, Profile
from caretbench.suites.base import Table
from caretbench.suites.baselines import NAMES
from caretbench.suites.efcb.efcb_score import (
    EASY,
    HALLUCINATION,
    HARD,
    JUDGED_MAXIMUM,
    MASKED,
    REVERSE,
    TASKS,
    EfcbScore,
    Estimate,
    Outcome,
    efcb_score,
)

if TYPE_CHECKING:
    import polars as pl

TITLES: Final[Mapping[str, str]] = {
    EASY: "GMCQ-Easy", HARD: "GMCQ-Hard", MASKED: "MPR-Gen", REVERSE: "Reverse-QA", HALLUCINATION: "Reverse-QA-Hallu",
}  # fmt: skip
_NUMBERS: Final = {MASKED: 5, EASY: 6, HARD: 7, REVERSE: 8, HALLUCINATION: 9}
COUNTED: Final[Mapping[Profile, Mapping[str, Mapping[str, str]]]] = {
    "paper": {EASY: {"tier": "random", "query": "description_only"}, HARD: {"query": "description_only"}},
    "default": {EASY: {"tier": "matched"}, MASKED: {"tier": "added"}},
}
"""Which problems of a task the score counts, by label. What ``paper`` counts is what was released."""

_NOTHING: Final = "-"
_RESAMPLES: Final = 2000
_MEASURES: Final[Mapping[str, Mapping[str, str]]] = {
    MASKED: {
        "exact_match": "Exact", "edit_similarity": "Edit similarity", "floor": "Copying", "net": "Above copying",
        "identifier_f1": "Identifier F1", "chrf": "chrF", "syntax_valid": "Parses", "answered": "Answered",
    },
    REVERSE: {
        "rouge_l": "ROUGE-L", "chrf": "chrF", "title_rouge_l": "Title ROUGE-L", "patch_word_f1": "Patch words F1",
        "content_recall": "Recall", "recall_ceiling": "Its ceiling", "normalised_recall": "Recall of ceiling",
        "answered": "Answered",
    },
    HALLUCINATION: {
        "names_unsupported": "Names something that stands nowhere", "unsupported_share": "Share of what is named",
        "mentions": "Things named", "answered": "Answered",
    },
}  # fmt: skip

Line = Mapping[str, Any]


class _Model(NamedTuple):
    """One model's lines of one profile, each with the labels of its problem."""

    name: str
    lines: tuple[Line, ...]

    def of(self, task: str, **labels: str) -> list[Line]:
        """The lines of a task with these labels."""
        return [
            line
            for line in self.lines
            if line["task"] == task and all(line.get(name) == value for name, value in labels.items())
        ]


def result_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """The tables of a run; profiles apart. See :class:`caretbench.suites.base.GivesResultTables`."""
    found: list[Table] = []
    profiles: tuple[Profile, ...] = ("paper", "default")
    for profile in profiles:
        models = list(_models(results, problems, profile))
        if models:
            found += _tables(models, profile, seed)
    return tuple(found)


def _models(results: pl.DataFrame, problems: Mapping[str, Problem], profile: str) -> Iterator[_Model]:
    by_model: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for row in results.iter_rows(named=True):
        if row["profile"] == profile:
            problem = problems[row["problem_id"]]
            labels = {
                name: value for name, value in problem.labels.items() if name not in row or row[name] is None
            }
            by_model[row["model"], row["parameters"]].append({**row, **labels})
    several = {name for name, _ in by_model if sum(name == other for other, _ in by_model) > 1}
    order = sorted(by_model, key=lambda key: (NAMES.index(key[0]) + 1 if key[0] in NAMES else 0, key))
    for name, parameters in order:
        title = f"{name} ({parameters[:8]})" if name in several else name
        yield _Model(title, tuple(by_model[name, parameters]))


def _tables(models: Sequence[_Model], profile: Profile, seed: int) -> Iterator[Table]:
    copied = {
        line["problem_id"]: line["judged"]
        for model in models
        if model.name == "copy"
        for line in model.of(MASKED)
        if line.get("judged") is not None
    }
    outcomes = {model.name: list(_outcomes(model, profile, copied)) for model in models}
    scores = {
        name: [
            efcb_score(found, weighting=way, seed=seed, resamples=_RESAMPLES) for way in ("macro", "micro")
        ]
        for name, found in outcomes.items()
        if found
    }
    if scores:
        yield _score_table(scores, profile)
    for task in TASKS:
        table = _by_repository(task, outcomes, scores, profile)
        if table is not None:
            yield table
    yield from _choices(models, profile)
    for task, measures in _MEASURES.items():
        table = _measured(task, measures, models, profile)
        if table is not None:
            yield table


def _outcomes(model: _Model, profile: Profile, copied: Mapping[str, float]) -> Iterator[Outcome]:
    """The values that the score counts; what is not judged is left out."""
    for task in TASKS:
        for line in model.of(task, **COUNTED[profile].get(task, {})):
            where = (task, str(line["repository"]), str(line["cluster"]))
            if task in (EASY, HARD):
                if line["passed"] is not None:
                    yield Outcome(*where, float(line["passed"]))
            elif (value := line.get("judged")) is not None:
                copying = copied.get(line["problem_id"], JUDGED_MAXIMUM * float(line.get("floor") or 0.0))
                yield Outcome(*where, float(value), copying if task == MASKED else 0.0)


def _score_table(scores: Mapping[str, Sequence[EfcbScore]], profile: Profile) -> Table:
    rows = [
        (
            name,
            f"{score.weighting}",
            *(_estimate(score.tasks.get(task), task) for task in TASKS),
            _estimate(score.published, ""),
            _estimate(score.corrected, ""),
        )
        for name, both in scores.items()
        for score in both
    ]
    counted = "; ".join(
        f"{TITLES[task]}: {', '.join(labels.values()).replace('_', ' ')}"
        for task, labels in COUNTED[profile].items()
    )
    return Table(
        "efcb-score",
        f"The EFCB score ({profile} profile; the paper's Table 4, in form)",
        ("Model", "Mean", *TITLES.values(), "EFCB score", "Chance-corrected"),
        tuple(rows),
        (
            "Macro: the mean over repositories, as published; micro: over all problems. Intervals resample pull "
            "requests.",
            f"What is counted: {counted}; of other tasks everything.",
            "MPR-Gen and Reverse-QA are judges' means from 0 to 10, hallucination is bad; no judge was validated "
            "against people unless the section on judges says so. Without a grader the score is not known.",
            "Chance-corrected: choices as skill above guessing, MPR-Gen net of copying.",
        ),
    )


def _estimate(estimate: Estimate | None, task: str) -> str:
    if estimate is None:
        return _NOTHING
    digits = 2 if task in (MASKED, REVERSE) else 3
    interval = estimate.interval
    value = f"{estimate.value:.{digits}f}"
    if interval.method == "undefined":
        return value
    return f"{value}\n{interval.low:.{digits}f} to {interval.high:.{digits}f}"


def _by_repository(
    task: str,
    outcomes: Mapping[str, Sequence[Outcome]],
    scores: Mapping[str, Sequence[EfcbScore]],
    profile: Profile,
) -> Table | None:
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, found in outcomes.items():
        for outcome in found:
            if outcome.task == task:
                values[name][outcome.repository].append(outcome.value)
    if not values:
        return None
    repositories = sorted({repository for by_one in values.values() for repository in by_one})
    digits = 2 if task in (MASKED, REVERSE) else 3
    rows = tuple(
        (
            name,
            *(_mean(by_one.get(repository, ()), digits, counted=True) for repository in repositories),
            _estimate(scores[name][0].tasks.get(task), task),
        )
        for name, by_one in values.items()
    )
    bad = "; 1 is bad" if task == HALLUCINATION else ""
    return Table(
        f"efcb-{task}",
        f"{TITLES[task]} by repository ({profile} profile; the paper's Table {_NUMBERS[task]}, in form{bad})",
        ("Model", *repositories, "Average"),
        rows,
        ("The average is over repositories; below it stands its interval by pull request.",),
    )


def _mean(values: Iterable[float], digits: int, *, counted: bool = False) -> str:
    known = list(values)
    if not known:
        return _NOTHING
    note = f"\nn = {len(known)}" if counted else ""
    return f"{sum(known) / len(known):.{digits}f}{note}"


def _choices(models: Sequence[_Model], profile: Profile) -> Iterator[Table]:
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
            _mean((float(line.get("invalid") or 0.0) for line in lines), 3),
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


def _part(model: _Model, part: tuple[str, str, str]) -> list[Line]:
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
    return _NOTHING if found is None else f"{found:.3f}" if found >= -1 else "< -1"


def _consistency(lines: Sequence[Line]) -> str:
    """Of questions that were asked in several orders, the share whose answers are all right or all wrong alike."""
    by_question: dict[tuple[str, int], list[bool]] = defaultdict(list)
    for line in lines:
        by_question[str(line["cluster"]), int(line["sample"])].append(bool(line["passed"]))
    several = [found for found in by_question.values() if len(found) > 1]
    return _mean((float(all(found) or not any(found)) for found in several), 3)


def _measured(
    task: str, measures: Mapping[str, str], models: Sequence[_Model], profile: Profile
) -> Table | None:
    rows = []
    for model in models:
        tiers: Callable[[Line], str] = lambda line: str(line.get("tier") or "")  # noqa: E731
        for tier in sorted({tiers(line) for line in model.of(task)}):
            lines = [line for line in model.of(task) if tiers(line) == tier]
            means = [
                _mean((line[name] for line in lines if line.get(name) is not None), 3) for name in measures
            ]
            if any(mean != _NOTHING for mean in means):
                rows.append((model.name, tier or "all", str(len(lines)), *means))
    if not rows:
        return None
    return Table(
        f"efcb-{task}-measured",
        f"{TITLES[task]} without a judge ({profile} profile)",
        ("Model", "Tier", "Answers", *measures.values()),
        tuple(rows),
    )
