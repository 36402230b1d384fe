"""Paired tests of two models over shares of passes by problem, what such a comparison finds, and its sentences."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from caretbench.metrics.paired import Pair, compare_family, is_decidable, without_difference
from caretbench.metrics.power import power_of
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.problem_lists import excluded_in, leading_problems
from caretbench.reports.results.run_settings import IncomparableError, model_order, settings_of, variant_titles
from caretbench.reports.strata import SEPARATOR, Stratum
from caretbench.suites import suite_of_run
from caretbench.text_tables import counted

PASSED = "passed"
"""Measure of a comparison by default: passes, whose means are pass@1."""

ALL_PARTS = "all parts"
"""Label of the comparison over the problems of all parts."""
MIN_TESTED = 20
"""Minimum number of common problems of a part that is tested, or has a chart of its own."""

_MODEL = ("model", "parameters")
_TESTS = {"mcnemar_exact": "exact McNemar", "sign_flips": "sign flips"}


class ComparisonRow(ReportValue):
    """Comparison of two models on one part of the problems; rates and differences run from 0 to 1.

    ``difference`` is the first model's pass@1, or mean of another measure, minus the second's. ``p_value`` is for the
    whole ``family``: the number of tests that one table shows, without those that are not ``decidable``. ``groups`` is
    the number of independent groups of problems, ``critical`` the bound of the statistic in a family of several tests.
    ``smallest`` is the smallest difference that is found in 8 of 10 such comparisons, ``needed`` the number of problems
    for one of 5 points, ``way_on`` the option that gives so many, and ``differ`` the number of problems with other
    rates; empty where not computed, or nothing is found.
    """

    first: str
    second: str
    scope: str
    label: str
    problems: int
    first_rate: float
    second_rate: float
    difference: float
    low: float | None
    high: float | None
    p_value: float
    test: str
    groups: int
    distinguishable: bool
    family: int = 1
    warning: str | None = None
    critical: float | None = None
    smallest: float | None = None
    needed: int | None = None
    way_on: str = ""
    differ: int | None = None

    @property
    def verdict(self) -> str:
        """Conclusion: the better one, or why there is none to be seen."""
        if self.distinguishable:
            return f"{self.first if self.difference > 0 else self.second} is better"
        return without_difference(self.groups)

    @property
    def decidable(self) -> bool:
        """Return whether so many groups can tell a difference from chance."""
        return is_decidable(self.groups)


class PairedTest(NamedTuple):
    """Scores of two models on one part of the problems, before the test; the second model's scores go first."""

    first: str
    second: str
    scope: str
    label: str
    scores: Pair


class ModelRates(NamedTuple):
    """Shares of passing samples of one model by problem, or means of another measure (column ``rate``).

    The column ``total`` has the sum over samples, ``samples`` their number.
    """

    name: str
    rates: pl.DataFrame
    model: str
    settings: Mapping[str, str] | None
    """Settings of the model; None for recorded answers."""
    parameters: str = ""


def model_rates(
    run: LoadedRun,
    models: Collection[str] = (),
    measure: str = PASSED,
    only: Collection[str] | None = None,
    *,
    needless: bool = False,
) -> Iterator[ModelRates]:
    """Yield the rates of the models of a run under its policy and profile, by name.

    Passes are over the problems that lead under the profile.

    Args:
        run: The run.
        models: Names of models or baselines; by default all models.
        measure: Column of the run's table: passes, or a similarity, which excluded problems have too.
        only: Ids of the problems that count; by default all.
        needless: Passes are over all problems, those that need no answer too.
    """
    judged = run.own_rows.filter(pl.col(measure).is_not_null())
    if measure == PASSED:
        profile = str(run.manifest.get("profile"))
        excluded = excluded_in(run, profile)
        judged = judged.filter(~pl.col("problem_id").is_in(list(excluded)))
        if not needless:
            leading = leading_problems(run.frame, run.problems, profile, excluded)
            judged = judged.filter(pl.col("problem_id").is_in(list(leading.problems)))
    if only is not None:
        judged = judged.filter(pl.col("problem_id").is_in(list(only)))
    parts = {(str(key[0]), str(key[1])): part for key, part in judged.partition_by(*_MODEL, as_dict=True).items()}
    titles = variant_titles(run.manifest, parts)
    for model, parameters in sorted(parts, key=lambda key: (key[0], model_order(run.manifest, *key), key[1])):
        if model not in models if models else model in run.baselines:
            continue
        firsts = [pl.col(column).first() for column in ("language", "category", "cluster", "overlap_group")]
        numbers = pl.col(measure).mean().alias("rate"), pl.col(measure).sum().alias("total"), pl.len().alias("samples")
        rates = parts[model, parameters].group_by("problem_id").agg(*numbers, *firsts)
        settings = settings_of(run.manifest, model, parameters)
        yield ModelRates(titles[model, parameters], rates, model, settings, parameters)


