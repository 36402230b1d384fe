"""Computation of a report's head from a run's table and its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import polars as pl

from caretbench.judging.answers import REFERENCE
from caretbench.reports.estimates import ReportedNumber, pass_at_1, similarity_metric
from caretbench.reports.frame import GROUP, LoadedRun
from caretbench.reports.head.head_values import HeadDifference, HeadMeasure, HeadPart, RankedModel, ReportHead
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.identity import identity_of
from caretbench.reports.results.paired_models import (
    MIN_TESTED,
    PASSED,
    ComparisonRow,
    ModelRates,
    PairedTest,
    adjusted_rows,
    model_rates,
    paired_tests,
)
from caretbench.reports.results.problem_lists import excluded_ids
from caretbench.reports.results.usage import model_usage
from caretbench.reports.strata import kept_apart
from caretbench.reports.summary import Column
from caretbench.runs.judging.result import REQUIRED_COVERAGE

_PASS_AT_1 = HeadMeasure(title="pass@1", about="pass@1: the share of answers that pass all checks of their problem")
_SIMILARITY = "Similarity to the reference, from 0 to 1: an answer may be right and dissimilar, or similar and wrong"
_FIRST_SIMILARITY = "cosine"
"""Beginning of the similarities that rank models first, because they have values between 0 and 1."""


class _Part(NamedTuple):
    """Part of the head to be computed: a run's table, a measure, and the ids of the problems; None is all of them."""

    run: LoadedRun
    measure: HeadMeasure
    labels: Mapping[str, str] = {}
    problems: frozenset[str] | None = None
    title: str = ""
    own: bool = False
    """True for a share of the suite's own, which no column of the report has."""

    def rates(self, columns: Sequence[Column]) -> dict[str, ModelRates]:
        """Return the rates of models and baselines by title."""
        name = self.measure.similarity
        metric = PASSED if name is None else similarity_metric(name)
        models = [column.model for column in columns]
        return {one.name: one for one in model_rates(self.run, models, metric, self.problems)}


def report_head(source: ReportSource) -> ReportHead | None:
    """Return the head of a run's report; None if it has no number to rank models by."""
    identity = identity_of(source.run)
    columns = [c for c in source.columns if (c.policy, c.profile) == (identity["policy"], identity["profile"])]
    parts = list(_parts(source, columns))
    if not parts:
        return None
    rankings = [_ranking(source, columns, part) for part in parts]
    rates = [part.rates(columns) for part in parts]
    models = [column.title for column in columns if not column.baseline]
    pairs = _pairs([[known[title] for title in models if title in known] for known in rates], parts, source.seed)
    found = zip(parts, rankings, pairs, rates, strict=True)
    return ReportHead(
        parts=tuple(_head_part(*values, source.seed) for values in found if values[1]),
        without_score=source.missing_score,
        failed=tuple(
            f"{column.title} {column.coverage:.1%}"
            for column in columns
            if not column.baseline and column.coverage is not None and column.coverage < REQUIRED_COVERAGE
        ),
    )


def _parts(source: ReportSource, columns: Sequence[Column]) -> Iterator[_Part]:
    """Yield shares of the suite's own; else pass@1 by the parts that the suite keeps apart; else a similarity."""
    run = source.run
    if source.headlines:
        for headline, frame in source.headlines:
            measure = HeadMeasure(title=headline.title, about=headline.about)
            yield _Part(replace(run, frame=frame), measure, own=True)
    elif any(1 in column.overall.pass_at for column in columns):
        parts = kept_apart(run.problems, source.stratification)
        for part in parts:
            yield _Part(run, _PASS_AT_1, part.labels, part.problems, part.title)
        if not parts:
            yield _Part(run, _PASS_AT_1)
    else:
        known = {name: title for column in columns for name, title in column.similarity_titles.items()}
        titles = {name: title for name, title in known.items() if any(name in c.overall.similarity for c in columns)}
        if titles:
            name = min(titles, key=lambda name: not name.startswith(_FIRST_SIMILARITY))
            yield _Part(run, HeadMeasure(title=titles[name], about=_SIMILARITY, similarity=name))


