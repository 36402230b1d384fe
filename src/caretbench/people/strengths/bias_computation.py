"""Computation of generator bias from a run whose problems were written by models of several families."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from caretbench.judging.model_families import model_family
from caretbench.people.study_statistics.generator_bias import (
    AnsweredProblems,
    BiasEstimate,
    bias_by_family,
    bias_by_model,
    bias_families,
    own_family_bias,
    solved_by_own_family_only,
)
from caretbench.problem import Problem
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import ModelRates, model_rates
from caretbench.reports.results.strengths import BiasRow, GeneratorBias, OwnFamilyProblem

FAMILY_LABEL = "generator_family"
"""Label with the family of the model that wrote a problem."""
SCENARIO_LABEL = "scenario"
"""Label with the scenario of a problem, for which several generators wrote."""

ALL_FAMILIES = "all families"


def generator_bias(source: ReportSource) -> GeneratorBias | None:
    """Return the generator bias of a run; None without two families of generators, or models of one of them."""
    run = source.run
    problems = [one for one in run.problems if FAMILY_LABEL in one.labels and SCENARIO_LABEL in one.labels]
    if len({problem.label(FAMILY_LABEL) for problem in problems}) < 2:
        return None
    rates = list(model_rates(run, only={problem.id for problem in problems}))
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
        only_own=tuple(_own_problems(answered, problems, names)),
        only_others=len(solved_by_own_family_only(answered, swapped=True)),
    )


def _answered(known: Sequence[ModelRates], problems: Sequence[Problem]) -> AnsweredProblems:
    ids = pl.DataFrame({"problem_id": [problem.id for problem in problems]})
    columns = [ids.join(one.rates.select("problem_id", "rate"), on="problem_id", how="left") for one in known]
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
        smallest=None if math.isnan(estimate.smallest) else estimate.smallest,
        claimed=estimate.claimed,
    )


def _own_problems(
    answered: AnsweredProblems, problems: Sequence[Problem], names: Sequence[str]
) -> list[OwnFamilyProblem]:
    return [
        OwnFamilyProblem(
            problem_id=problems[column].id,
            family=answered.problem_families[column],
            models=tuple(name for name, rate in zip(names, answered.rates[:, column], strict=True) if rate >= 0.5),
        )
        for column in solved_by_own_family_only(answered)
    ]
