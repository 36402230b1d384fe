"""All result tables of a run: in the form of the paper's Tables 2 to 7, and those that go beyond it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from caretbench.grouping import grouped
from caretbench.metrics.paired import Pair, compare_family
from caretbench.problem import FileSplice, Problem
from caretbench.suites.codevbench.scenario_names import (
    BLOCK_SPAN,
    CLASSES,
    CUTS,
    FULL_BLOCK,
    INCOMPLETE_SUFFIX,
    INNER_BLOCK,
    OTHER,
    RAG,
    SCENARIOS,
    SUFFIX_CUTS,
    label,
)
from caretbench.suites.codevbench.tables.rate_tables import (
    INTERVALS,
    ModelScores,
    ScoredRun,
    empty_answer,
    few_source_notes,
    passed,
    rate_tables,
    scored_runs,
    similarity_tables,
)
from caretbench.suites.problem_means import RateEstimate, ScoreRow, difference_points, percent
from caretbench.suites.suite_types import Table
from caretbench.text_tables import p_text

if TYPE_CHECKING:
    import polars as pl


AUTHORS: Final[Mapping[str, str]] = {"project": "The project", "user": "The user", "model": "A model"}
"""Titles by the label ``tests_by``."""


def author_tables(run: ScoredRun) -> Iterator[Table]:
    """Yield the table of a run in which a user or a model wrote tests that decide; else nothing."""
    rows, estimates = [], []
    others = False
    for model in run.models:
        selections = [model.select(tests_by=author) for author in AUTHORS]
        others |= any(scores.rows for scores in selections[1:])
        line = [scores.mean(passed) for scores in selections]
        estimates += line
        rows.append((model.title, *map(percent, line)))
    if others:
        yield Table(
            f"codevbench-tests-by-{run.suffix}",
            f"Pass@1 by who wrote the tests, {run.about}",
            ("Model", *AUTHORS.values()),
            tuple(rows),
            (
                "Percentages with 95% intervals, resampled by repository. Tests of a model are kept if they fail under "
                "masks and mutants of blocks that no other test reaches; they tell what the code does, not what it "
                "should do.",
                *few_source_notes(estimates),
            ),
        )


BLOCK_TABLE = "codevbench-blocks"
"""Name of the table."""


def data_tables(problems: Collection[Problem]) -> tuple[Table, ...]:
    """Return the mean number of problems of a repository by scenario and class of blocks."""
    repositories = len({problem.cluster for problem in problems})
    counts = Counter((label(problem, "block_class"), label(problem, "scenario")) for problem in problems)
    rows = tuple(_rows(counts, repositories)) if repositories else ()
    authors = Counter(label(problem, "tests_by") for problem in problems)
    others = ", ".join(
        f"{authors[name]} by tests of {AUTHORS[name].lower()}" for name in ("user", "model") if authors[name]
    )
    return (
        Table(
            BLOCK_TABLE,
            "Problems per repository (the paper's Table 2, in form)",
            ("Block", *SCENARIOS.values()),
            rows,
            (
                f"Means over {repositories} repositories; the number of problems in brackets.",
                *([f"Decided {others} alone."] if others else []),
            ),
        ),
    )


def _rows(counts: Counter[tuple[str, str]], repositories: int) -> Iterator[tuple[str, ...]]:
    titles = {**CLASSES, OTHER: "Other"}
    for name, title in titles.items():
        yield title, *_cells([counts[name, scenario] for scenario in SCENARIOS], repositories)
    totals = [sum(counts[name, scenario] for name in titles) for scenario in SCENARIOS]
    yield "All", *_cells(totals, repositories)


def _cells(numbers: Sequence[int], repositories: int) -> list[str]:
    return [f"{number / repositories:.1f} ({number})" for number in numbers]


def scenario_tables(run: ScoredRun) -> Iterator[Table]:
    """Yield the tables of those scenarios that the run has."""
    yield from (table for table in (_cut_table(run), _suffix_table(run), _retrieval_table(run)) if table.rows)


def non_empty(row: ScoreRow) -> float | None:
    """Return 1 if the answer inserts something, 0 if it is blank; None if that was not measured."""
    empty = empty_answer(row)
    return None if empty is None else 1.0 - empty


def _cut_table(run: ScoredRun) -> Table:
    rows = []
    for model in run.models:
        scores = model.select(scenario=INNER_BLOCK)
        if not scores.rows:
            continue
        cells = [scores.select(cut=name).mean(passed) for name in CUTS]
        due = scores.select(answer="code").mean(empty_answer)
        rows.append((model.title, *map(percent, (*cells, scores.select(answer="empty").mean(non_empty), due))))
    return Table(
        f"codevbench-cuts-{run.suffix}",
        f"Scenario 2 by cut, {run.about}",
        ("Model", *CUTS.values(), "Answered where nothing was due", "Empty where code was due"),
        tuple(rows),
        (
            f"{INTERVALS} Pass@1 by cut; the last two columns are shares of answers: those that insert something "
            "where the block is complete, and blank ones where something is missing.",
        ),
    )


def _suffix_table(run: ScoredRun) -> Table:
    rows = []
    for model in run.models:
        scores = model.select(scenario=INCOMPLETE_SUFFIX)
        if scores.rows:
            cells = [scores.select(cut=name).mean(passed) for name in SUFFIX_CUTS]
            rows.append((model.title, *map(percent, (*cells, scores.mean(passed)))))
    return Table(
        f"codevbench-suffix-{run.suffix}",
        f"Pass@1 in the two cases of scenario 3, {run.about}",
        ("Model", *SUFFIX_CUTS.values(), "Both"),
        tuple(rows),
        (
            f"{INTERVALS} File emptied: nothing after the caret is shown. Function emptied: the rest of the function "
            "is not shown, the rest of the file is.",
        ),
    )


def _sides(model: ModelScores) -> tuple[RateEstimate, RateEstimate, Pair] | None:
    """Return pass@1 in both scenarios, and the values of the blocks that both have."""
    first, second = (_by_block(model.select(scenario=name)) for name in (FULL_BLOCK, RAG))
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return None
    problems = tuple(first[block][0] for block in shared)
    sides = [[values[block][1] for block in shared] for values in (first, second)]
    groups = [problem.overlap_group or problem.id for problem in problems]
    pair = Pair(sides[0], sides[1], [problem.cluster for problem in problems], groups)
    means = model.means(passed)._replace(problems=problems)
    estimates = [means._replace(values=tuple(side)).mean() for side in sides]
    if estimates[0] is None or estimates[1] is None:
        return None
    return estimates[0], estimates[1], pair


def _by_block(model: ModelScores) -> Mapping[tuple[str, str, str], tuple[Problem, float]]:
    """Return a problem of each block, and the mean of its verdicts."""
    means = model.means(passed)
    verdicts = grouped(
        (block, (problem, value))
        for problem, value in zip(means.problems, means.values, strict=True)
        if (block := block_of(problem)) is not None
    )
    return {block: (pairs[0][0], sum(value for _, value in pairs) / len(pairs)) for block, pairs in verdicts.items()}


def block_of(problem: Problem) -> tuple[str, str, str] | None:
    """Return project, path and span of a problem's block; None where the span is not known."""
    if not isinstance(problem.splice, FileSplice) or BLOCK_SPAN not in problem.released:
        return None
    return label(problem, "project") or problem.cluster, problem.splice.path, problem.released[BLOCK_SPAN]


