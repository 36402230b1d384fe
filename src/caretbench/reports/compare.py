"""Comparison of models and runs on the problems for which both have verdicts, and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from caretbench.files import DataError, sha256_json
from caretbench.grouping import grouped
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import LoadedRun
from caretbench.reports.head.measured_parts import MeasuredPart, all_parts, judged_parts, part_tests
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import (
    ALL_PARTS,
    ComparisonRow,
    ModelRates,
    PairedTest,
    model_rates,
    pair_sentences,
    tested_rows,
    with_power,
)
from caretbench.reports.results.problem_lists import lead_note, leading_in
from caretbench.reports.results.run_settings import (
    Alignable,
    IncomparableError,
    check_comparable,
    differences,
    identity_of,
    selection_notes,
)
from caretbench.reports.strata import strata_of
from caretbench.reports.tables import (
    ReportTable,
    TableField,
    display_stratum,
    number_field,
    range_text,
    share_field,
    table_of,
    text_field,
)
from caretbench.runs.verdict import has_verdicts
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION, Stratification
from caretbench.text_tables import counted, p_text

_MAX_POWERED = 40
"""Maximum number of comparisons whose power is computed, in some 5 ms each."""
_MAX_SENTENCES = 3
"""Maximum number of comparisons that have sentences."""
_SINGLE = DEFAULT_STRATIFICATION._replace(crossed=())


class ComparisonReport(ReportValue):
    """Comparison of runs. ``aligned`` lists the differences between the runs that were allowed."""

    schema_version: int = 3
    first: str
    names: tuple[str, ...]
    seed: int
    aligned: tuple[str, ...]
    notes: tuple[str, ...]
    overall: tuple[ComparisonRow, ...]
    strata: tuple[ComparisonRow, ...]


def compare_runs(
    runs: Sequence[LoadedRun],
    *,
    models: Collection[str] = (),
    align: Collection[Alignable] = (),
    every_pair: bool = False,
    seed: int = 0,
    stratification: Stratification = _SINGLE,
    suite: Suite | None = None,
) -> ComparisonReport:
    """Compare the models of one or more runs: the numbers that the heads of their reports are about.

    Args:
        runs: The runs; all models are compared with the first model of the first run.
        models: Names of models or baselines to compare; by default all models.
        align: Allowed differences between the runs: ``data`` compares the problems that are equal in both, the others
            compare in spite of the difference. The report lists them.
        every_pair: Compare every model with every other.
        seed: Random seed of the bootstrap and the permutations.
        stratification: Labels by which parts of the problems are tested. A part with all problems, or with
            fewer than 20, is omitted.
        suite: The suite of the runs, whose own shares are compared, if it has some; without it pass@1.

    Raises:
        IncomparableError: the runs differ in a setting that ``align`` does not name, or have no common verdicts.
        DataError: there are fewer than two models.
    """
    aligned = check_comparable(runs, align)
    same = _equal_problems(runs) if len({identity_of(run)["data"] for run in runs}) > 1 else None
    entries = _several(runs, models, same)
    pairs = list(combinations(entries, 2)) if every_pair else [(entries[0], entry) for entry in entries[1:]]
    strata = strata_of(list(filter(has_verdicts, runs[0].problems)), identity_of(runs[0])["profile"], stratification)
    parts = [_parts(ReportSource(run, stratification, suite)) for run in runs]
    tests = [
        test
        for part, rates in _rates_by_part(runs, parts, models, same)
        for test in part_tests(part, _pairs_of(rates, pairs), () if part.title == ALL_PARTS else strata)
    ]
    if not tests:
        first, second = (entry.name for entry in pairs[0])
        raise IncomparableError(f"{first} and {second} have no common problem with verdicts of both")
    overall = _overall([test for test in tests if test.scope == "all"], runs[0].manifest, seed)
    of_parts = tested_rows([test for test in tests if test.scope != "all"], seed)
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
            *_leading_notes(runs, parts),
            *_setting_differences(pairs),
            *_notes(runs, overall, of_parts),
        ),
        overall=overall,
        strata=of_parts,
    )


def _leading_notes(runs: Sequence[LoadedRun], parts: Iterable[Sequence[MeasuredPart]]) -> Iterator[str]:
    """Yield a note on the problems over which passes are compared, if these are not all."""
    profile = identity_of(runs[0])["profile"]
    rules = [leading_in(part.run, profile).rule for run_parts in parts for part in run_parts]
    yield from filter(None, dict.fromkeys(map(lead_note, rules)))


def _parts(source: ReportSource) -> list[MeasuredPart]:
    """Return the parts of a run, and all of them together where a suite keeps them apart."""
    parts = judged_parts(source)
    whole = all_parts(parts)
    return parts if whole is None else [*parts, whole]


def _overall(tests: Sequence[PairedTest], manifest: Mapping[str, Any], seed: int) -> tuple[ComparisonRow, ...]:
    """Return the comparisons over all problems, then those by part, each a family, with their power if they are few."""
    rows: list[ComparisonRow] = []
    for whole in (True, False):
        chosen = [test for test in tests if (test.label == ALL_PARTS) == whole]
        for test, row in zip(chosen, tested_rows(chosen, seed), strict=True):
            rows.append(with_power(row, test.scores, manifest, seed) if len(chosen) <= _MAX_POWERED else row)
    return tuple(rows)


def _rates_by_part(
    runs: Sequence[LoadedRun], parts: Sequence[Sequence[MeasuredPart]], models: Collection[str], same: set[str] | None
) -> Iterator[tuple[MeasuredPart, dict[str, ModelRates]]]:
    """Yield each part that some run keeps apart, with the rates of all models on it by name."""
    several = _in_several_runs(runs)
    every = [(run, part) for run, run_parts in zip(runs, parts, strict=True) for part in run_parts]
    for label in dict.fromkeys(part.label for _, part in every):
        labelled = [(run, part) for run, part in every if part.label == label]
        rates = [_named(run, rates, several) for run, part in labelled for rates in part.rates(models, same)]
        yield labelled[0][1], {entry.name: entry for entry in rates}


def _pairs_of(
    rates: Mapping[str, ModelRates], pairs: Iterable[tuple[ModelRates, ModelRates]]
) -> Iterator[tuple[ModelRates, ModelRates]]:
    """Yield the rates of pairs of models on a part on which both have some."""
    for first, second in pairs:
        if first.name in rates and second.name in rates:
            yield rates[first.name], rates[second.name]


def _equal_problems(runs: Sequence[LoadedRun]) -> set[str]:
    """Return the ids of the problems that are identical in every run, those of a project if their blocks are."""
    # Another version of a data set may keep the id of a problem whose text has changed. Of a project, each commit
    # changes the snapshot, and with it all problems, though most blocks are the same.
    hashes = [
        {(problem.id, problem.block_hash or sha256_json(problem.model_dump(mode="json"))) for problem in run.problems}
        for run in runs
    ]
    return {identity for identity, _ in set.intersection(*hashes)}


def _several(runs: Sequence[LoadedRun], models: Collection[str], same: set[str] | None) -> list[ModelRates]:
    """Return the models to compare."""
    several = _in_several_runs(runs)
    entries = [_named(run, entry, several) for run in runs for entry in model_rates(run, models, only=same)]
    if len(entries) > 1:
        return entries
    if all(run.frame["passed"].is_null().all() for run in runs):
        raise DataError("no verdict to compare: the programs were not run (--no-execute), or none could be")
    names = ", ".join(entry.name for entry in entries) or "none"
    raise DataError(f"a comparison needs two models; found: {names}. Name more runs, or other models with --model")


def _setting_differences(pairs: Iterable[tuple[ModelRates, ModelRates]]) -> Iterator[str]:
    """Yield the differences in settings between two compared models."""
    for first, second in pairs:
        if first.settings is None or second.settings is None:
            continue
        # Weights and addresses are compared only for the same model.
        differing = differences(first.settings, second.settings, clients=first.model == second.model)
        if differing:
            yield f"{first.name} and {second.name} had different settings: {'; '.join(differing)}."


def _in_several_runs(runs: Sequence[LoadedRun]) -> set[str]:
    counts = Counter(model for run in runs for model in run.frame["model"].unique())
    return {model for model, count in counts.items() if count > 1}


def _named(run: LoadedRun, entry: ModelRates, several: Collection[str]) -> ModelRates:
    """Return the rates of a model under its name, with its run's if several runs have the model."""
    return entry._replace(name=f"{run.name}: {entry.name}") if entry.model in several else entry