def floors_above(model: ModelRates, floors: Iterable[ModelRates]) -> Iterator[tuple[str, float]]:
    """Yield the baselines with a higher rate than a model on their common problems, with that rate."""
    for floor in floors:
        common = floor.rates.join(model.rates.select("problem_id", own="rate"), on="problem_id")
        value, ours = common.select(pl.col("rate", "own").cast(pl.Float64).sum()).row(0)
        if value > ours:
            yield floor.name, value / common.height


def paired_tests(first: ModelRates, second: ModelRates, strata: Sequence[Stratum] = ()) -> Iterator[PairedTest]:
    """Yield the test of two models on their common problems, then those of parts with :data:`MIN_TESTED` problems.

    A part with all problems is omitted.

    Raises:
        IncomparableError: there is no common problem.
    """
    other = second.rates.select("problem_id", pl.col("rate").alias("second_rate"))
    common = first.rates.join(other, on="problem_id").sort("problem_id")
    if common.is_empty():
        raise IncomparableError(f"{first.name} and {second.name} have no common problem with verdicts of both")
    # A problem without an overlap group has the same name in all parts, so that its flips are the same.
    common = common.with_columns(pl.coalesce("overlap_group", "problem_id").alias("overlap_group"))
    yield _test(first, second, "all", "all", common)
    for stratum in strata:
        for part in sorted(stratum.parts, key=lambda part: (part.order, tuple(part.labels.values()))):
            rows = common.filter(pl.col("problem_id").is_in(list(part.problems)))
            if MIN_TESTED <= rows.height < common.height:
                yield _test(first, second, stratum.name, SEPARATOR.join(part.labels.values()), rows)


def _test(first: ModelRates, second: ModelRates, scope: str, label: str, common: pl.DataFrame) -> PairedTest:
    columns = ("second_rate", "rate", "cluster", "overlap_group")  # the first model's difference to the second
    return PairedTest(first.name, second.name, scope, label, Pair(*(common[name].to_list() for name in columns)))


def tested_rows(tests: Sequence[PairedTest], seed: int) -> tuple[ComparisonRow, ...]:
    """Return the results of tests that one table shows: one family."""
    results = compare_family([test.scores for test in tests], seed=seed)
    rows = []
    for test, result in zip(tests, results, strict=True):
        defined = not math.isnan(result.interval.low)
        row = ComparisonRow(
            first=test.first,
            second=test.second,
            scope=test.scope,
            label=test.label,
            problems=result.n,
            first_rate=math.fsum(test.scores.second) / result.n,
            second_rate=math.fsum(test.scores.first) / result.n,
            difference=result.difference,
            low=result.interval.low if defined else None,
            high=result.interval.high if defined else None,
            p_value=result.p_value,
            test=_TESTS[result.method],
            groups=result.groups,
            distinguishable=result.distinguishable,
            family=result.family,
            warning=result.interval.warning,
            critical=result.critical,
        )
        rows.append(row)
    return tuple(rows)


TARGET: Final = 0.05
"""Difference for which the number of problems is named."""