def _ranking(source: ReportSource, columns: Sequence[Column], part: _Part) -> tuple[RankedModel, ...]:
    """Return the models and baselines with a number, the best first; equal ones in the order of the columns."""
    run = source.run
    usage = {(one.model, one.parameters): one for one in model_usage(run.completions, run.missing, run.manifest)}
    found = []
    for column in columns:
        number = _number(source, column, part)
        if number is not None:
            spent = usage.get((column.model, column.parameters))
            first, last = (spent.first_token, spent.last_token) if spent else (None, None)
            found.append(
                RankedModel(
                    title=column.title,
                    baseline=column.baseline,
                    knows_answer=column.baseline and column.model == REFERENCE,
                    estimate=number,
                    first_token_s=first and first.median_s,
                    last_token_s=last and last.median_s,
                )
            )
    return tuple(sorted(found, key=lambda entry: (-entry.estimate.value, entry.baseline)))


def _number(source: ReportSource, column: Column, part: _Part) -> ReportedNumber | None:
    """Return the number of a column on a part: the report's own where it has one."""
    if part.measure.similarity is not None:
        return column.overall.similarity.get(part.measure.similarity)
    if part.problems is None and not part.own:
        return column.overall.pass_at.get(1)
    judged = part.run.frame.filter(
        pl.col("passed").is_not_null(),
        ~pl.col("problem_id").is_in(list(excluded_ids(source.excluded, column.profile))),
        *(pl.col(name) == getattr(column, name) for name in GROUP),
    )
    if part.problems is not None:
        judged = judged.filter(pl.col("problem_id").is_in(list(part.problems)))
    return None if judged.is_empty() else pass_at_1(judged, column.profile, source.seed)


def _pairs(
    models: Sequence[Sequence[ModelRates]], parts: Sequence[_Part], seed: int
) -> list[tuple[ComparisonRow, ...]]:
    """Return the tests of all pairs of models by part, corrected together."""
    by_part = [
        [test for first, second in combinations(there, 2) for test in _tests(first, second, part, seed)]
        for there, part in zip(models, parts, strict=True)
    ]
    rows = iter(adjusted_rows([test for tests in by_part for test in tests]))
    return [tuple(next(rows) for _ in tests) for tests in by_part]


def _tests(first: ModelRates, second: ModelRates, part: _Part, seed: int) -> Iterator[PairedTest]:
    """Yield the test of two models on a part; nothing if they have too few common problems."""
    common = first.rates.join(second.rates, on="problem_id", how="semi").height
    if common == 0 or (part.problems is not None and common < MIN_TESTED):
        return
    for row, test in paired_tests(first, second, seed):
        label = part.title or (part.measure.title if part.own else row.label)
        yield row.model_copy(update={"label": label}), test


def _head_part(
    part: _Part,
    ranking: Sequence[RankedModel],
    pairs: Sequence[ComparisonRow],
    rates: Mapping[str, ModelRates],
    seed: int,
) -> HeadPart:
    models = [entry.title for entry in ranking if not entry.baseline]
    floors = [entry.title for entry in ranking if entry.baseline and not entry.knows_answer]
    baseline = None
    others = [found for title in models[1:] if (found := _difference(models[0], title, pairs))]
    if models and floors:
        tests = [test for title in floors for test in _tests(rates[models[0]], rates[title], part, seed)]
        rows = adjusted_rows(tests)
        found = _difference(models[0], floors[0], rows)
        baseline = found and found.model_copy(update={"baseline": True})
    return HeadPart(
        measure=part.measure,
        labels=part.labels,
        title=part.title,
        ranking=tuple(ranking),
        nearest=next((found for found in others if found.distinguishable), None),
        undecided=tuple(found.other for found in others if not found.distinguishable),
        baseline=baseline,
        pairs=tuple(pairs),
    )


def _difference(best: str, other: str, rows: Sequence[ComparisonRow]) -> HeadDifference | None:
    """Return the difference of the best model to another one, from the row of both; None without a test."""
    for row in rows:
        if {row.first, row.second} == {best, other}:
            turned = row.first == best  # a row is about the second model
            low, high = (row.high, row.low) if turned else (row.low, row.high)
            sign = -1.0 if turned else 1.0
            return HeadDifference(
                other=other,
                difference=sign * row.difference,
                low=None if low is None else sign * low,
                high=None if high is None else sign * high,
                distinguishable=row.distinguishable,
                problems=row.problems,
            )
    return None
