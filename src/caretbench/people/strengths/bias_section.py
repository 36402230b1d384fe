"""Generator bias: gain of a family's models on problems that the same family wrote, and its section in a report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from caretbench.judging.model_families import model_family
from caretbench.metrics.intervals import Floats
from caretbench.metrics.paired import Comparison, Pair, compare_family
from caretbench.people.strengths.strength_sentences import p_words, points_interval, points_range
from caretbench.people.study_statistics.contrasts import normal_comparison, smallest_effect, with_holm
from caretbench.problem import Problem
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import ModelRates, model_rates
from caretbench.reports.results.strengths import BiasRow, GeneratorBias
from caretbench.reports.section import Line, PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import FieldValues, ReportTable, number_field, table_of, text_field
from caretbench.text_tables import counted, p_text

KeyT = TypeVar("KeyT", str, int)


class AnsweredProblems(NamedTuple):
    """Rates of models on problems, with the families of both."""

    rates: Floats
    """One row a model, one column a problem; NaN without a verdict."""
    model_families: Sequence[str]
    problem_families: Sequence[str]
    scenarios: Sequence[str]
    """Scenario of each problem: families that wrote for the same one are compared."""


class BiasEstimate(NamedTuple):
    """Bias towards a family's own problems, of all families, one family or one model."""

    points: Comparison
    """Own gain minus the gain of others, over scenarios; rates run from 0 to 1."""
    log_odds: Comparison
    """The same in log odds of discordant answers, with a jackknife over scenarios."""
    smallest: float
    """Smallest bias that so many scenarios find in 80 % of cases."""

    @property
    def claimed(self) -> bool:
        """Return whether there is a bias: distinguishable on both scales, in the same direction."""
        both = self.points.distinguishable and self.log_odds.distinguishable
        return both and self.points.difference * self.log_odds.difference > 0


class _Gains(NamedTuple):
    """Gains by model and scenario, and the rates on own and other problems that they are made of."""

    own: Floats
    """Rates on problems of the family, models × scenarios."""
    other: Floats
    """Rates on problems of the other families."""
    present: NDArray[np.bool_]
    """Scenarios in which every model has both."""
    discordant: Floats
    """Numbers of discordant answers by scenario: problems of the family and of others × solved by the first and by the
    second of two models × the family's own models × other models × scenarios."""


_Side = tuple[_Gains, NDArray[np.bool_]]
"""Gains on a family's problems, and a mark for each of its own models."""


def own_family_bias(answered: AnsweredProblems, *, seed: int) -> BiasEstimate | None:
    """Return the mean bias of all families; None if no scenario can tell.

    Raises:
        ValueError: sequences of different lengths.
    """
    sides = [_family(answered, family) for family in bias_families(answered)]
    return _estimates({"all": sides}, seed).get("all")


def bias_by_family(answered: AnsweredProblems, *, seed: int) -> dict[str, BiasEstimate]:
    """Return the bias of each family, with p values for all families together."""
    return _estimates({family: [_family(answered, family)] for family in bias_families(answered)}, seed)


def bias_by_model(answered: AnsweredProblems, *, seed: int) -> dict[int, BiasEstimate]:
    """Return the bias of each model of a generator's family by its row, with p values for all of them together.

    A model is compared with the models of other families.
    """
    sides: dict[int, list[_Side]] = {}
    for family in bias_families(answered):
        gains, of_family = _family(answered, family)
        for row in np.flatnonzero(of_family):
            # Without the family's other models: with them the comparison would be between friends.
            kept = ~of_family | (np.arange(len(of_family)) == row)
            first = int(of_family[:row].sum())
            discordant = gains.discordant[:, :, first : first + 1]
            alone = _Gains(gains.own[kept], gains.other[kept], gains.present, discordant)
            sides[int(row)] = [(alone, of_family[kept])]
    return _estimates(sides, seed)


def bias_families(answered: AnsweredProblems) -> list[str]:
    """Return the families that wrote problems and have models, where other families have both problems and models."""
    models, problems = set(answered.model_families), set(answered.problem_families)
    return sorted(family for family in models & problems if models - {family} and problems - {family})


def _family(answered: AnsweredProblems, family: str) -> _Side:
    """Return the gains of all models on a family's problems."""
    names = sorted(set(answered.problem_families))
    _, scenarios = np.unique(np.asarray(answered.scenarios), return_inverse=True)
    count = int(scenarios.max()) + 1
    codes = np.asarray([names.index(name) for name in answered.problem_families]) * count + scenarios
    has_verdict = ~np.isnan(answered.rates)
    shape = (len(answered.rates), len(names), count)
    width = len(names) * count
    sums = np.stack([np.bincount(codes, np.nan_to_num(row), width) for row in answered.rates]).reshape(shape)
    sizes = np.stack([np.bincount(codes, row, width) for row in has_verdict]).reshape(shape)
    means = sums / np.maximum(sizes, 1)
    # All models in each scenario: a gain over other scenarios than the others' is no gain.
    there: NDArray[np.bool_] = np.all(sizes > 0, axis=0)
    written_by = names.index(family)
    others = there.copy()
    others[written_by] = False
    number = others.sum(axis=0)
    other = (means * others).sum(axis=1) / np.maximum(number, 1)
    own = np.asarray(answered.model_families) == family
    written = np.asarray(answered.problem_families) == family
    discordant = np.stack([_discordant(answered.rates * np.where(chosen, 1, np.nan), own, scenarios, count)
                           for chosen in (written, ~written)])  # fmt: skip
    return _Gains(means[:, written_by], other, there[written_by] & (number > 0), discordant), own


