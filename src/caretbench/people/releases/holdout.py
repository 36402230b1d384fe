"""Scores of models on the public part of a released set and on its hold-out."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from caretbench.build.validation.duplicates import near_duplicates
from caretbench.errors import DataError, UsageError
from caretbench.grouping import grouped
from caretbench.metrics.paired import NOT_DISTINGUISHABLE
from caretbench.people.releases.built_set import BuiltSet, cell_of
from caretbench.people.study_statistics.contrasts import (
    GroupDifference,
    GroupedValue,
    compare_groups,
    differences_with_holm,
)
from caretbench.problem import FileSplice, Problem
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.paired_models import model_rates
from caretbench.reports.results.run_settings import check_comparable


class SetParts(NamedTuple):
    """Public and held-out problems of a set, both in the order of their ids."""

    public: Sequence[Problem]
    holdout: Sequence[Problem]


class _Group(NamedTuple):
    """Problems that stay together: ids, and their number by cell."""

    name: str
    ids: tuple[str, ...]
    cells: Mapping[str, int]


def split_set(
    built: BuiltSet, share: float, seed: int, *, public: Collection[str] = (), held: Collection[str] = ()
) -> SetParts:
    """Return the parts of a set; the same rows and seed give the same parts.

    Siblings, near-duplicates, problems of one cluster and problems of one snapshot stay together. The next group always
    comes from the cell with the largest deficit; every cell keeps a public group.

    Args:
        built: The set.
        share: Share of the problems that is held out, from 0 to less than 1.
        seed: Random seed.
        public: Ids that were public in an earlier version, and stay so with what belongs to them.
        held: Ids that were held out in an earlier version, and stay so.

    Raises:
        UsageError: the share is out of range.
        DataError: nothing can be held out, or a held-out problem belongs to a public one.
    """
    if not 0 <= share < 1:
        raise UsageError(f"--holdout {share:g}: expected a share from 0 to less than 1")
    groups = _groups(built)
    fixed = {group.name for group in groups if {*public} & {*group.ids}}
    chosen = {group.name for group in groups if {*held} & {*group.ids}}
    # A new near-duplicate has joined a public and a held-out group: keeping both parts is impossible.
    if both := sorted(fixed & chosen):
        raise DataError(f"{built.root}: {both[0]} belongs to problems of both parts of the earlier version")
    if share:
        chosen |= _chosen(groups, share, seed, fixed, chosen)
    if share and not chosen:
        raise DataError(
            f"{built.root}: nothing can be held out: no cell has two independent groups of problems, or the share is "
            "too small"
        )
    ids = {identity for group in groups if group.name in chosen for identity in group.ids}
    # All new problems joined held-out groups.
    if len(ids) == len(built.problems):
        raise DataError(f"{built.root}: every problem was held out in the earlier version; nothing remains to release")
    by_part = grouped((problem.id in ids, problem) for problem in built.problems)
    return SetParts(by_part[False], by_part[True])


def _chosen(groups: Sequence[_Group], share: float, seed: int, fixed: set[str], held: set[str]) -> set[str]:
    """Return the names of the groups to hold out in addition to ``held``."""
    sizes: Counter[str] = Counter()
    rest: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for group in groups:
        sizes.update(group.cells)
        if group.name in held:
            taken.update(group.cells)
        else:
            rest.update(dict.fromkeys(group.cells, 1))
    goal = round(share * sizes.total())
    # By hash of seed and name: a new problem leaves the draw of the others as it is.
    candidates = sorted(
        (group for group in groups if group.name not in fixed | held), key=lambda group: _draw(seed, group.name)
    )
    chosen: set[str] = set()
    while taken.total() < goal:
        # The deficit of a group's cells, averaged over its problems.
        def deficit(group: _Group) -> float:
            missing = (count * (share * sizes[cell] - taken[cell]) for cell, count in group.cells.items())
            return sum(missing) / len(group.ids)

        possible = [
            group
            for group in candidates
            if group.name not in chosen
            # The last group of a cell stays public: a cell that nobody can see is no part of a benchmark.
            and all(rest[cell] > 1 for cell in group.cells)
            # A group is taken only if it brings the number nearer to the goal than it is.
            and taken.total() + len(group.ids) - goal < goal - taken.total()
        ]
        if not possible:
            break
        best = max(possible, key=deficit)  # of equal ones the first drawn
        chosen.add(best.name)
        taken.update(best.cells)
        rest.subtract(dict.fromkeys(best.cells, 1))
    return chosen


def _draw(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()


def _groups(built: BuiltSet) -> list[_Group]:
    """Return the groups of problems that stay together, by the id of their first problem."""
    parent = {problem.id: problem.id for problem in built.problems}

    def root(identity: str) -> str:
        while parent[identity] != identity:
            identity = parent[identity]
        return identity

    def join(identities: Iterable[str]) -> None:
        # The least id names the group, so that the draw does not depend on the order of joining.
        roots = sorted({root(identity) for identity in identities})
        parent.update(dict.fromkeys(roots, roots[0]))

    for members in _members(built).values():
        join(members)
    by_root = grouped((root(problem.id), problem) for problem in built.problems)
    return [
        _Group(name, tuple(problem.id for problem in problems), Counter(map(cell_of, problems)))
        for name, problems in sorted(by_root.items())
    ]


def _members(built: BuiltSet) -> dict[str, list[str]]:
    """Return the ids that share a source, by a name of the source."""
    members: dict[str, list[str]] = defaultdict(list)
    ids = {problem.id for problem in built.problems}
    for problem in built.problems:
        members[f"cluster {problem.cluster}"].append(problem.id)
        if problem.overlap_group is not None:
            members[f"overlap {problem.overlap_group}"].append(problem.id)
        if isinstance(problem.splice, FileSplice):
            members[f"snapshot {problem.splice.snapshot}"].append(problem.id)
        row = built.row(problem)
        if row is not None and row.sibling in ids:
            members[f"siblings {problem.id}"] += [problem.id, row.sibling]
    # A hold-out with a copy in the public part measures memory of the copy.
    for name, earlier in near_duplicates(built.problems).items():
        members[f"near-duplicates {name}"] += [name, earlier]
    return members


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
    # Both parts are data of their own; everything else of the runs must be equal.
    check_comparable(runs, ["data"])
    rates = _rates(runs, {*public, *holdout})
    complete = {
        model: passes for model, passes in rates.items() if passes.keys() & {*public} and passes.keys() & {*holdout}
    }
    if not complete:
        models = ", ".join(rates) or "none"
        raise DataError(f"no model has verdicts on both parts; models: {models}. Name a run for each part")
    held = {*holdout}
    # A hold-out may be harder by chance: minus the other models' mean, its difficulty cancels.
    relative = {model: _against_others(model, complete) for model in complete}
    # The others may lack all verdicts of one part.
    relative = {model: passes for model, passes in relative.items() if _on_both(passes, held)}
    rows = (*_rows(complete, held, seed), *_rows(relative, held, seed, against_others=True))
    return HoldoutReport(rows=rows, notes=tuple(_notes(rates, complete)))


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
    rates: dict[str, dict[str, _Rate]] = defaultdict(dict)
    for run in runs:
        for entry in model_rates(run, only=ids):
            for row in entry.rates.sort("problem_id").iter_rows(named=True):
                cell = "/".join(str(row[name]) for name in ("language", "category"))
                rates[entry.name].setdefault(row["problem_id"], _Rate(row["rate"], cell, row["cluster"]))
    return dict(rates)


def _against_others(model: str, rates: Mapping[str, Mapping[str, _Rate]]) -> dict[str, _Rate]:
    """Return the model's rates minus the mean of the others', on problems for which all have verdicts."""
    others = [other_rates for name, other_rates in rates.items() if name != model]
    if not others:
        return {}
    return {
        name: rate._replace(rate=rate.rate - math.fsum(other_rates[name].rate for other_rates in others) / len(others))
        for name, rate in rates[model].items()
        if all(name in other_rates for other_rates in others)
    }


def _on_both(ids: Collection[str], held: Collection[str]) -> bool:
    number = sum(name in held for name in ids)
    return 0 < number < len(ids)


def _compared(rates: Mapping[str, _Rate], held: Collection[str], seed: int) -> GroupDifference:
    values = [
        GroupedValue(rate.rate, name not in held, rate.cell, rate.cluster) for name, rate in sorted(rates.items())
    ]
    try:
        return compare_groups(values, seed=seed)
    except ValueError as error:
        raise DataError(f"the parts cannot be compared: {error}") from None


def _rows(
    rates: Mapping[str, Mapping[str, _Rate]], held: Collection[str], seed: int, *, against_others: bool = False
) -> Iterator[HoldoutRow]:
    differences = differences_with_holm([_compared(passes, held, seed) for passes in rates.values()])
    for (model, passes), test in zip(rates.items(), differences, strict=True):
        parts = [[rate.rate for name, rate in passes.items() if (name in held) is is_held] for is_held in (False, True)]
        # NaN is no JSON.
        has_interval = not math.isnan(test.interval.low)
        yield HoldoutRow(
            model=model,
            against_others=against_others,
            public_problems=len(parts[0]),
            holdout_problems=len(parts[1]),
            public=math.fsum(parts[0]) / len(parts[0]),
            holdout=math.fsum(parts[1]) / len(parts[1]),
            difference=test.difference,
            low=test.interval.low if has_interval else None,
            high=test.interval.high if has_interval else None,
            p_value=test.p_value,
            distinguishable=test.distinguishable,
            decidable=test.decidable,
        )
