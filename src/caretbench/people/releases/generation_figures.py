"""Figures of the generation of a set: attempts, yields, costs and hours, by cell and by generator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from caretbench.people.releases.built_set import BuiltSet, sorted_counts
from caretbench.problem import Row
from caretbench.suites.devbench.build.construction.build_folder import InstanceAttempt, sum_of_costs

ACCEPTED: Final = "instance"
"""Outcome of an attempt that became an instance."""


class GeneratorFigures(Row):
    """Attempts and instances of one generator; ``cost`` and ``request_hours`` are sums over its answers."""

    family: str | None
    attempts: int
    instances: int
    cost: float | None
    request_hours: float | None


class YieldFigures(Row):
    """Attempts and instances of one cell, and the reasons of the other attempts."""

    attempts: int
    instances: int
    reasons: Mapping[str, int]


class GenerationFigures(Row):
    """Generation of the whole set, held-out problems included. None: the folder does not tell.

    ``scenarios`` counts the scenarios with attempts. ``wall_hours`` is the time on the clock that the manifest states,
    ``request_hours`` the sum over answers. ``cost`` is in US dollars, None if the cost of an answer is unknown;
    ``unpriced`` is the number of these answers.
    """

    attempts: int | None
    instances: int | None
    scenarios: int | None
    wall_hours: float | None
    request_hours: float | None
    cost: float | None
    unpriced: int | None
    prompt_versions: Mapping[str, int]
    attempts_per_instance: float | None
    generators: Mapping[str, GeneratorFigures]
    cells: Mapping[str, YieldFigures]
    reasons: Mapping[str, int]


def generation_figures(built: BuiltSet) -> GenerationFigures:
    """Return the figures of the generation of a set, from its attempts, answers, instances and manifest."""
    attempts, rows = built.attempts, list(built.instances.values())
    costs, seconds = _costs_and_seconds(built)
    accepted = sum(one.outcome == ACCEPTED for one in attempts)
    return GenerationFigures(
        attempts=len(attempts) if attempts else None,
        instances=accepted if attempts else len(rows) or None,
        scenarios=len({one.scenario for one in attempts}) if attempts else None,
        wall_hours=_stated(built, "wall_hours"),
        request_hours=_hours(seconds),
        cost=sum_of_costs(costs) if costs else _stated(built, "cost"),
        unpriced=sum(cost is None for cost in costs) if costs else None,
        prompt_versions=sorted_counts(row.prompt_version for row in rows),
        attempts_per_instance=fmean(row.attempts for row in rows) if rows else None,
        generators=_generators(built),
        cells=_yields(attempts),
        reasons=sorted_counts(one.outcome for one in attempts if one.outcome != ACCEPTED),
    )


def _costs_and_seconds(built: BuiltSet, generator: str | None = None) -> tuple[list[float | None], list[float | None]]:
    """Return costs and seconds of the answers, or of the attempts if there are no answers; of one generator or all."""
    answers = [one for one in built.answers if generator in (None, one.model)]
    if answers:
        return [one.cost for one in answers], [one.latency.last_s if one.latency else None for one in answers]
    attempts = [one for one in built.attempts if generator in (None, one.generator)]
    return [one.cost for one in attempts], [one.seconds for one in attempts]


def _yields(attempts: Sequence[InstanceAttempt]) -> dict[str, YieldFigures]:
    cells: dict[str, list[str]] = defaultdict(list)
    for one in attempts:
        cells[one.cell].append(one.outcome)
    return {
        cell: YieldFigures(
            attempts=len(outcomes),
            instances=outcomes.count(ACCEPTED),
            reasons=sorted_counts(outcome for outcome in outcomes if outcome != ACCEPTED),
        )
        for cell, outcomes in sorted(cells.items())
    }


def _generators(built: BuiltSet) -> dict[str, GeneratorFigures]:
    rows = list(built.instances.values())
    families = {row.generator: row.generator_family for row in rows}
    found = {}
    for name in sorted({*families, *(one.generator for one in built.attempts)}):
        costs, seconds = _costs_and_seconds(built, name)
        found[name] = GeneratorFigures(
            family=families.get(name),
            attempts=sum(one.generator == name for one in built.attempts),
            instances=sum(row.generator == name for row in rows),
            cost=sum_of_costs(costs),
            request_hours=_hours(seconds),
        )
    return found


def _stated(built: BuiltSet, name: str) -> float | None:
    """Return a number of the manifest."""
    value = built.manifest.get(name)
    return float(value) if isinstance(value, int | float) else None


def _hours(seconds: Sequence[float | None]) -> float | None:
    known = [value for value in seconds if value is not None]
    return sum(known) / 3600 if known else None
