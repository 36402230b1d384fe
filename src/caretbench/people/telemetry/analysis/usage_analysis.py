"""Usage: outcomes, acceptance and survival by properties of events, and failures, with intervals over users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.error_kinds.kind_table import edit_kind_names
from caretbench.people.telemetry.analysis.event_table import DIMENSIONS, EventTable
from caretbench.people.telemetry.analysis.user_intervals import UserRates, percentiles
from caretbench.people.telemetry.event_rules import ACCEPTED_OUTCOMES, COUNTED_OUTCOMES, TelemetryRules, telemetry_rules
from caretbench.problem import Row

ALL: Final = "all"
_FAILURE_DIMENSIONS: Final = (ALL, "language", "block")


class StoredRate(Row):
    """Rate with its interval over users, from 0 to 1; None without events."""

    value: float | None
    low: float | None
    high: float | None
    events: int
    users: int
    effective_users: float = 0.0


class ScenarioRow(Row):
    """Usage of one value of a property (``dimension``), or of all events.

    ``share``: of the events that were seen. ``acceptance``: accepted and not soon deleted, among those that were seen.
    ``survival``: kept as it was, among the accepted ones of which a later text is known. ``right``: accepted, or typed
    by the user, among those that were seen.
    """

    dimension: str
    value: str
    share: StoredRate
    acceptance: StoredRate
    survival: StoredRate
    right: StoredRate
    outcomes: Mapping[str, int]


class FailureRow(Row):
    """Share of one error kind among the events that were seen, whose failures were examined."""

    kind: str
    dimension: str
    value: str
    share: StoredRate
    among_not_accepted: StoredRate


class UsageSummary(Row):
    """Numbers of a whole file of events."""

    schema_version: int = 1
    lines_read: int = 0
    events: int
    users: int
    refused: Mapping[str, int] = {}
    with_secrets: int = 0
    outcomes: Mapping[str, int]
    latency_ms: Mapping[str, float | None]
    seed: int


class UsageAnalysis(NamedTuple):
    """Result of an analysis of events."""

    summary: UsageSummary
    scenarios: Sequence[ScenarioRow]
    failures: Sequence[FailureRow]


def analyse_usage(table: EventTable, *, seed: int = 0, rules: TelemetryRules | None = None) -> UsageAnalysis:
    """Return the usage that a table of events shows."""
    rates = UserRates(table.users, table.user_count, seed=seed)
    groups = _groups(table)
    scenario_places = _add_scenarios(table, groups, rates)
    failure_places = list(_add_failures(table, groups, rates))
    found = [StoredRate(**one._asdict()) for one in rates.rates()]
    scenarios = [
        ScenarioRow(
            dimension=group.dimension,
            value=value,
            share=found[columns[0][code]],
            acceptance=found[columns[1][code]],
            survival=found[columns[2][code]],
            right=found[columns[3][code]],
            outcomes=_counts(table, group.codes == code),
        )
        for group, columns in zip(groups, scenario_places, strict=True)
        for code, value in enumerate(group.values)
        if value
    ]
    failures = [
        FailureRow(
            kind=kind,
            dimension=group.dimension,
            value=value,
            share=found[shares[code]],
            among_not_accepted=found[among[code]],
        )
        for kind, group, shares, among in failure_places
        for code, value in enumerate(group.values)
        if value and found[shares[code]].events
    ]
    return UsageAnalysis(_summary(table, seed), _ordered(scenarios, rules or telemetry_rules()), failures)


def _add_scenarios(table: EventTable, groups: Sequence[_Group], rates: UserRates) -> list[list[list[int]]]:
    """Add the rates of all values; return the places of share, acceptance, survival and right texts by group."""
    seen = ~table.has_outcome("unseen")
    accepted = table.has_outcome(*ACCEPTED_OUTCOMES)
    right = accepted | table.has_outcome("typed_anyway")
    known, kept = table.has_outcome("kept", "edited", "reverted"), table.has_outcome("kept")
    return [
        [
            rates.add_shares(group.codes, group.size, seen),
            *(
                rates.add_by_value(group.codes, group.size, hits, among)
                for hits, among in ((accepted, seen), (kept, known), (right, seen))
            ),
        ]
        for group in groups
    ]


def _add_failures(
    table: EventTable, groups: Sequence[_Group], rates: UserRates
) -> Iterator[tuple[str, _Group, list[int], list[int]]]:
    """Add the rates of all error kinds; yield kind, group, and the places of the two rates."""
    examined = ~table.has_outcome("unseen") & table.examined
    unaccepted = examined & ~table.has_outcome(*ACCEPTED_OUTCOMES, "typed_anyway")
    for kind in edit_kind_names():
        hits = table.has_failure(kind)
        if not (hits & examined).any():
            continue
        for group in groups:
            if group.dimension in _FAILURE_DIMENSIONS:
                places = [rates.add_by_value(group.codes, group.size, hits, one) for one in (examined, unaccepted)]
                yield kind, group, places[0], places[1]


class _Group(NamedTuple):
    """Property of events: the number of the value of each event, and the values."""

    dimension: str
    codes: NDArray[np.int64]
    values: Sequence[str]

    @property
    def size(self) -> int:
        return len(self.values)


def _groups(table: EventTable) -> list[_Group]:
    """Return all events as one group, and the properties that some event states."""
    whole = _Group(ALL, np.zeros(len(table), dtype=np.int64), (ALL,))
    named = (_Group(name, table.codes(name), table.values(name)) for name in DIMENSIONS)
    return [whole, *(group for group in named if any(group.values))]


def _counts(table: EventTable, part: NDArray[np.bool_]) -> dict[str, int]:
    counts = {name: int((table.has_outcome(name) & part).sum()) for name in COUNTED_OUTCOMES}
    return {name: count for name, count in counts.items() if count}


def _summary(table: EventTable, seed: int) -> UsageSummary:
    median, ninth = percentiles(table.latency, (0.5, 0.9))
    return UsageSummary(
        events=len(table),
        users=table.user_count,
        with_secrets=int(table.has_secrets.sum()),
        outcomes=_counts(table, np.ones(len(table), dtype=bool)),
        latency_ms={"median": median, "p90": ninth},
        seed=seed,
    )


def _ordered(rows: Sequence[ScenarioRow], rules: TelemetryRules) -> list[ScenarioRow]:
    """Return the rows by property; classes of numbers in their order, other values by their number of events."""
    bounds = {"lines": rules.classes.lines, "prompt_characters": rules.classes.prompt_characters}
    order = {name: place for place, name in enumerate((ALL, *DIMENSIONS))}

    def key(row: ScenarioRow) -> tuple[int, float, str]:
        within = float(row.value.split("-")[0].rstrip("+")) if row.dimension in bounds else -(row.share.value or 0.0)
        return order[row.dimension], within, row.value

    return sorted(rows, key=key)
