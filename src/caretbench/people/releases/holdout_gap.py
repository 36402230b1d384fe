"""Scores of models on the public part of a released set and on its hold-out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from caretbench.files import DataError
from caretbench.metrics.paired import NOT_DISTINGUISHABLE
from caretbench.people.study_statistics.unpaired_groups import (
    GroupDifference,
    GroupedValue,
    compare_groups,
    differences_with_holm,
)
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.paired_models import model_rates
from caretbench.reports.results.run_settings import check_comparable


class HoldoutRow(ReportValue):
    """Score of one model on both parts; rates and differences run from 0 to 1, the public part minus the hold-out.

    With ``against_others`` the values are the model's rates minus the mean of the other models' on the same problem, so
    that a hold-out that is harder for all makes no difference. ``p_value`` is adjusted (Holm) over models.
    """

    model: str
    against_others: bool
    public_problems: int
    holdout_problems: int
    public: float
    holdout: float
    difference: float
    low: float | None
    high: float | None
    p_value: float
    distinguishable: bool
    decidable: bool

    @property
    def verdict(self) -> str:
        """Conclusion: the part with the higher score, or why there is none to be seen."""
        if self.distinguishable:
            return "higher on the public part" if self.difference > 0 else "higher on the hold-out"
        return NOT_DISTINGUISHABLE if self.decidable else "cannot be decided: too few problems"


class HoldoutReport(ReportValue):
    """Scores on both parts, of each model alone and against the others; ``notes`` explain them."""

    schema_version: int = 1
    rows: tuple[HoldoutRow, ...]
    notes: tuple[str, ...]


class _Rate(NamedTuple):
    """Pass rate on one problem, with its cell and cluster."""

    rate: float
    cell: str
    cluster: str


def holdout_report(
    runs: Sequence[LoadedRun], public: Collection[str], holdout: Collection[str], *, seed: int = 0
) -> HoldoutReport:
    """Return the scores of the models of some runs on both parts.

    One run may have the problems of both parts, or each part its own run.

    Args:
        runs: The runs.
        public: Ids of the public problems.
        holdout: Ids of the held-out problems.
        seed: Random seed of the permutations.

    Raises:
        IncomparableError: the runs differ in more than their problems.
        DataError: no model has verdicts on both parts.
    """
    check_comparable(runs, ["data"])
    rates = _rates(runs, {*public, *holdout})
    complete = {
        model: found for model, found in rates.items() if found.keys() & {*public} and found.keys() & {*holdout}
    }
    if not complete:
        known = ", ".join(rates) or "none"
        raise DataError(f"no model has verdicts on both parts; models: {known}. Name a run for each part")
    held = {*holdout}
    own = [_compared(found, held, seed) for found in complete.values()]
    rows = list(_rows(complete, held, own, against_others=False))
    relative = {model: found for model in complete if (found := _against_others(model, complete))}
    relative = {model: found for model, found in relative.items() if _on_both(found, held)}
    others = [_compared(found, held, seed) for found in relative.values()]
    rows += _rows(relative, held, others, against_others=True)
    return HoldoutReport(rows=tuple(rows), notes=tuple(_notes(rates, complete)))


def _notes(rates: Mapping[str, object], complete: Mapping[str, object]) -> Iterator[str]:
    yield (
        "Differences are the public part minus the hold-out, compared within cells. A higher score on the public part "
        "alone is no proof of memory: the parts may differ in difficulty. Against the others: the model's rate minus "
        "the mean of the other models' on the same problem."
    )
    yield "P values are adjusted for the number of models (Holm); intervals are not."
    if missing := [model for model in rates if model not in complete]:
        yield f"Without verdicts on both parts: {', '.join(missing)}."


def _rates(runs: Sequence[LoadedRun], ids: Collection[str]) -> dict[str, dict[str, _Rate]]:
    """Return the pass rates by model and problem; of a problem in several runs the first one counts."""
    found: dict[str, dict[str, _Rate]] = defaultdict(dict)
    for run in runs:
        for entry in model_rates(run, only=ids):
            for row in entry.rates.sort("problem_id").iter_rows(named=True):
                cell = "/".join(str(row[name]) for name in ("language", "category"))
                found[entry.name].setdefault(row["problem_id"], _Rate(row["rate"], cell, row["cluster"]))
    return dict(found)


def _against_others(model: str, rates: Mapping[str, Mapping[str, _Rate]]) -> dict[str, _Rate]:
    """Return the model's rates minus the mean of the others', on problems for which all have verdicts."""
    others = [found for name, found in rates.items() if name != model]
    if not others:
        return {}
    return {
        name: rate._replace(rate=rate.rate - math.fsum(found[name].rate for found in others) / len(others))
        for name, rate in rates[model].items()
        if all(name in found for found in others)
    }


def _on_both(found: Collection[str], held: Collection[str]) -> bool:
    number = sum(name in held for name in found)
    return 0 < number < len(found)


def _compared(found: Mapping[str, _Rate], held: Collection[str], seed: int) -> GroupDifference:
    values = [GroupedValue(one.rate, name not in held, one.cell, one.cluster) for name, one in sorted(found.items())]
    try:
        return compare_groups(values, seed=seed)
    except ValueError as error:
        raise DataError(f"the parts cannot be compared: {error}") from None


def _rows(
    rates: Mapping[str, Mapping[str, _Rate]],
    held: Collection[str],
    differences: Sequence[GroupDifference],
    *,
    against_others: bool,
) -> Iterator[HoldoutRow]:
    for (model, found), one in zip(rates.items(), differences_with_holm(differences), strict=True):
        parts = [[rate.rate for name, rate in found.items() if (name in held) is part] for part in (False, True)]
        known = not math.isnan(one.interval.low)
        yield HoldoutRow(
            model=model,
            against_others=against_others,
            public_problems=len(parts[0]),
            holdout_problems=len(parts[1]),
            public=math.fsum(parts[0]) / len(parts[0]),
            holdout=math.fsum(parts[1]) / len(parts[1]),
            difference=one.difference,
            low=one.interval.low if known else None,
            high=one.interval.high if known else None,
            p_value=one.p_value,
            distinguishable=one.distinguishable,
            decidable=one.decidable,
        )