def _retrieval_table(run: ScoredRun) -> Table:
    """Return scenario 4 next to scenario 1 for each model with blocks in both, with p values for all models."""
    paired = [(model.title, *sides) for model in run.models if (sides := _sides(model)) is not None]
    comparisons = compare_family([pair for *_, pair in paired], seed=run.models[0].seed if paired else 0)
    rows = tuple(
        (
            model, str(comparison.n), percent(first), percent(second), difference_points(comparison),
            p_text(comparison.p_value, comparison.family),
            comparison.verdict("scenario 4 higher", "scenario 4 lower"),
        )
        for (model, first, second, _), comparison in zip(paired, comparisons, strict=True)
    )  # fmt: skip
    return Table(
        f"codevbench-retrieval-{run.suffix}",
        f"Scenario 4 next to scenario 1 on the same blocks, {run.about}",
        ("Model", "Blocks", "Scenario 1", "Scenario 4", "Difference (points)", "p (tests)", "Verdict"),
        rows,
        (
            f"{INTERVALS} Paired by block; p values by random sign flips (McNemar's test for independent blocks), "
            f"adjusted for {len(rows)} models (max-T).",
        ),
    )


def result_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """Return the tables of a run; see :class:`caretbench.suites.base.Suite.result_tables`."""
    tables = list(data_tables(problems.values()))
    for run in scored_runs(results, problems, seed):
        tables += [*rate_tables(run), *scenario_tables(run), *author_tables(run), *similarity_tables(run)]
    return tuple(tables)