def _notes(
    runs: Sequence[LoadedRun], overall: Sequence[ComparisonRow], of_parts: Sequence[ComparisonRow]
) -> Iterator[str]:
    tests, more = (sum(row.decidable for row in rows) for rows in (overall, of_parts))
    separately = f", and separately {more} of parts of the problems" if more else ""
    adjusted = f"P values are adjusted for the number of tests in brackets (max-T): {tests} overall{separately}. "
    yield f"{adjusted if tests else ''}Each 95% interval is for one row and not adjusted."
    versions = grouped(
        (language, str(toolchain.get("version", "")))
        for run in runs
        for language, toolchain in (run.manifest.get("toolchains") or {}).items()
    )
    differing = sorted(language for language, stated in versions.items() if len(set(stated)) > 1)
    if differing:
        yield f"The runs used different toolchain versions for {', '.join(differing)}."
    yield from sorted({row.warning for row in overall if row.warning is not None})


def comparison_sentences(report: ComparisonReport) -> list[str]:
    """Return the sentences about the comparisons that lead: over all problems, if they are few."""
    rows = [row for row in report.overall if row.label == ALL_PARTS] or report.overall
    return [text for row in rows for text in pair_sentences(row)] if len(rows) <= _MAX_SENTENCES else []


def comparison_tables(report: ComparisonReport) -> list[ReportTable]:
    """Return the tables of a comparison: overall, then by strata."""
    tables = [comparison_table("Overall, on the problems with verdicts on both sides", report.overall)]
    for scope in dict.fromkeys(row.scope for row in report.strata):
        rows = [row for row in report.strata if row.scope == scope]
        tables.append(comparison_table(f"By {display_stratum(scope)}", rows))
    return tables