def pair_sentences(row: ComparisonRow, *, points: bool = True) -> Iterator[str]:
    """Yield the sentences about two models, the better one first; ``points`` is False if the numbers are similarities.

    The second sentence, where no difference is found, is about the power of the comparison.
    """
    sign = -1 if row.difference < 0 else 1
    first, second = (row.first, row.second)[::sign]
    ends = sorted(sign * end for end in (row.low, row.high) if end is not None)
    size, problems = abs(row.difference), _problems(row)
    if row.distinguishable:
        interval = f" [{' to '.join(_number(end, points) for end in ends)}]"
        if points:
            yield f"{first} passes {_number(size, points)} points more than {second} on {problems}{interval}."
        else:
            yield f"{first} is {_number(size, points)} more similar to the reference than {second}{interval}."
        return
    unit = " points" if points else ""
    interval = f" [{' to '.join(_number(end, points, '+') for end in ends)}]" if ends else ""
    difference = f"{_number(size, points, '+')}{unit}{interval}"
    if not row.decidable:
        few = f"{row.verdict} ({counted(row.problems, 'problem')})"
        yield f"Whether {first} is better than {second} {few}: {difference}."
        return
    if ends and not ends[0] <= 0 <= ends[1]:
        # An interval is of one pair, the test of all that the table shows.
        difference += f", p = {row.p_value:.3f} for {counted(row.family, 'test')}"
    yield f"{first} and {second} cannot be told apart on {problems}: {difference}."
    if power := " ".join(_power(row, points=points)):
        yield power


def _power(row: ComparisonRow, *, points: bool) -> Iterator[str]:
    if row.smallest is not None:
        unit = " points" if points else ""
        yield f"Such a comparison finds {_number(row.smallest, points)}{unit} in 8 of 10 cases."
    if points and row.needed is not None and (row.smallest or 1) > TARGET:
        groups = "" if row.groups == row.problems else f" in {-(-row.needed * row.groups // row.problems):,} groups"
        rate = "At their rate of disagreement " if row.differ else "None is passed by one of them alone; "
        yield (
            f"{rate}{100 * TARGET:.0f} points need about {row.needed:,} problems{groups}"
            f"{f': `{row.way_on}`' if row.way_on else ''}."
        )


def _number(value: float, points: bool, sign: str = "") -> str:
    return f"{100 * value:{sign}.1f}" if points else f"{value:{sign}.3f}"


def _problems(row: ComparisonRow) -> str:
    if row.groups == row.problems:
        return counted(row.problems, "problem")
    return f"{counted(row.problems, 'problem')} in {counted(row.groups, 'independent group')}"


def with_power(row: ComparisonRow, scores: Pair, manifest: Mapping[str, Any], seed: int) -> ComparisonRow:
    """Return a comparison with its power, and how to get enough problems for :data:`TARGET`, by the run's manifest."""
    if not row.decidable:
        return row
    power = power_of(scores, TARGET, seed=seed, critical=row.critical)
    is_whole = row.label in ("all", ALL_PARTS) and row.groups == row.problems
    way_on = _way_on(manifest, power.needed / row.problems, is_whole=is_whole)
    differ = sum(first != second for first, second in zip(scores.first, scores.second, strict=True))
    fields = {"smallest": power.smallest, "needed": power.needed, "way_on": way_on, "differ": differ}
    return row.model_copy(update=fields)


def _way_on(manifest: Mapping[str, Any], times: float, *, is_whole: bool) -> str:
    """Return the option that gives so many times the problems of the run, counted in the comparison or not."""
    data = manifest.get("data") or {}
    *_, selection = manifest.get("selections") or [{}]
    limit = math.ceil(times * (data.get("selected") or 0))
    # The manifest does not say how many problems a part or the labels of --select have (of C3-Bench's 316 are 142 ICC,
    # where 160 were to be had by --limit 285), nor in how many groups: EFCB's 1,166 are of 172 pull requests, so that
    # twice the problems are not twice the groups.
    alone = is_whole and not selection.get("select")
    if selection.get("limit") and alone and limit <= data.get("problems", 0):
        return f"--limit {limit}"
    suite = suite_of_run(str(manifest.get("suite")))
    return suite.further_data if suite and data.get("name") == "starter" else ""
