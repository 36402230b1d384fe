"""Paired tests of a model against the field: the mean of the other models on the same problems.

Passes over all problems are a family of tests, and passes by part, as in `compare`; similarities and kinds of answers
are a third. Contrasts of parts are normal tests, and adjusted for their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from caretbench.errors import DataError
from caretbench.grouping import grouped
from caretbench.metrics.error_kinds.kind_table import error_kind_title
from caretbench.metrics.paired import Comparison
from caretbench.people.study_statistics.contrasts import log_odds_contrast, on_both_scales, part_contrast, with_holm
from caretbench.reports.frame import LoadedRun
from caretbench.reports.head.measured_parts import judged_parts, part_tests
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.errors import counted_kinds, row_outcome
from caretbench.reports.results.paired_models import (
    MIN_TESTED,
    PASSED,
    ModelRates,
    PairedTest,
    model_rates,
    paired_tests,
    tested_rows,
)
from caretbench.reports.results.problem_lists import DISSIMILAR, SIMILAR, leading_in
from caretbench.reports.results.run_settings import identity_of
from caretbench.reports.results.strengths import PASSES, SIMILARITY, ModelStrengths, PartContrast, StrengthTest
from caretbench.reports.strata import SEPARATOR, Stratum, strata_of
from caretbench.reports.tables import display_label, display_stratum


class Opponents(NamedTuple):
    """A model, the field and each other model, on the problems that all models have."""

    own: ModelRates
    field: ModelRates
    others: tuple[ModelRates, ...]

    @property
    def pair(self) -> tuple[ModelRates, ModelRates]:
        """The model and the field."""
        return self.own, self.field


def rates_of(rates: Sequence[ModelRates], model: str) -> ModelRates:
    """Return the rates of a model by the name of the model or of a variant.

    Raises:
        DataError: there is no such model, or several variants have its name.
    """
    # Variants (another prompt, another instruction) share the model's name; the exact name goes first.
    matching = [entry for entry in rates if entry.name == model] or [entry for entry in rates if entry.model == model]
    if len(matching) != 1:
        listed = ", ".join(entry.name for entry in rates) or "none"
        problem = "several variants have this name" if matching else "the run has no verdict of such a model"
        raise DataError(f"--strengths {model!r}: {problem}; models: {listed}")
    return matching[0]


def opponents(rates: Sequence[ModelRates], model: str) -> tuple[Opponents | None, tuple[str, ...]]:
    """Return a model and the field on the problems that all have, and the names of the others.

    None if there is no other model, or no common problem.

    Raises:
        DataError: there is no such model, or several variants have its name.
    """
    tested = rates_of(rates, model)
    others = [entry for entry in rates if entry is not tested]
    names = tuple(entry.name for entry in others)
    if not others:
        return None, names
    shared = tested.rates
    for entry in others:
        # Models that answered other problems met other difficulties: only common ones are compared.
        shared = shared.join(entry.rates, on="problem_id", how="semi")
    if shared.is_empty():
        return None, names
    common = shared.select("problem_id")
    # Joined in one order, so that rows of all models are about the same problem.
    kept = tuple(entry._replace(rates=common.join(entry.rates, on="problem_id")) for entry in others)
    mean = (
        pl.concat([entry.rates.select("problem_id", "rate") for entry in kept])
        .group_by("problem_id")
        .agg(pl.col("rate").mean().alias("field_rate"))
    )
    field = shared.join(mean, on="problem_id").drop("rate").rename({"field_rate": "rate"})
    title = field_title(names)
    whole = ModelRates(title, field.select(shared.columns), title, None)
    return Opponents(tested._replace(rates=shared), whole, kept), names


def field_title(names: Sequence[str]) -> str:
    """Return the title of the field: the other model, or the mean of several."""
    return names[0] if len(names) == 1 else f"the mean of the {len(names)} other models"


COSINE = "cosine"
"""Column of the similarity to the reference."""

DISCORDANT_TITLES: Mapping[str, str] = {
    "fails_but_similar": f"fail, although similar to the reference (cosine at least {SIMILAR})",
    "passes_but_dissimilar": f"pass, although dissimilar to the reference (cosine at most {DISSIMILAR})",
}


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
            # Without a verdict nobody knows whether the similarity misleads.
            pl.when(pl.col(PASSED).is_not_null()).then(rule.cast(pl.Float64)).alias(name)
            for name, rule in similar.items()
        )
    answers = {completion.key: completion for completion in run.completions}
    kinds = [
        # 0 and 1 without a verdict would count answers that this machine could not run.
        counted_kinds(
            row_outcome(row, answers.get((row["problem_id"], row["model"], row["parameters"], row["sample"]))),
            row["error_kinds"] or (),
        )
        if row[PASSED] is not None
        else None
        for row in frame.iter_rows(named=True)
    ]
    for kind in sorted({kind for row_kinds in kinds if row_kinds for kind in row_kinds}):
        column = f"kind:{kind}"
        titles[column] = f"have the error kind {error_kind_title(kind).lower()}"
        values = [None if row_kinds is None else float(kind in row_kinds) for row_kinds in kinds]
        frame = frame.with_columns(pl.Series(column, values, dtype=pl.Float64))
    return replace(run, frame=frame), titles


# Labels of built instances alone; released sets have none, so no test is lost for them.
SUBTYPE_LABELS = ("kind", "band")
"""Labels of built problems by which strengths are tested, in addition to those of the suite."""


class _Contrast(NamedTuple):
    """Difference to the field in a part minus that elsewhere, before adjustment."""

    points: Comparison
    log_odds: Comparison


class _Test(NamedTuple):
    """Test of a group before its result."""

    group: str
    measure: str
    title: str
    test: PairedTest
    contrast: _Contrast | None = None


def tested_strengths(source: ReportSource, model: str) -> ModelStrengths:
    """Return all tests of a model against the other models of its run.

    Raises:
        DataError: the run has no such model, or no verdict of it.
    """
    strata = tested_strata(source)
    tests: list[_Test] = []
    names: tuple[str, ...] = ()
    for part in judged_parts(source):
        opposing, others = opponents(list(part.rates()), model)
        # Every part of a run has the same models; the first one with verdicts names them.
        names = names or others
        if opposing is None:
            continue
        judged = part_tests(part, [opposing.pair], strata)
        tests += [_titled(PASSES, test, _contrast(opposing, test, strata)) for test in judged]
    tests += [_titled(SIMILARITY, test) for test in _similarity_tests(source, model, strata)]
    tests += _answer_tests(source, model)
    pairs = zip(tests, _results(tests, source.seed), strict=True)
    groups = grouped((test.group, result) for test, result in pairs)
    return ModelStrengths(model=model, field=names, **{group: tuple(results) for group, results in groups.items()})


def tested_strata(source: ReportSource) -> tuple[Stratum, ...]:
    """Return the strata by single labels: those of the suite, and subtypes of built problems."""
    known = {name for problem in source.run.problems for name in problem.labels}
    labels = dict.fromkeys((*source.stratification.labels, *(name for name in SUBTYPE_LABELS if name in known)))
    single = source.stratification._replace(labels=tuple(labels), crossed=())
    return strata_of(source.run.problems, identity_of(source.run)["profile"], single)


def _titled(measure: str, test: PairedTest, contrast: _Contrast | None = None) -> _Test:
    """Return a test of passes or similarities with its group and title."""
    if test.scope == "all":
        return _Test("overall", measure, measure if test.label == "all" else f"{measure}, {test.label}", test)
    return _Test(measure, measure, part_title(test.scope, test.label), test, contrast)


def _results(tests: Sequence[_Test], seed: int) -> list[StrengthTest]:
    """Return the results of tests, family by family."""
    # `compare` asks about passes of all problems and of parts, so these are families here too: one p for one question.
    # What only this page asks is one family: each further one adds 5 % of pages with a false claim.
    names = [test.group if test.measure == PASSES else SIMILARITY for test in tests]
    families = grouped((name, index) for index, name in enumerate(names))
    rows = {
        index: row
        for family in families.values()
        for index, row in zip(family, tested_rows([tests[index].test for index in family], seed), strict=True)
    }
    contrasts = iter(with_holm([on_both_scales(*test.contrast) for test in tests if test.contrast is not None]))
    return [
        StrengthTest(
            measure=test.measure,
            title=test.title,
            row=rows[index],
            contrast=None if test.contrast is None else _part_contrast(test.contrast, next(contrasts)),
        )
        for index, test in enumerate(tests)
    ]


def _part_contrast(contrast: _Contrast, adjusted: Comparison) -> PartContrast:
    interval, odds = adjusted.interval, contrast.log_odds
    return PartContrast(
        difference=adjusted.difference,
        low=interval.low,
        high=interval.high,
        log_odds=odds.difference,
        log_odds_low=odds.interval.low,
        log_odds_high=odds.interval.high,
        p_value=adjusted.p_value,
        family=adjusted.family,
        distinguishable=adjusted.distinguishable,
    )


def _contrast(opposing: Opponents, test: PairedTest, strata: Sequence[Stratum]) -> _Contrast | None:
    """Return the contrast of a part with the rest; None if elsewhere are too few problems."""
    # A label begins with the part that was judged, where there are several.
    values = test.label.rpartition(": ")[2]
    parts = (part for stratum in strata if stratum.name == test.scope for part in stratum.parts)
    part = next((part for part in parts if SEPARATOR.join(part.labels.values()) == values), None)
    if part is None:
        return None
    own, field, *others = (entry.rates.sort("problem_id") for entry in (*opposing.pair, *opposing.others))
    inside = own["problem_id"].is_in(list(part.problems)).to_list()
    # The rest must bear an estimate too: a contrast with a language that is nearly all problems compares with a
    # handful.
    if min(sum(inside), len(inside) - sum(inside)) < MIN_TESTED:
        return None
    clusters = own["cluster"].to_list()
    return _Contrast(
        part_contrast((own["rate"] - field["rate"]).to_list(), inside, clusters),
        log_odds_contrast(own["rate"].to_list(), [other["rate"].to_list() for other in others], inside, clusters),
    )


def _similarity_tests(source: ReportSource, model: str, strata: Sequence[Stratum]) -> list[PairedTest]:
    if COSINE not in source.run.frame.columns:
        return []
    # Similarities stand beside passes, and mean other things where no answer is needed.
    leading = leading_in(source.run, identity_of(source.run)["profile"])
    rates = list(model_rates(source.run, measure=COSINE, only=None if leading.rule == "all" else leading.problems))
    if not rates:
        return []
    sides, _ = opponents(rates, model)
    return [] if sides is None else list(paired_tests(*sides.pair, strata))


def part_title(scope: str, label: str) -> str:
    """Return a part in words: ``category pattern matching``."""
    before, separator, value = label.rpartition(": ")
    return f"{before}{separator}{display_stratum(scope)} {display_label(scope, value)}"


def _answer_tests(source: ReportSource, model: str) -> Iterator[_Test]:
    """Yield the tests of shares of answers: similarity and execution disagree, or an error kind."""
    run, titles = answer_shares(source.run)
    judged = list(model_rates(run))
    if not judged:
        return
    opposing, _ = opponents(judged, model)
    if opposing is None:
        return
    ids = set(opposing.own.rates["problem_id"])
    for name, title in titles.items():
        shares, _ = opponents(list(model_rates(run, measure=name, only=ids)), model)
        # Kinds that no model has would only lengthen the family of tests, and raise all p values.
        if shares is not None and any((side.rates["rate"] > 0).any() for side in shares.pair):
            for test in paired_tests(*shares.pair):
                yield _Test("answers", name, title, test)
