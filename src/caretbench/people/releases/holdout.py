"""Choice of the held-out problems: a seeded share of every cell; problems that belong together stay together."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from caretbench.build.validation.duplicates import near_duplicates
from caretbench.errors import DataError, UsageError
from caretbench.people.releases.built_set import BuiltSet, cell_of
from caretbench.problem import FileSplice, Problem


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
    if len(ids) == len(built.problems):
        raise DataError(f"{built.root}: every problem was held out in the earlier version; nothing remains to release")
    return SetParts(
        [one for one in built.problems if one.id not in ids], [one for one in built.problems if one.id in ids]
    )


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
            and all(rest[cell] > 1 for cell in group.cells)
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
    parent = {one.id: one.id for one in built.problems}

    def root(identity: str) -> str:
        while parent[identity] != identity:
            identity = parent[identity]
        return identity

    def join(identities: Iterable[str]) -> None:
        roots = sorted({root(identity) for identity in identities})
        for one in roots:
            parent[one] = roots[0]

    for members in _members(built).values():
        join(members)
    grouped: dict[str, list[Problem]] = defaultdict(list)
    for one in built.problems:
        grouped[root(one.id)].append(one)
    return [
        _Group(name, tuple(one.id for one in problems), Counter(map(cell_of, problems)))
        for name, problems in sorted(grouped.items())
    ]


def _members(built: BuiltSet) -> dict[str, list[str]]:
    """Return the ids that share a source, by a name of the source."""
    found: dict[str, list[str]] = defaultdict(list)
    known = {one.id for one in built.problems}
    for one in built.problems:
        found[f"cluster {one.cluster}"].append(one.id)
        if one.overlap_group is not None:
            found[f"overlap {one.overlap_group}"].append(one.id)
        if isinstance(one.splice, FileSplice):
            found[f"snapshot {one.splice.snapshot}"].append(one.id)
        row = built.row(one)
        if row is not None and row.sibling in known:
            found[f"siblings {one.id}"] += [one.id, row.sibling]
    for name, earlier in near_duplicates(built.problems).items():
        found[f"near-duplicates {name}"] += [name, earlier]
    return found
