"""The EFCB score, and result tables in the form of the paper."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from caretbench.metrics.intervals import Interval, mean_interval
from caretbench.metrics.skill import skill, skill_interval
from caretbench.problem import Problem, Profile
from caretbench.profiles import PROFILES
from caretbench.suites.efcb.baselines import BASELINES
from caretbench.suites.efcb.choices import CHOICE_SET_LABEL
from caretbench.suites.efcb.efcb_score import (
    MAX_BLIND,
    MAX_JUDGED_SCORE,
    MIN_COVERAGE,
    VERSION,
    EfcbScore,
    Estimate,
    ProblemOutcome,
    efcb_score,
)
from caretbench.suites.efcb.floors import MIN_QUESTIONS, best_floor, floor_credits
from caretbench.suites.efcb.problem_metadata import (
    EASY_TASK,
    HALLUCINATION_TASK,
    HARD_TASK,
    MASKED_TASK,
    REVERSE_TASK,
    TASK_TITLES,
    TASKS,
)
from caretbench.suites.efcb.tables.data_tables import data_tables
from caretbench.suites.efcb.tables.score_basis import (
    JUDGED_TASKS,
    NO_VALUE,
    ModelRows,
    ResultRow,
    ScoreBasis,
    blind_values,
    counted_outcomes,
    failed_judges,
    format_mean,
    group_by_model,
    lowest_coverage,
)
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK, Table

if TYPE_CHECKING:
    import polars as pl


ALL: Final = "all"
"""Repository of a printed average over repositories; task of the score."""
_COUNTS: Final = "question_count"


@cache
def printed_numbers() -> Mapping[tuple[str, str, str], str]:
    """Return the printed results by model, task and repository (:data:`ALL`: the average), as printed.

    Table 4 prints three columns under each other's heads; its numbers are under the tasks that Tables 5 to 9 tell.
    """
    return {
        (row["model"], *_place(row["subset"])): row["value"]
        for row in _rows()
        # With the headings of Table 4 taken literally the published formula gives -0.896 and -0.838 for scores that are
        # printed as 0.482 and 0.584.
        if row["model"] and (row["table"] != "table_4" or _place(row["subset"])[0] == ALL)
    }


@cache
def printed_counts() -> Mapping[tuple[str, str], int]:
    """Return the questions of Table 3 by task and repository (:data:`ALL`: the sum)."""
    return {_place(row["subset"]): int(row["value"]) for row in _rows() if row["metric"] == _COUNTS}


@cache
def printed_models() -> tuple[str, ...]:
    """Return the names of the models, in the order of the tables."""
    return tuple(dict.fromkeys(model for model, _, _ in printed_numbers()))


@cache
def printed_repositories() -> tuple[str, ...]:
    """Return the names of the repositories, in the order of Tables 5 to 9."""
    return tuple(dict.fromkeys(name for _, task, name in printed_numbers() if task in TASKS and name != ALL))


def printed_rows(task: str, repositories: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a row for each model: results in repositories with numbers of questions, and the average."""
    found = []
    for model in printed_models():
        cells = [_cell(model, task, repository) for repository in (*repositories, ALL)]
        found.append((_row_name(model), *cells))
    return found


def printed_score_rows() -> list[tuple[str, ...]]:
    """Return a row for each model in the form of Table 4: averages of the tasks, and the EFCB score."""
    numbers = printed_numbers()
    return [
        (_row_name(model), "macro", *(numbers[model, task, ALL] for task in TASKS), numbers[model, ALL, ALL], "-")
        for model in printed_models()
    ]


