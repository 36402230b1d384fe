"""Paired tests of a model against the field: the mean of the other models on the same problems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from caretbench.errors import DataError
from caretbench.metrics.contrasts.part_contrast import part_contrast
from caretbench.metrics.error_kinds.kind_table import error_kind_title
from caretbench.metrics.paired import Comparison, with_holm
from caretbench.reports.frame import LoadedRun
from caretbench.reports.head.measured_parts import judged_parts, part_tests
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.errors import counted_kinds, row_outcome
from caretbench.reports.results.identity import identity_of
from caretbench.reports.results.paired_models import (
    MIN_TESTED,
    PASSED,
    ModelRates,
    PairedTest,
    adjusted_rows,
    model_rates,
    paired_tests,
)
from caretbench.reports.results.problem_lists import DISSIMILAR, SIMILAR
from caretbench.reports.strata import SEPARATOR, Stratum, strata_of
from caretbench.reports.strengths.strength_values import PASSES, SIMILARITY, PartContrast, StrengthTest
from caretbench.reports.tables import display_label, display_stratum

SUBTYPE_LABELS = ("kind", "band")
"""Labels of built problems by which strengths are tested, in addition to those of the suite."""

COSINE = "cosine"

DISCORDANT_TITLES: Mapping[str, str] = {
    "fails_but_similar": f"fail, although similar to the reference (cosine at least {SIMILAR})",
    "passes_but_dissimilar": f"pass, although dissimilar to the reference (cosine at most {DISSIMILAR})",
}


class Opponents(NamedTuple):
    """A model and the field on the problems that all models have."""

    own: ModelRates
    field: ModelRates


class TestedStrengths(NamedTuple):
    """Adjusted tests of a model against the field, in groups."""

    field: tuple[str, ...]
    overall: tuple[StrengthTest, ...]
    passes: tuple[StrengthTest, ...]
    similarity: tuple[StrengthTest, ...]
    answers: tuple[StrengthTest, ...]


def tested_strengths(source: ReportSource, model: str) -> TestedStrengths:
    """Return all tests of a model against the other models of its run.

    Raises:
        DataError: the run has no such model, or no verdict of it.
    """
    strata = tested_strata(source)
    overall: list[tuple[str, PairedTest]] = []
    passes: list[PairedTest] = []
    contrasts: list[Comparison | None] = []
    names: tuple[str, ...] = ()
    for part in judged_parts(source):
        rates = list(part.rates())
        found, others = opponents(rates, model)
        names = names or others
        if found is None:
            continue
        for test in part_tests(part, [found], source.seed, strata):
            if test[0].scope == "all":
                overall.append((PASSES, test))
            else:
                passes.append(test)
                contrasts.append(_contrast(found, test[0].scope, test[0].label, strata))
    similar = _similarity_tests(source, model, strata)
    overall += [(SIMILARITY, test) for test in similar if test[0].scope == "all"]
    rows = adjusted_rows([test for _, test in overall])
    return TestedStrengths(
        field=names,
        overall=tuple(
            StrengthTest(measure=measure, title=_overall_title(measure, row.label), row=row)
            for (measure, _), row in zip(overall, rows, strict=True)
        ),
        passes=_part_tests(PASSES, passes, contrasts),
        similarity=_part_tests(SIMILARITY, [test for test in similar if test[0].scope != "all"]),
        answers=tuple(_answer_tests(source, model)),
    )


def _overall_title(measure: str, label: str) -> str:
    return measure if label == "all" else f"{measure}, {label}"


def tested_strata(source: ReportSource) -> tuple[Stratum, ...]:
    """Return the strata by single labels: those of the suite, and subtypes of built problems."""
    known = {name for problem in source.run.problems for name in problem.labels}
    labels = dict.fromkeys((*source.stratification.labels, *(name for name in SUBTYPE_LABELS if name in known)))
    single = source.stratification._replace(labels=tuple(labels), crossed=())
    return strata_of(source.run.problems, identity_of(source.run)["profile"], single)


def opponents(rates: Sequence[ModelRates], model: str) -> tuple[Opponents | None, tuple[str, ...]]:
    """Return a model and the field on the problems that all have, and the names of the others.

    None if there is no other model, or no common problem.

    Raises:
        DataError: there is no such model, or several variants have its name.
    """
    own = [entry for entry in rates if entry.name == model] or [entry for entry in rates if entry.model == model]
    if len(own) != 1:
        listed = ", ".join(entry.name for entry in rates) or "none"
        problem = "several variants have this name" if own else "the run has no verdict of such a model"
        raise DataError(f"--strengths {model!r}: {problem}; models: {listed}")
    others = [entry for entry in rates if entry is not own[0]]
    names = tuple(entry.name for entry in others)
    if not others:
        return None, names
    shared = own[0].rates
    for entry in others:
        shared = shared.join(entry.rates, on="problem_id", how="semi")
    if shared.is_empty():
        return None, names
    mean = (
        pl.concat([entry.rates.select("problem_id", "rate") for entry in others])
        .group_by("problem_id")
        .agg(pl.col("rate").mean().alias("field_rate"))
    )
    field = shared.join(mean, on="problem_id").drop("rate").rename({"field_rate": "rate"})
    columns = shared.columns
    title = field_title(names)
    return Opponents(own[0]._replace(rates=shared), ModelRates(title, field.select(columns), title, None)), names


def field_title(names: Sequence[str]) -> str:
    """Return the title of the field: the other model, or the mean of several."""
    return names[0] if len(names) == 1 else f"the mean of the {len(names)} other models"


def _contrast(found: Opponents, scope: str, label: str, strata: Sequence[Stratum]) -> Comparison | None:
    """Return the difference to the field in a part minus that elsewhere; None if elsewhere are too few problems."""
    stratum = next(one for one in strata if one.name == scope)
    values = label.rpartition(": ")[2]
    part = next((one for one in stratum.parts if SEPARATOR.join(one.labels.values()) == values), None)
    if part is None:
        return None
    both = found.own.rates.join(
        found.field.rates.select("problem_id", pl.col("rate").alias("field_rate")), on="problem_id"
    ).sort("problem_id")
    inside = both["problem_id"].is_in(list(part.problems)).to_list()
    if min(sum(inside), len(inside) - sum(inside)) < MIN_TESTED:
        return None
    return part_contrast((both["rate"] - both["field_rate"]).to_list(), inside, both["cluster"].to_list())


def _similarity_tests(source: ReportSource, model: str, strata: Sequence[Stratum]) -> list[PairedTest]:
    if COSINE not in source.run.frame.columns:
        return []
    rates = list(model_rates(source.run, measure=COSINE))
    if not rates:
        return []
    found, _ = opponents(rates, model)
    return [] if found is None else list(paired_tests(*found, source.seed, strata))


def _part_tests(
    measure: str, tests: Sequence[PairedTest], contrasts: Sequence[Comparison | None] = ()
) -> tuple[StrengthTest, ...]:
    rows = adjusted_rows(tests)
    known = iter(with_holm([one for one in contrasts if one is not None]))
    adjusted = [None if one is None else _part_contrast(next(known)) for one in contrasts] or [None] * len(rows)
    return tuple(
        StrengthTest(measure=measure, title=part_title(row.scope, row.label), row=row, contrast=contrast)
        for row, contrast in zip(rows, adjusted, strict=True)
    )


def _part_contrast(found: Comparison) -> PartContrast:
    defined = not math.isnan(found.interval.low)
    return PartContrast(
        difference=found.difference,
        low=found.interval.low if defined else None,
        high=found.interval.high if defined else None,
        p_value=found.p_value,
        distinguishable=found.distinguishable,
    )


def part_title(scope: str, label: str) -> str:
    """Return a part in words: ``category pattern matching``."""
    before, separator, value = label.rpartition(": ")
    return f"{before}{separator}{display_stratum(scope)} {display_label(scope, value)}"


def _answer_tests(source: ReportSource, model: str) -> Iterator[StrengthTest]:
    """Yield the tests of shares of answers: similarity and execution disagree, or an error kind."""
    run, titles = answer_shares(source.run)
    judged = list(model_rates(run))
    if not judged:
        return
    found, _ = opponents(judged, model)
    if found is None:
        return
    ids = set(found.own.rates["problem_id"])
    tests, measures = [], []
    for name in titles:
        pair, _ = opponents(list(model_rates(run, measure=name, only=ids)), model)
        if pair is not None and any((side.rates["rate"] > 0).any() for side in pair):
            tests += list(paired_tests(*pair, source.seed))
            measures.append(name)
    for name, row in zip(measures, adjusted_rows(tests), strict=True):
        yield StrengthTest(measure=name, title=titles[name], row=row)


def answer_shares(run: LoadedRun) -> tuple[LoadedRun, dict[str, str]]:
    """Return the run with a column of 0 and 1 for each kind of answers, and the kinds in words by column.

    Only answers with a verdict count.
    """
    frame = run.frame
    titles: dict[str, str] = {}
    if COSINE in frame.columns:
        titles |= DISCORDANT_TITLES
        similar = {"fails_but_similar": ~pl.col(PASSED) & (pl.col(COSINE) >= SIMILAR)}
        similar["passes_but_dissimilar"] = pl.col(PASSED) & (pl.col(COSINE) <= DISSIMILAR)
        frame = frame.with_columns(
            pl.when(pl.col(PASSED).is_not_null()).then(rule.cast(pl.Float64)).alias(name)
            for name, rule in similar.items()
        )
    answers = {completion.key: completion for completion in run.completions}
    kinds = [
        counted_kinds(
            row_outcome(row, answers.get((row["problem_id"], row["model"], row["parameters"], row["sample"]))),
            row["error_kinds"] or (),
        )
        if row[PASSED] is not None
        else None
        for row in frame.iter_rows(named=True)
    ]
    for kind in sorted({kind for found in kinds if found for kind in found}):
        column = f"kind:{kind}"
        titles[column] = f"have the error kind {error_kind_title(kind).lower()}"
        values = [None if found is None else float(kind in found) for found in kinds]
        frame = frame.with_columns(pl.Series(column, values, dtype=pl.Float64))
    return replace(run, frame=frame), titles