def comparison_table(title: str, rows: Sequence[ComparisonRow], measure: str = "pass@1") -> ReportTable:
    """Return the table of tests; ``measure`` is the title of the compared number."""
    strata = any(row.label != "all" for row in rows)
    heads = ("First", "Second", *(("Part",) if strata else ()), "Problems", f"First {measure}", f"Second {measure}")
    powered = any(row.smallest is not None for row in rows)
    heads += ("First minus second (points)", *(("Found in 8 of 10 (points)",) if powered else ()))
    heads += ("p (tests)", "Test", "Verdict")
    fields = [
        (
            row.first,
            row.second,
            *((row.label,) if strata else ()),
            number_field(row.problems, str(row.problems), _groups_note(row)),
            share_field(row.first_rate),
            share_field(row.second_rate),
            _difference_field(row),
            *((_smallest_field(row),) if powered else ()),
            number_field(row.p_value, p_text(row.p_value, row.family)),
            row.test,
            text_field(row.verdict, "good" if row.distinguishable else ""),
        )
        for row in rows
    ]
    return table_of(title, heads, fields)


def _groups_note(row: ComparisonRow) -> str:
    return "" if row.groups == row.problems else counted(row.groups, "group")


def _smallest_field(row: ComparisonRow) -> TableField:
    return number_field(row.smallest, None if row.smallest is None else f"{100 * row.smallest:.1f}")


def _difference_field(row: ComparisonRow) -> TableField:
    return number_field(row.difference, f"{100 * row.difference:+.1f}", range_text(row.low, row.high, "+.1f"))