def printed_notes(counts: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """Return what is to know of printed numbers next to ours, whose numbers of questions are ``counts`` by task."""
    about = (
        "Printed: the paper's numbers, over all questions of the release, under its profile and with its judge "
        "(gpt-4.1-nano). Of Table 4's columns three have each other's heads, and its o3-mini is o4-mini in Tables 5 "
        "to 9; they are corrected here."
    )
    if all(count == printed_counts()[task, ALL] for task, count in counts):
        return (about,)
    return (about, "Not comparable: numbers of questions (n) differ from the printed ones.")


def order_repositories(names: Sequence[str]) -> list[str]:
    """Return names in the order of the paper's tables, others behind them by name."""
    printed = printed_repositories()
    return sorted(names, key=lambda name: (printed.index(name) if name in printed else len(printed), name))


def _row_name(model: str) -> str:
    return f"{model} (printed, whole release)"


def _cell(model: str, task: str, repository: str) -> str:
    value = printed_numbers().get((model, task, repository))
    return "-" if value is None else f"{value}\nn = {printed_counts()[task, repository]}"


def _place(subset: str) -> tuple[str, str]:
    """Return task and repository of a row."""
    parts = dict(part.split("=") for part in subset.split(";"))
    name = parts.get("task", "").replace("_", "-")
    return (name, parts.get("repo", ALL))


def _rows() -> list[dict[str, str]]:
    file = resources.files("caretbench").joinpath("reports", "published", "efcb.csv")
    return list(csv.DictReader(file.read_text("utf-8").splitlines()))


_NUMBERS: Final = {MASKED_TASK: 5, EASY_TASK: 6, HARD_TASK: 7, REVERSE_TASK: 8, HALLUCINATION_TASK: 9}
_RESAMPLES: Final = 2000
_OPINION: Final = "No judge was validated against people unless the section on judges says so."
_FAILED_CONTROLS: Final = f"{FAILED_CONTROLS_MARK}: a judge did not pass its controls."
_MEASURES: Final[Mapping[str, Mapping[str, str]]] = {
    MASKED_TASK: {
        "exact_match": "Exact", "edit_similarity": "Edit similarity", "floor": "Copying", "net": "Above copying",
        "identifier_f1": "Identifier F1", "chrf": "chrF", "syntax_valid": "Parses", "answered": "Answered",
    },
    REVERSE_TASK: {
        "rouge_l": "ROUGE-L", "chrf": "chrF", "title_rouge_l": "Title ROUGE-L", "patch_word_f1": "Patch words F1",
        "content_recall": "Recall", "recall_ceiling": "Its ceiling", "normalised_recall": "Recall of ceiling",
        "answered": "Answered",
    },
    HALLUCINATION_TASK: {
        "names_unsupported": "Names what is in neither source, or says nothing",
        "unsupported_share": "Share of what is named", "mentions": "Things named", "answered": "Answered",
    },
}  # fmt: skip


def result_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """Return the tables of a run by profile; see :class:`caretbench.suites.base.Suite.result_tables`."""
    found: list[Table] = [*data_tables(problems.values())]
    for profile in PROFILES:
        models = list(group_by_model(results, problems, profile))
        if models:
            found += _tables(models, profile, problems, seed)
    return tuple(found)


def _tables(
    models: Sequence[ModelRows], profile: Profile, problems: Mapping[str, Problem], seed: int
) -> Iterator[Table]:
    basis = ScoreBasis.of(profile, problems)
    copied = {
        line["problem_id"]: line["judged"]
        for model in models
        if model.name == "copy"
        for line in model.select(MASKED_TASK)
        if line.get("judged") is not None
    }
    outcomes = {model.name: list(counted_outcomes(model, basis, copied)) for model in models}
    score = partial(efcb_score, seed=seed, resamples=_RESAMPLES)
    scores = {
        name: [score(found, weighting="macro"), score(found, weighting="micro")]
        for name, found in outcomes.items()
        if found
    }
    if scores:
        covered = {model.name: lowest_coverage(model, basis, problems) for model in models}
        refused = {model.name: failed_judges(model, basis) for model in models}
        yield _score_table(scores, covered, refused, basis)
    for task in sorted(TASKS, key=lambda name: _NUMBERS[name]):
        yield from _repository_tables(task, models, outcomes, scores, basis)
    yield from choice_tables(models, profile, problems.values(), seed)
    yield from blind_tables(models, profile, seed)
    for task, measures in _MEASURES.items():
        yield from _measure_tables(task, measures, models, profile)


def _score_table(
    scores: Mapping[str, Sequence[EfcbScore]],
    covered: Mapping[str, float],
    refused: Mapping[str, Mapping[str, str]],
    basis: ScoreBasis,
) -> Table:
    def whole(estimate: Estimate | None, name: str) -> str:
        # What a judge leaves out is not drawn at random, so a mean of the rest estimates nothing.
        # Withheld: the number would be the judge's preference, on a scale that looks like a measurement.
        if estimate is not None and refused[name]:
            return "withheld"
        if estimate is None or covered[name] >= MIN_COVERAGE:
            return _format_estimate(estimate, "")
        return f"{NO_VALUE}\n{100 * covered[name]:.1f}% covered"

    def above(score: EfcbScore, name: str) -> str:
        for task, value in score.answered_blind.items():
            return f"{TASK_TITLES[task]} is {_answered(value)}"
        cell = whole(score.corrected, name)
        words = f"\n{'blind answers' if score.blind else 'chance, copying'}"
        return cell + words if re.match(r"-?\d", cell) else cell

    rows = [
        (
            name,
            f"{score.weighting}",
            *(_format_estimate(score.tasks.get(task), task, marked=task in refused[name]) for task in TASKS),
            whole(score.published, name),
            above(score, name),
        )
        for name, both in scores.items()
        for score in both
    ]
    return Table(
        "efcb-score",
        f"The EFCB score ({basis.profile} profile; the paper's Table 4, in form)",
        ("Model", "Mean", *TASK_TITLES.values(), "EFCB score", "Above floors"),
        (*rows, *(printed_score_rows() if basis.released else ())),
        _score_notes(scores, basis),
        tuple(
            dict.fromkeys(
                f"the EFCB score is withheld: {'; '.join(dict.fromkeys(refused[name].values()))}"
                for name, both in scores.items()
                if refused[name] and both[0].published is not None
            )
        ),
    )


def _score_notes(scores: Mapping[str, Sequence[EfcbScore]], basis: ScoreBasis) -> tuple[str, ...]:
    counted = "; ".join(
        f"{TASK_TITLES[task]}: {', '.join(labels.values()).replace('_', ' ')}" for task, labels in basis.counted.items()
    )
    return (
        "Macro: the mean over repositories, as published; micro: over all problems. Intervals resample pull requests.",
        f"What is counted: {counted}; of other tasks everything.",
        "MPR-Gen and Reverse-QA are judges' means from 0 to 10, hallucination is bad; no judge was validated "
        "against people unless the section on judges says so. Without a grader the score is not known, nor where "
        f"fewer than {MIN_COVERAGE:.0%} of a task's problems have a value.",
        "Above floors: the same mean, with GMCQ-Hard and MPR-Gen as skill above the model's own answers without "
        "the text (blind answers: --blind); where there are none, choices as skill above guessing, and MPR-Gen "
        "net of copying. Under the default profile an answer that makes no statement counts as one with a "
        "hallucination.",
        f"{FAILED_CONTROLS_MARK}: a judge did not pass its controls; the score is withheld then. Rule {VERSION}.",
        *_printed_notes(basis, scores, TASKS),
    )


def _format_estimate(estimate: Estimate | None, task: str, *, marked: bool = False) -> str:
    if estimate is None:
        return NO_VALUE
    digits = 2 if task in (MASKED_TASK, REVERSE_TASK) else 3
    interval = estimate.interval
    value = f"{estimate.value:.{digits}f}" + (f" {FAILED_CONTROLS_MARK}" if marked else "")
    if interval.method in ("undefined", "constant"):  # a zero width does not mean no error
        return value
    return f"{value}\n{interval.low:.{digits}f} to {interval.high:.{digits}f}"


def _repository_tables(
    task: str,
    models: Sequence[ModelRows],
    outcomes: Mapping[str, Sequence[ProblemOutcome]],
    scores: Mapping[str, Sequence[EfcbScore]],
    basis: ScoreBasis,
) -> Iterator[Table]:
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, found in outcomes.items():
        for outcome in found:
            if outcome.task == task:
                values[name][outcome.repository].append(outcome.value)
    repositories = _table_repositories(task, models, values.values(), basis)
    if not repositories:
        return
    digits = 2 if task in (MASKED_TASK, REVERSE_TASK) else 3
    marked = {model.name for model in models if task in failed_judges(model, basis)}
    rows = []
    for name, by_one in values.items():
        mark = FAILED_CONTROLS_MARK if name in marked else ""
        means = [format_mean(by_one.get(position, ()), digits, with_count=True, mark=mark) for position in repositories]
        average = _format_estimate(scores[name][0].tasks.get(task), task, marked=name in marked)
        rows.append((name, *means, average))
    bad = "; 1 is bad" if task == HALLUCINATION_TASK else ""
    yield Table(
        f"efcb-{task}",
        f"{TASK_TITLES[task]} by repository ({basis.profile} profile; "
        f"the paper's Table {_NUMBERS[task]}, in form{bad})",
        ("Model", *repositories, "Average"),
        (*rows, *(printed_rows(task, repositories) if basis.released else ())),
        (
            "The average is over repositories; below it stands its interval by pull request.",
            *(
                (_OPINION, f"{FAILED_CONTROLS_MARK}: a judge did not pass its controls.")
                if task in JUDGED_TASKS
                else ()
            ),
            *_printed_notes(basis, scores, (task,)),
        ),
    )


def _table_repositories(
    task: str, models: Sequence[ModelRows], values: Iterable[Mapping[str, Sequence[float]]], basis: ScoreBasis
) -> list[str]:
    """Return the columns of a table: repositories with values; of released problems all, with the printed numbers."""
    if basis.released:
        return order_repositories(sorted({str(line["repository"]) for model in models for line in model.select(task)}))
    return sorted({repository for by_one in values for repository in by_one})


def _printed_notes(
    basis: ScoreBasis, scores: Mapping[str, Sequence[EfcbScore]], tasks: Sequence[str]
) -> tuple[str, ...]:
    if not basis.released:
        return ()
    return printed_notes(
        (task, both[0].tasks[task].problems) for both in scores.values() for task in tasks if task in both[0].tasks
    )


def _measure_tables(
    task: str, measures: Mapping[str, str], models: Sequence[ModelRows], profile: Profile
) -> Iterator[Table]:
    rows = []
    for model in models:
        by_tier: dict[str, list[ResultRow]] = defaultdict(list)
        for line in model.select(task):
            by_tier[str(line.get("tier") or "")].append(line)
        for tier, lines in sorted(by_tier.items()):
            means = [format_mean((line[name] for line in lines if line.get(name) is not None), 3) for name in measures]
            if any(mean != NO_VALUE for mean in means):
                rows.append((model.name, tier or "all", str(len(lines)), *means))
    if rows:
        yield Table(
            f"efcb-{task}-measured",
            f"{TASK_TITLES[task]} without a judge ({profile} profile)",
            ("Model", "Tier", "Answers", *measures.values()),
            tuple(rows),
        )


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
        for part in sorted(part for part in there if part[0] in (EASY_TASK, HARD_TASK))
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
                "same problems: what understanding adds to the best of TF-IDF, BM25, words among the paths, and "
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
    blind = blind_values(model) if part[:2] == (HARD_TASK, "") else {}
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
            chosen = line["task"] in (EASY_TASK, HARD_TASK)
            wanted = chosen if name == "passed" else line["task"] == MASKED_TASK
            if wanted and line.get(name) is not None and line["problem_id"] in blind:
                parts[_part_of(line)].append(line)
        for part, lines in sorted(parts.items()):
            scores = [float(line[name]) / maximum for line in lines]
            floors = [blind[line["problem_id"]] / maximum for line in lines]
            value, floor = sum(scores) / len(scores), sum(floors) / len(floors)
            interval = skill_interval(scores, floors, _clusters(lines), seed=seed)
            yield (
                model.name,
                f"{TASK_TITLES[part[0]]} {part[1]}".strip() + words,
                str(len({line["problem_id"] for line in lines})),
                f"{value:.3f}",
                f"{floor:.3f}",
                _answered(floor) if floor >= MAX_BLIND else _spread(_skill(value, floor), interval),
            )


def _answered(blind: float) -> str:
    """Return the words for questions that are answered without their text, ``(blind .98)`` behind them."""
    return f"answered without its text (blind {f'{blind:.2f}'.removeprefix('0')})"


def _above(lines: Sequence[ResultRow], floors: Mapping[str, float], seed: int, *, blind: bool) -> str:
    """Return the skill above a floor, with its interval in the next line."""
    scores = [float(bool(line["passed"])) for line in lines]
    floor = [floors[str(line["problem_id"])] for line in lines]
    if blind and sum(floor) >= MAX_BLIND * len(floor):
        return _answered(sum(floor) / len(floor))
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
    found = None if floor is None else skill(accuracy, floor)
    # Above a floor of .95 a model that is always wrong has a skill of -19.
    return NO_VALUE if found is None else f"{found:.3f}" if found >= -1 else "< -1"


def _consistency(lines: Sequence[ResultRow]) -> str:
    """Return the share of questions in several orders whose answers are all right or all wrong."""
    by_question: dict[tuple[str, int], list[bool]] = defaultdict(list)
    for line in lines:
        by_question[str(line["cluster"]), int(line["sample"])].append(bool(line["passed"]))
    # Questions that are asked in one order say nothing about consistency.
    several = [found for found in by_question.values() if len(found) > 1]
    return format_mean((float(all(found) or not any(found)) for found in several), 3)