def _discordant(rates: Floats, own: NDArray[np.bool_], scenarios: NDArray[np.int64], count: int) -> Floats:
    """Return how often one of two models solves a problem and the other does not, by scenario.

    Of several answers to a problem, each of one model is compared with each of the other. Problems that are NaN for one
    of the two do not count.
    """
    first, second = rates[own][:, None], rates[~own][None]
    chances = np.stack([np.nan_to_num(first * (1 - second)), np.nan_to_num(second * (1 - first))])
    sums: Floats = np.zeros((*chances.shape[:3], count))
    np.add.at(np.moveaxis(sums, -1, 0), scenarios, np.moveaxis(chances, -1, 0))
    return sums


def _estimates(by_model: Mapping[KeyT, Sequence[_Side]], seed: int) -> dict[KeyT, BiasEstimate]:
    """Return the bias of each entry that some scenario tells of, with p values for all of them together."""
    telling = {key: [side for side in sides if side[0].present.any()] for key, sides in by_model.items()}
    present = {key: sides for key, sides in telling.items() if sides}
    gains = [_mean_gains(sides) for sides in present.values()]
    points = compare_family(gains, seed=seed)
    odds = with_holm([_log_odds(sides, bias.n) for sides, bias in zip(present.values(), points, strict=True)])
    estimates = {}
    for key, pair, in_points, in_log_odds in zip(present, gains, points, odds, strict=True):
        number = len(pair.first)
        spread = float(np.std(np.subtract(pair.second, pair.first), ddof=1)) if number > 1 else math.nan
        estimates[key] = BiasEstimate(in_points, in_log_odds, smallest_effect(spread / math.sqrt(number)))
    return estimates


def _mean_gains(sides: Sequence[_Side]) -> Pair:
    """Return the mean gain of others and of own models by scenario, where some family has problems of both."""
    number = sum(gains.present.astype(np.float64) for gains, _ in sides)
    present = np.asarray(number) > 0
    pairs = []
    for chosen in (True, False):
        rows = [_mean_gain(gains, own if chosen else ~own) for gains, own in sides]
        pairs.append((np.sum(rows, axis=0) / np.maximum(number, 1))[present])
    mine, theirs = pairs
    # One value for each scenario, since problems of one scenario are alike; its name is the same for all families.
    return Pair(theirs.tolist(), mine.tolist(), [str(scenario) for scenario in np.flatnonzero(present)])


def _mean_gain(gains: _Gains, rows: NDArray[np.bool_]) -> Floats:
    """Return the mean gain of some models by scenario; 0 where it is not known."""
    mean_gain: Floats = (gains.own[rows] - gains.other[rows]).mean(axis=0) * gains.present
    return mean_gain


def _log_odds(sides: Sequence[_Side], scenarios: int) -> Comparison:
    """Return the bias in log odds of discordant answers: the mean over pairs of models, with a jackknife."""
    whole, without = [], []
    for gains, _ in sides:
        counts = gains.discordant * gains.present
        totals = counts.sum(axis=-1, keepdims=True)
        whole.append(float(_log_odds_ratio(totals).mean()))
        # A jackknife leaves one scenario out: its problems are alike too.
        without.append(_log_odds_ratio(totals - counts).mean(axis=(0, 1)))
    estimate, parts = math.fsum(whole) / len(whole), np.mean(without, axis=0)
    count = len(parts)
    error = math.sqrt(float(((parts - parts.mean()) ** 2).sum()) * (count - 1) / count)
    return normal_comparison(estimate, error, n=scenarios, groups=scenarios)


def _log_odds_ratio(counts: Floats) -> Floats:
    """Return the log odds on a family's problems minus those on others, by pair of models; 1/2 is added to counts."""
    # Two models that never differ have 0 to 0, which the halves make 1.
    odds = np.log((counts[:, 0] + 0.5) / (counts[:, 1] + 0.5))
    ratio: Floats = odds[0] - odds[1]
    return ratio


FAMILY_LABEL = "generator_family"
"""Label with the family of the model that wrote a problem."""
SCENARIO_LABEL = "scenario"
"""Label with the scenario of a problem, for which several generators wrote."""


def generator_bias(source: ReportSource) -> GeneratorBias | None:
    """Return the generator bias of a run; None without two families of generators, or models of one of them."""
    run = source.run
    problems = [problem for problem in run.problems if {FAMILY_LABEL, SCENARIO_LABEL} <= problem.labels.keys()]
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
        overall=_row("all families", overall),
        families=tuple(_row(name, estimate) for name, estimate in families.items() if _differs(estimate, overall)),
        by_model=tuple(
            _row(names[row], estimate) for row, estimate in sorted(bias_by_model(answered, seed=source.seed).items())
        ),
    )


def _answered(known: Sequence[ModelRates], problems: Sequence[Problem]) -> AnsweredProblems:
    ids = pl.DataFrame({"problem_id": [problem.id for problem in problems]})
    columns = [ids.join(entry.rates.select("problem_id", "rate"), on="problem_id", how="left") for entry in known]
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
        return [_bias_table(summary.generator_bias)] if summary.generator_bias else []

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
        notes, tables = list(self.notes(shown.summary)), list(self.tables(shown.summary))
        return [PageBlock(notes=notes, tables=tables)] if tables else []


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
    return counted(row.scenarios, "scenario")


def _points(value: float) -> str:
    return f"{100 * value:.1f} points"


def _bias_table(bias: GeneratorBias) -> ReportTable:
    heads = (
        "Models", "Scenarios", "Bias (points)", "p", "Bias (log odds)", "p (log odds)", "Smallest found", "Verdict",
    )  # fmt: skip
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
