"""Comparison of models and runs on the problems for which both have verdicts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import polars as pl

from caretbench.files import DataError, sha256_json
from caretbench.metrics.paired import NOT_DISTINGUISHABLE, Comparison, compare, with_holm
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.identity import (
    Alignable,
    IncomparableError,
    check_comparable,
    differences,
    identity_of,
    selection_notes,
    settings_of,
)
from caretbench.reports.results.model_variants import model_order, variant_titles
from caretbench.reports.results.problem_lists import excluded_ids, find_excluded_problems
from caretbench.reports.strata import SEPARATOR, Stratum, has_verdicts, strata_of
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION, Stratification
from caretbench.versions import current_model

MODEL = ("model", "parameters")

_SINGLE = DEFAULT_STRATIFICATION._replace(crossed=())

_TESTS = {"mcnemar_exact": "exact McNemar", "sign_flip_permutation": "paired permutation"}


class ComparisonRow(ReportValue):
    """Comparison of two models on one part of the problems; rates and differences run from 0 to 1.

    ``difference`` is the second model's pass@1 minus the first's. ``p_value`` is adjusted (Holm), separately for the
    overall tests and for those of strata.
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
    distinguishable: bool
    warning: str | None = None

    @property
    def verdict(self) -> str:
        """Conclusion: the better one, or that they cannot be told apart."""
        if not self.distinguishable:
            return NOT_DISTINGUISHABLE
        return f"{self.second if self.difference > 0 else self.first} is better"


class ComparisonReport(ReportValue):
    """Comparison of runs. ``aligned`` lists the differences between the runs that were allowed."""

    schema_version: int = 1
    first: str
    names: tuple[str, ...]
    seed: int
    aligned: tuple[str, ...]
    notes: tuple[str, ...]
    overall: tuple[ComparisonRow, ...]
    strata: tuple[ComparisonRow, ...]


@dataclass(frozen=True)
class _Entry:
    """One model of one run, with its share of passing samples by problem."""

    name: str
    rates: pl.DataFrame
    model: str
    settings: Mapping[str, str] | None
    """Settings of the model; None for recorded answers."""


def compare_runs(
    runs: Sequence[LoadedRun],
    *,
    models: Collection[str] = (),
    align: Collection[Alignable] = (),
    every_pair: bool = False,
    seed: int = 0,
    stratification: Stratification = _SINGLE,
) -> ComparisonReport:
    """Compare the models of one or more runs.

    Args:
        runs: The runs; all models are compared with the first model of the first run.
        models: Names of models or baselines to compare; by default all models.
        align: Allowed differences between the runs: ``data`` compares the problems that are equal in both, the others
            compare in spite of the difference. The report lists them.
        every_pair: Compare every model with every other.
        seed: Random seed of the bootstrap and the permutations.
        stratification: Labels by which parts of the problems are tested. A part with all problems is omitted.

    Raises:
        IncomparableError: the runs differ in a setting that ``align`` does not name, or have no common verdicts.
        DataError: there are fewer than two models.
    """
    aligned = check_comparable(runs, align)
    same = _equal_problems(runs) if len({identity_of(run)["data"] for run in runs}) > 1 else None
    entries = _several(runs, [*map(current_model, models)], same)
    pairs = list(combinations(entries, 2)) if every_pair else [(entries[0], entry) for entry in entries[1:]]
    parted = [problem for problem in runs[0].problems if has_verdicts(problem)]
    strata = strata_of(parted, identity_of(runs[0])["profile"], stratification)
    tests = [test for first, second in pairs for test in _tests(first, second, seed, strata)]
    if same is not None:
        aligned.append(f"data: compared on the {len(same)} problems that are equal in all runs")
    return ComparisonReport(
        first=entries[0].name,
        names=tuple(entry.name for entry in entries),
        seed=seed,
        aligned=tuple(aligned),
        notes=(
            *(f"Aligned, {line}." for line in aligned),
            *selection_notes(runs),
            *_setting_differences(pairs),
            *_notes(runs, tests),
        ),
        overall=_adjusted([test for test in tests if test[0].scope == "all"]),
        strata=_adjusted([test for test in tests if test[0].scope != "all"]),
    )


def _equal_problems(runs: Sequence[LoadedRun]) -> set[str]:
    """Return the ids of the problems that are identical in every run."""
    hashes = [{(problem.id, sha256_json(problem.model_dump(mode="json"))) for problem in run.problems} for run in runs]
    return {identity for identity, _ in set.intersection(*hashes)}


