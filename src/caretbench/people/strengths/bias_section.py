"""Section of generator bias, for runs whose problems were written by models of several families."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from caretbench.judging.model_families import model_family
from caretbench.people.strengths.strength_sentences import p_words, points_interval, points_range
from caretbench.people.study_statistics.generator_bias import (
    AnsweredProblems,
    BiasEstimate,
    bias_by_family,
    bias_by_model,
    bias_families,
    own_family_bias,
)
from caretbench.problem import Problem
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import ModelRates, model_rates
from caretbench.reports.results.strengths import BiasRow, GeneratorBias
from caretbench.reports.section import Line, PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import FieldValues, ReportTable, number_field, table_of, text_field
from caretbench.text_tables import p_text

FAMILY_LABEL = "generator_family"
"""Label with the family of the model that wrote a problem."""
SCENARIO_LABEL = "scenario"
"""Label with the scenario of a problem, for which several generators wrote."""

ALL_FAMILIES = "all families"


def generator_bias(source: ReportSource) -> GeneratorBias | None:
    """Return the generator bias of a run; None without two families of generators, or models of one of them."""
    run = source.run
    problems = [one for one in run.problems if FAMILY_LABEL in one.labels and SCENARIO_LABEL in one.labels]
    # With one family, a gain on its problems and their difficulty are the same number.
    if len({problem.label(FAMILY_LABEL) for problem in problems}) < 2:
        return None
    rates = list(model_rates(run, only={problem.id for problem in problems}))
    # A model without a known family is neither own nor other.
    known = [entry for entry in rates if model_family(entry.model) is not None]
    if not known:
        return None
    answered = _answered(known, problems)
    overall = own_family_bias(answered, seed=source.seed) if bias_families(answered) else None
    if overall is None:
        return None
    names = [entry.name for entry in known]
    families = bias_by_family(answered, seed=source.seed)
    return GeneratorBias(
        problems=dict(sorted(Counter(answered.problem_families).items())),
        models={
            family: tuple(name for name, own in zip(names, answered.model_families, strict=True) if own == family)
            for family in sorted(set(answered.model_families))
        },
        unknown_models=tuple(entry.name for entry in rates if model_family(entry.model) is None),
        overall=_row(ALL_FAMILIES, overall),
        families=tuple(_row(name, estimate) for name, estimate in families.items() if _differs(estimate, overall)),
        by_model=tuple(
            _row(names[row], estimate) for row, estimate in sorted(bias_by_model(answered, seed=source.seed).items())
        ),
    )


def _answered(known: Sequence[ModelRates], problems: Sequence[Problem]) -> AnsweredProblems:
    ids = pl.DataFrame({"problem_id": [problem.id for problem in problems]})
    columns = [ids.join(one.rates.select("problem_id", "rate"), on="problem_id", how="left") for one in known]
    # A missing verdict is no failure.
    values = [column["rate"].cast(pl.Float64).fill_null(math.nan).to_numpy() for column in columns]
    return AnsweredProblems(
        rates=np.stack(values),
        model_families=[str(model_family(entry.model)) for entry in known],
        problem_families=[problem.label(FAMILY_LABEL) for problem in problems],
        scenarios=[problem.label(SCENARIO_LABEL) for problem in problems],
    )


def _differs(estimate: BiasEstimate, overall: BiasEstimate) -> bool:
    """Return whether a family's bias is another number than that of all: with two families both are the same."""
    return estimate.points.n != overall.points.n or abs(estimate.points.difference - overall.points.difference) > 1e-9


def _row(name: str, estimate: BiasEstimate) -> BiasRow:
    points, odds = estimate.points, estimate.log_odds
    defined = not math.isnan(points.interval.low)
    return BiasRow(
        name=name,
        scenarios=points.n,
        bias=points.difference,
        low=points.interval.low if defined else None,
        high=points.interval.high if defined else None,
        p_value=points.p_value,
        log_odds=odds.difference,
        log_odds_low=odds.interval.low,
        log_odds_high=odds.interval.high,
        log_odds_p_value=odds.p_value,
        # NaN is no JSON.
        smallest=None if math.isnan(estimate.smallest) else estimate.smallest,
        claimed=estimate.claimed,
    )


