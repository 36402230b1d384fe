"""Paired tests of a model against the field: the mean of the other models on the same problems.

The p values of all tests are adjusted together: one report of one model makes one set of claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from caretbench.metrics.paired import Comparison, with_holm
from caretbench.people.strengths.answer_shares import COSINE, answer_shares
from caretbench.people.strengths.field_rates import Opponents, opponents
from caretbench.people.study_statistics.part_contrast import log_odds_contrast, on_both_scales, part_contrast
from caretbench.reports.head.measured_parts import judged_parts, part_tests
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import (
    MIN_TESTED,
    ComparisonRow,
    PairedTest,
    model_rates,
    paired_tests,
    with_result,
)
from caretbench.reports.results.run_settings import identity_of
from caretbench.reports.results.strengths import PASSES, SIMILARITY, PartContrast, StrengthTest
from caretbench.reports.strata import SEPARATOR, Stratum, strata_of
from caretbench.reports.tables import display_label, display_stratum

SUBTYPE_LABELS = ("kind", "band")
"""Labels of built problems by which strengths are tested, in addition to those of the suite."""


class TestedStrengths(NamedTuple):
    """Tests of a model against the field, in groups, with p values adjusted over all groups."""

    field: tuple[str, ...]
    overall: tuple[StrengthTest, ...] = ()
    passes: tuple[StrengthTest, ...] = ()
    similarity: tuple[StrengthTest, ...] = ()
    answers: tuple[StrengthTest, ...] = ()


class _Contrast(NamedTuple):
    """Difference to the field in a part minus that elsewhere, before adjustment."""

    points: Comparison
    log_odds: Comparison


class _Test(NamedTuple):
    """Test of a group before adjustment."""

    group: str
    measure: str
    title: str
    test: PairedTest
    contrast: _Contrast | None = None


def tested_strengths(source: ReportSource, model: str) -> TestedStrengths:
    """Return all tests of a model against the other models of its run.

    Raises:
        DataError: the run has no such model, or no verdict of it.
    """
    strata = tested_strata(source)
    tests: list[_Test] = []
    names: tuple[str, ...] = ()
    for part in judged_parts(source):
        found, others = opponents(list(part.rates()), model)
        names = names or others
        if found is None:
            continue
        judged = part_tests(part, [found.pair], source.seed, strata)
        tests += [_titled(PASSES, test, _contrast(found, test[0], strata)) for test in judged]
    tests += [_titled(SIMILARITY, test) for test in _similarity_tests(source, model, strata)]
    tests += _answer_tests(source, model)
    groups: dict[str, list[StrengthTest]] = {}
    for one, adjusted in zip(tests, _adjusted(tests), strict=True):
        groups.setdefault(one.group, []).append(adjusted)
    return TestedStrengths(names, **{group: tuple(found) for group, found in groups.items()})


def tested_strata(source: ReportSource) -> tuple[Stratum, ...]:
    """Return the strata by single labels: those of the suite, and subtypes of built problems."""
    known = {name for problem in source.run.problems for name in problem.labels}
    labels = dict.fromkeys((*source.stratification.labels, *(name for name in SUBTYPE_LABELS if name in known)))
    single = source.stratification._replace(labels=tuple(labels), crossed=())
    return strata_of(source.run.problems, identity_of(source.run)["profile"], single)


def _titled(measure: str, test: PairedTest, contrast: _Contrast | None = None) -> _Test:
    """Return a test of passes or similarities with its group and title."""
    row, _ = test
    if row.scope == "all":
        return _Test("overall", measure, measure if row.label == "all" else f"{measure}, {row.label}", test)
    return _Test(measure, measure, part_title(row.scope, row.label), test, contrast)


def _adjusted(tests: Sequence[_Test]) -> Iterator[StrengthTest]:
    """Yield the tests with p values adjusted for the number of all tests and contrasts (Holm)."""
    both = [None if one.contrast is None else on_both_scales(*one.contrast) for one in tests]
    claims = [one.test[1] for one in tests] + [contrast for contrast in both if contrast is not None]
    adjusted = with_holm(claims)
    contrasts = iter(adjusted[len(tests) :])
    for one, result in zip(tests, adjusted[: len(tests)], strict=True):
        contrast = None if one.contrast is None else _part_contrast(one.contrast, next(contrasts))
        row = with_result(one.test[0], result)
        yield StrengthTest(measure=one.measure, title=one.title, row=row, contrast=contrast)


def _part_contrast(found: _Contrast, adjusted: Comparison) -> PartContrast:
    interval, odds = adjusted.interval, found.log_odds
    return PartContrast(
        difference=adjusted.difference,
        low=interval.low,
        high=interval.high,
        log_odds=odds.difference,
        log_odds_low=odds.interval.low,
        log_odds_high=odds.interval.high,
        p_value=adjusted.p_value,
        distinguishable=adjusted.distinguishable,
    )


def _contrast(found: Opponents, row: ComparisonRow, strata: Sequence[Stratum]) -> _Contrast | None:
    """Return the contrast of a part with the rest; None if elsewhere are too few problems."""
    stratum = next((one for one in strata if one.name == row.scope), None)
    values = row.label.rpartition(": ")[2]
    parts = () if stratum is None else stratum.parts
    part = next((one for one in parts if SEPARATOR.join(one.labels.values()) == values), None)
    if part is None:
        return None
    own, field, *others = (one.rates.sort("problem_id") for one in (*found.pair, *found.others))
    inside = own["problem_id"].is_in(list(part.problems)).to_list()
    if min(sum(inside), len(inside) - sum(inside)) < MIN_TESTED:
        return None
    clusters = own["cluster"].to_list()
    return _Contrast(
        part_contrast((own["rate"] - field["rate"]).to_list(), inside, clusters),
        log_odds_contrast(own["rate"].to_list(), [one["rate"].to_list() for one in others], inside, clusters),
    )


def _similarity_tests(source: ReportSource, model: str, strata: Sequence[Stratum]) -> list[PairedTest]:
    if COSINE not in source.run.frame.columns:
        return []
    rates = list(model_rates(source.run, measure=COSINE))
    if not rates:
        return []
    found, _ = opponents(rates, model)
    return [] if found is None else list(paired_tests(*found.pair, source.seed, strata))


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
    found, _ = opponents(judged, model)
    if found is None:
        return
    ids = set(found.own.rates["problem_id"])
    for name, title in titles.items():
        shares, _ = opponents(list(model_rates(run, measure=name, only=ids)), model)
        if shares is not None and any((side.rates["rate"] > 0).any() for side in shares.pair):
            for test in paired_tests(*shares.pair, source.seed):
                yield _Test("answers", name, title, test)