def _entries(
    run: LoadedRun, runs: Sequence[LoadedRun], models: Collection[str], same: set[str] | None
) -> Iterator[_Entry]:
    identity = identity_of(run)
    rows = run.frame.filter((pl.col("policy") == identity["policy"]) & (pl.col("profile") == identity["profile"]))
    excluded = excluded_ids(find_excluded_problems(run.frame, run.problems, run.manifest), identity["profile"])
    judged = rows.filter(pl.col("passed").is_not_null() & ~pl.col("problem_id").is_in(list(excluded)))
    if same is not None:
        judged = judged.filter(pl.col("problem_id").is_in(list(same)))
    several = {model for run_ in runs for model in run_.frame["model"].unique() if _occurrences(runs, model) > 1}
    parts = {(str(key[0]), str(key[1])): part for key, part in judged.partition_by(*MODEL, as_dict=True).items()}
    titles = variant_titles(run.manifest, parts)
    for model, parameters in sorted(parts, key=lambda key: (key[0], model_order(run.manifest, *key), key[1])):
        if model not in models if models else model in run.baselines:
            continue
        part, title = parts[model, parameters], titles[model, parameters]
        name = title if model not in several or len(runs) == 1 else f"{run.name}: {title}"
        firsts = [pl.col(column).first() for column in ("language", "category", "cluster", "overlap_group")]
        rates = part.group_by("problem_id").agg(pl.col("passed").mean().alias("rate"), *firsts)
        yield _Entry(name, rates, model, settings_of(run.manifest, model, parameters))


def _several(runs: Sequence[LoadedRun], models: Collection[str], same: set[str] | None) -> list[_Entry]:
    """Return the models to compare."""
    entries = [entry for run in runs for entry in _entries(run, runs, models, same)]
    if len(entries) > 1:
        return entries
    if all(run.frame["passed"].is_null().all() for run in runs):
        raise DataError("no verdict to compare: the programs were not run (--no-execute), or none could be")
    found = ", ".join(entry.name for entry in entries) or "none"
    raise DataError(f"a comparison needs two models; found: {found}. Name more runs, or other --models")


def _setting_differences(pairs: Iterable[tuple[_Entry, _Entry]]) -> Iterator[str]:
    """Yield the differences in settings between two compared models."""
    for first, second in pairs:
        if first.settings is None or second.settings is None:
            continue
        # Weights and addresses are compared only for the same model.
        differing = differences(first.settings, second.settings, clients=first.model == second.model)
        if differing:
            yield f"{first.name} and {second.name} had different settings: {'; '.join(differing)}."


def _occurrences(runs: Sequence[LoadedRun], model: str) -> int:
    return sum(model in run.frame["model"] for run in runs)


def _tests(
    first: _Entry, second: _Entry, seed: int, strata: Sequence[Stratum]
) -> Iterator[tuple[ComparisonRow, Comparison]]:
    other = second.rates.select("problem_id", pl.col("rate").alias("second_rate"))
    common = first.rates.join(other, on="problem_id").sort("problem_id")
    if common.is_empty():
        raise IncomparableError(f"{first.name} and {second.name} have no problem with verdicts on both sides")
    yield _test(first, second, "all", "all", common, seed)
    for stratum in strata:
        for part in sorted(stratum.parts, key=lambda part: (part.order, tuple(part.labels.values()))):
            rows = common.filter(pl.col("problem_id").is_in(list(part.problems)))
            if 0 < rows.height < common.height:
                yield _test(first, second, stratum.name, SEPARATOR.join(part.labels.values()), rows, seed)


def _test(
    first: _Entry, second: _Entry, scope: str, label: str, common: pl.DataFrame, seed: int
) -> tuple[ComparisonRow, Comparison]:
    result = compare(
        common["rate"].to_list(),
        common["second_rate"].to_list(),
        seed=seed,
        clusters=common["cluster"].to_list(),
        overlap_groups=common["overlap_group"].to_list(),
    )
    defined = not math.isnan(result.interval.low)
    row = ComparisonRow(
        first=first.name,
        second=second.name,
        scope=scope,
        label=label,
        problems=result.n,
        first_rate=math.fsum(common["rate"]) / common.height,
        second_rate=math.fsum(common["second_rate"]) / common.height,
        difference=result.difference,
        low=result.interval.low if defined else None,
        high=result.interval.high if defined else None,
        p_value=result.p_value,
        test=_TESTS[result.method],
        distinguishable=result.distinguishable,
        warning=result.interval.warning,
    )
    return row, result


def _adjusted(tests: Sequence[tuple[ComparisonRow, Comparison]]) -> tuple[ComparisonRow, ...]:
    if not tests:
        return ()
    adjusted = with_holm([result for _, result in tests])
    return tuple(
        row.model_copy(update={"p_value": result.p_value, "distinguishable": result.distinguishable})
        for (row, _), result in zip(tests, adjusted, strict=True)
    )


def _notes(runs: Sequence[LoadedRun], tests: Sequence[tuple[ComparisonRow, Comparison]]) -> Iterator[str]:
    strata = sum(row.scope != "all" for row, _ in tests)
    yield (
        f"P values are adjusted for the number of tests (Holm): {len(tests) - strata} overall tests, and separately "
        f"{strata} tests of parts of the problems. Each 95% interval is for one row and not adjusted."
    )
    versions: dict[str, set[str]] = {}
    for run in runs:
        toolchains: Mapping[str, Any] = run.manifest.get("toolchains") or {}
        for language, toolchain in toolchains.items():
            versions.setdefault(language, set()).add(str(toolchain.get("version", "")))
    differing = sorted(language for language, found in versions.items() if len(found) > 1)
    if differing:
        yield f"The runs used different toolchain versions for {', '.join(differing)}."
    yield from sorted({row.warning for row, _ in tests if row.warning is not None and row.scope == "all"})