class GeneratorBiasSection(Section):
    """Section of generator bias: appears where problems have labels of two families of generators."""

    positions = SectionPositions(text=60, page=75, lines=90)
    part = PagePart("generator-bias", "Generator bias", "Do models gain on problems of their own family?")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the generator bias."""
        return {"generator_bias": generator_bias(source)}

    def notes(self, summary: Summary) -> Iterable[str]:
        """Return the finding in one sentence."""
        return [bias_sentence(summary.generator_bias)] if summary.generator_bias else []

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return the table of biases."""
        bias = summary.generator_bias
        if bias is None:
            return []
        return [_bias_table(bias)]

    def lines(self, summary: Summary) -> Iterable[Line]:
        """Return the biases."""
        bias = summary.generator_bias
        for row in (bias.overall, *bias.families, *bias.by_model) if bias else ():
            yield {
                "scope": "generator bias", "model": row.name, "metric": "own gain minus others' gain",
                "value": row.bias, "low": row.low, "high": row.high, "problems": row.scenarios, "method": "scenarios",
                "note": row.verdict,
            }  # fmt: skip

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the sentence and the tables."""
        bias = shown.summary.generator_bias
        if bias is None:
            return []
        return [PageBlock(notes=[bias_sentence(bias)], tables=list(self.tables(shown.summary)))]


def bias_sentence(bias: GeneratorBias) -> str:
    """Return the finding over all families, with the smallest bias that the scenarios can find."""
    row = bias.overall
    smallest = (
        "" if row.smallest is None else f" {_scenarios(row)} find a bias of {_points(row.smallest)} in 80% of cases."
    )
    if row.claimed:
        more = "more" if row.bias > 0 else "less"
        return (
            f"Models gain {_points(abs(row.bias))} {more} on problems that their own family wrote than other models do"
            f"{points_interval(row.low, row.high)} ({_scenarios(row)}, {p_words(row.p_value)}).{smallest}"
        )
    return (
        f"Bias of generators towards their own family's models: {row.verdict} "
        f"({100 * row.bias:+.1f} points{points_interval(row.low, row.high)}, {_scenarios(row)}).{smallest}"
    )


def _scenarios(row: BiasRow) -> str:
    return f"{row.scenarios} {'scenario' if row.scenarios == 1 else 'scenarios'}"


def _points(value: float) -> str:
    return f"{100 * value:.1f} points"


def _bias_table(bias: GeneratorBias) -> ReportTable:
    heads = (
        "Models",
        "Scenarios",
        "Bias (points)",
        "p",
        "Bias (log odds)",
        "p (log odds)",
        "Smallest found",
        "Verdict",
    )
    rows = [_fields(row) for row in (bias.overall, *bias.families, *bias.by_model)]
    written = ", ".join(f"{family} {count}" for family, count in bias.problems.items())
    unknown = f" Without a known family: {', '.join(bias.unknown_models)}." if bias.unknown_models else ""
    return table_of(
        "Gain on problems of the own family, minus the gain of other models",
        heads,
        rows,
        f"Problems by family of the generator: {written}. A gain is the rate on a family's problems minus the rate on "
        "the others of the same scenario. A bias is claimed if it is distinguishable in points and in log odds. "
        "P values are for all families, or all models (log odds: Holm). The smallest bias is the one that so "
        f"many scenarios find in 80% of cases.{unknown}",
    )


def _fields(row: BiasRow) -> FieldValues:
    return (
        row.name,
        row.scenarios,
        number_field(row.bias, f"{100 * row.bias:+.1f}", points_range(row.low, row.high)),
        number_field(row.p_value, p_text(row.p_value)),
        number_field(row.log_odds, f"{row.log_odds:+.2f}", f"{row.log_odds_low:+.2f} to {row.log_odds_high:+.2f}"),
        number_field(row.log_odds_p_value, p_text(row.log_odds_p_value)),
        number_field(row.smallest, None if row.smallest is None else f"{100 * row.smallest:.1f}"),
        text_field(row.verdict, "warning" if row.claimed else ""),
    )
