"""The EFCB score, and result tables in the form of the paper."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from caretbench.files import published_rows
from caretbench.grouping import grouped
from caretbench.languages.path_languages import path_languages
from caretbench.problem import Problem, Profile
from caretbench.profiles import PROFILES
from caretbench.suites.efcb.efcb_score import MIN_COVERAGE, VERSION, EfcbScore, Estimate, ProblemOutcome, efcb_score
from caretbench.suites.efcb.problem_metadata import TASK_TITLES, TASKS, EfcbTask
from caretbench.suites.efcb.tables.choice_tables import (
    JUDGED_TASKS,
    NO_VALUE,
    ModelRows,
    ScoreBasis,
    answered_blind,
    blind_tables,
    choice_tables,
    counted_outcomes,
    failed_judges,
    format_mean,
    group_by_model,
    lowest_coverage,
)
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK, Table

if TYPE_CHECKING:
    import polars as pl

_REPOSITORY_HEADS: Final = (
    "Organization", "Repository", "Number of Questions", "Primary Language", "Changes by Language", "Licence",
    "Merged",
)  # fmt: skip


def data_tables(problems: Iterable[Problem]) -> Iterator[Table]:
    """Yield tables about the data in the form of the paper's Tables 2 and 3.

    A question counts once for all orders of its choices and query variants.
    """
    known = list(problems)
    if known:
        yield _repositories(known)
        yield _questions(known)


def _repositories(problems: Sequence[Problem]) -> Table:
    changes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    languages: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    licences: dict[str, Counter[str]] = defaultdict(Counter)
    dates: dict[str, list[str]] = defaultdict(list)
    for problem in problems:
        repository = problem.label("repository")
        changes[repository][problem.label("task")].add(problem.cluster)
        languages[repository][problem.label("language")].add(problem.cluster)
        licences[repository][problem.provenance.licence or ""] += 1
        dates[repository].append((problem.provenance.date or "")[:10])
    rows = []
    for repository, tasks in sorted(changes.items()):
        spoken = {name: len(clusters) for name, clusters in languages[repository].items()}
        # Texts and data without a language are `other`, which names no repository, even where they are most of its
        # changes.
        most = min(spoken, key=lambda name: (name == "other", -spoken[name], name))
        main = path_languages().get(most)
        counts = sorted({len(clusters) for clusters in tasks.values()})
        owner, _, name = repository.rpartition("/")
        shares = sorted(spoken.items(), key=lambda entry: (-entry[1], entry[0]))
        rows.append(
            (
                owner or "unknown",
                name,
                " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))),
                main.title if main else "",
                ", ".join(f"{_title(name)} {count}" for name, count in shares),
                licences[repository].most_common(1)[0][0],
                " to ".join(dict.fromkeys((min(dates[repository]), max(dates[repository])))),
            )
        )
    return Table(
        "efcb-repositories",
        "Repositories (the paper's Table 2, in form)",
        _REPOSITORY_HEADS,
        tuple(rows),
        (
            "Number of questions: the fewest and the most of the tasks. The primary language is that of most changes "
            "that are asked about. The paper's column with the type is missing: no history tells it.",
        ),
    )


def _title(language: str) -> str:
    entry = path_languages().get(language)
    return entry.title if entry else language


def _questions(problems: Sequence[Problem]) -> Table:
    asked: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    whole: Counter[tuple[str, str]] = Counter()
    for problem in problems:
        kind = (problem.label("task"), problem.label("tier") if "tier" in problem.labels else "")
        asked[kind][problem.label("repository")].add(problem.cluster)
        whole[kind] += 1
    repositories = sorted({repository for clusters in asked.values() for repository in clusters})
    order = sorted(asked, key=lambda kind: (TASKS.index(kind[0]) if kind[0] in TASKS else len(TASKS), kind))
    lines = [(kind, [len(asked[kind][repository]) for repository in repositories]) for kind in order]
    rows = [
        (f"{TASK_TITLES.get(task, task)} {tier}".strip(), *map(str, counts), str(sum(counts)), str(whole[task, tier]))
        for (task, tier), counts in lines
    ]
    by_repository = (str(sum(column)) for column in zip(*(counts for _, counts in lines), strict=True))
    total = sum(sum(counts) for _, counts in lines)
    rows.append(("Total", *by_repository, str(total), str(whole.total())))
    return Table(
        "efcb-questions",
        "Questions of each task (the paper's Table 3, in form)",
        ("Task", *repositories, "Total", "Problems"),
        tuple(rows),
        ("Problems: a question in each order of its choices and with each text that asks it.",),
    )


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
        for row in published_rows("efcb")
        # With the headings of Table 4 taken literally the published formula gives -0.896 and -0.838 for scores that are
        # printed as 0.482 and 0.584.
        if row["model"] and (row["table"] != "table_4" or _place(row["subset"])[0] == ALL)
    }


@cache
def printed_counts() -> Mapping[tuple[str, str], int]:
    """Return the questions of Table 3 by task and repository (:data:`ALL`: the sum)."""
    return {_place(row["subset"]): int(row["value"]) for row in published_rows("efcb") if row["metric"] == _COUNTS}


@cache
def printed_models() -> tuple[str, ...]:
    """Return the names of the models, in the order of the tables."""
    return tuple(dict.fromkeys(model for model, _, _ in printed_numbers()))


def printed_rows(task: str, repositories: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a row for each model: results in repositories with numbers of questions, and the average."""
    numbers, counts = printed_numbers(), printed_counts()

    def cell(*place: str) -> str:
        return f"{numbers[place]}\nn = {counts[place[1:]]}" if place in numbers else "-"  # type: ignore[index]

    return [
        (_row_name(model), *(cell(model, task, repository) for repository in (*repositories, ALL)))
        for model in printed_models()
    ]


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
    printed = [*dict.fromkeys(name for _, task, name in printed_numbers() if task in TASKS and name != ALL)]
    return sorted(names, key=lambda name: (printed.index(name) if name in printed else len(printed), name))


def _row_name(model: str) -> str:
    return f"{model} (printed, whole release)"


def _place(subset: str) -> tuple[str, str]:
    """Return task and repository of a row."""
    parts = dict(part.split("=") for part in subset.split(";"))
    name = parts.get("task", "").replace("_", "-")
    return (name, parts.get("repo", ALL))


_NUMBERS: Final = {
    EfcbTask.MASKED: 5,
    EfcbTask.EASY: 6,
    EfcbTask.HARD: 7,
    EfcbTask.REVERSE: 8,
    EfcbTask.HALLUCINATION: 9,
}
_RESAMPLES: Final = 2000
_OPINION: Final = "No judge was validated against people unless the section on judges says so."
_MEASURES: Final[Mapping[str, Mapping[str, str]]] = {
    EfcbTask.MASKED: {
        "exact_match": "Exact", "edit_similarity": "Edit similarity", "floor": "Copying", "net": "Above copying",
        "identifier_f1": "Identifier F1", "chrf": "chrF", "syntax_valid": "Parses", "answered": "Answered",
    },
    EfcbTask.REVERSE: {
        "rouge_l": "ROUGE-L", "chrf": "chrF", "title_rouge_l": "Title ROUGE-L", "patch_word_f1": "Patch words F1",
        "content_recall": "Recall", "recall_ceiling": "Its ceiling", "normalised_recall": "Recall of ceiling",
        "answered": "Answered",
    },
    EfcbTask.HALLUCINATION: {
        "names_unsupported": "Names what is in neither source, or says nothing",
        "unsupported_share": "Share of what is named", "mentions": "Things named", "answered": "Answered",
    },
}  # fmt: skip


def result_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """Return the tables of a run by profile; see :class:`caretbench.suites.base.Suite.result_tables`."""
    tables: list[Table] = [*data_tables(problems.values())]
    for profile in PROFILES:
        models = list(group_by_model(results, problems, profile))
        if models:
            tables += _tables(models, profile, problems, seed)
    return tuple(tables)


def _tables(
    models: Sequence[ModelRows], profile: Profile, problems: Mapping[str, Problem], seed: int
) -> Iterator[Table]:
    basis = ScoreBasis.of(profile, problems)
    copied = {
        line["problem_id"]: line["judged"]
        for model in models
        if model.name == "copy"
        for line in model.select(EfcbTask.MASKED)
        if line.get("judged") is not None
    }
    outcomes = {model.name: list(counted_outcomes(model, basis, copied)) for model in models}
    score = partial(efcb_score, seed=seed, resamples=_RESAMPLES)
    scores = {
        name: [score(group, weighting="macro"), score(group, weighting="micro")]
        for name, group in outcomes.items()
        if group
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
            return f"{TASK_TITLES[task]} is {answered_blind(value)}"
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
        "against people unless the section on judges says so. Without a judge the score is not known, nor where "
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
    digits = 2 if task in (EfcbTask.MASKED, EfcbTask.REVERSE) else 3
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
    for name, group in outcomes.items():
        for outcome in group:
            if outcome.task == task:
                values[name][outcome.repository].append(outcome.value)
    repositories = _table_repositories(task, models, values.values(), basis)
    if not repositories:
        return
    digits = 2 if task in (EfcbTask.MASKED, EfcbTask.REVERSE) else 3
    marked = {model.name for model in models if task in failed_judges(model, basis)}
    rows = []
    for name, by_one in values.items():
        mark = FAILED_CONTROLS_MARK if name in marked else ""
        means = [format_mean(by_one.get(position, ()), digits, with_count=True, mark=mark) for position in repositories]
        average = _format_estimate(scores[name][0].tasks.get(task), task, marked=name in marked)
        rows.append((name, *means, average))
    bad = "; 1 is bad" if task == EfcbTask.HALLUCINATION else ""
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
        by_tier = grouped((str(line.get("tier") or ""), line) for line in model.select(task))
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
