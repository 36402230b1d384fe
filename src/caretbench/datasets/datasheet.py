"""Datasheet of a released set: every figure, computed from the rows of its folder."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final, Literal

from pydantic import Field, JsonValue

from caretbench.datasets.built_set import BuiltSet, cell_of, hidden_tests
from caretbench.datasets.review_figures import ReviewFigures
from caretbench.datasets.set_rows import ACCEPTED, OK, AttemptRow, InstanceRow
from caretbench.metrics.code_statistics import problem_statistics
from caretbench.metrics.complexity import paper_statistics
from caretbench.problem import Caret, Problem, Row
from caretbench.validation.texts.private_texts import private_texts

Part = Literal["public", "holdout"]
_COMPOSITION: Final = ("mode", "boundary", "direction")
_MOST_VALUES: Final = 12
"""Number of distinct values above which a field of scenarios is not broken down."""
ALL: Final = "all"
FAULT: Final = "fault"


class SizeFigures(Row):
    """Means over problems, as the paper's Table 4: lines, tokens, and cyclomatic complexity."""

    problems: int
    prefix_lines: float
    completion_lines: float
    total_lines: float
    prefix_tokens: float
    completion_tokens: float
    cyclomatic: float


class GeneratorFigures(Row):
    """Attempts and instances of one generator; ``dollars`` and ``request_hours`` are sums over its answers."""

    family: str | None
    attempts: int
    instances: int
    dollars: float | None
    request_hours: float | None


class YieldFigures(Row):
    """Attempts and instances of one cell, and the reasons of the other attempts."""

    attempts: int
    instances: int
    reasons: Mapping[str, int]


class GenerationFigures(Row):
    """Generation of the whole set, held-out problems included. None: the folder does not tell.

    ``scenarios`` counts the scenarios with attempts, ``hours`` is the time on the clock that the manifest states,
    ``request_hours`` the sum over answers, and ``unpriced`` the number of answers without a known cost.
    """

    attempts: int | None
    instances: int | None
    scenarios: int | None
    hours: float | None
    request_hours: float | None
    dollars: float | None
    unpriced: int | None
    prompt_versions: Mapping[str, int]
    attempts_per_instance: float | None
    generators: Mapping[str, GeneratorFigures]
    cells: Mapping[str, YieldFigures]
    reasons: Mapping[str, int]


class PartFigures(Row):
    """Figures of the problems of one part.

    ``sizes`` counts by the syntax of the language, ``sizes_paper`` as the script behind the paper's Table 4; both by
    language, with ``all``. ``checks`` counts results by check. ``created`` are the first and the last date of the rows.
    """

    problems: int
    without_row: int
    cells: Mapping[str, int]
    composition: Mapping[str, Mapping[str, int]]
    scenarios: Mapping[str, Mapping[str, int]]
    siblings: int
    sizes: Mapping[str, SizeFigures]
    sizes_paper: Mapping[str, SizeFigures]
    checks: Mapping[str, Mapping[str, int]]
    private_texts: int
    marked: int = 0
    """Number of source files with the canary."""
    created: tuple[str, str] | None


class Datasheet(Row):
    """Datasheet of one part of a set: ``datasheet.json``."""

    schema_version: Literal[1] = 1
    name: str
    version: str
    part: Part
    suite: str
    licence: str
    licences: Mapping[str, int]
    terms: Mapping[str, str]
    canary: str
    url: str | None = None
    holdout_problems: int
    holdout_share: float
    figures: PartFigures
    generation: GenerationFigures
    review: ReviewFigures | None = None
    changes: Mapping[str, int] | None = None
    """Number of problems that were added, removed or changed since the earlier version."""
    versions: Mapping[str, JsonValue] = Field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def part_figures(built: BuiltSet, problems: Sequence[Problem], marked: int) -> PartFigures:
    """Return the figures of some problems of a set."""
    rows = [built.row(one) for one in problems]
    known = {row.id for row in rows}
    dates = sorted(row.created for row in rows if row.created)
    checks: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name, result in row.checks.items():
            checks[name][OK if result == OK else FAULT] += 1
    return PartFigures(
        problems=len(problems),
        without_row=sum(one.id not in built.instances for one in problems),
        cells=_counts(map(cell_of, problems)),
        composition={
            name: _counts(one.label(name) for one in problems if name in one.labels)
            for name in _COMPOSITION
            if any(name in one.labels for one in problems)
        },
        scenarios=_scenarios(rows),
        siblings=sum(row.sibling in known for row in rows if row.sibling),
        sizes=_sizes(problems, as_released=False),
        sizes_paper=_sizes(problems, as_released=True),
        checks={name: dict(sorted(counts.items())) for name, counts in sorted(checks.items())},
        private_texts=sum(any(private_texts(_text(one, built.row(one)))) for one in problems),
        marked=marked,
        created=(dates[0], dates[-1]) if dates else None,
    )


def _text(problem: Problem, row: InstanceRow) -> str:
    if not isinstance(problem.shown, Caret):
        return problem.shown.text
    justification = (row.model_extra or {}).get("justification", "")
    return f"{problem.shown.prefix}{problem.reference}{problem.shown.suffix}\n{justification}"


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _scenarios(rows: Sequence[InstanceRow]) -> dict[str, dict[str, int]]:
    """Return the counts of the fields of scenarios with few distinct values."""
    values: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for name, value in row.scenario.items():
            if isinstance(value, str | int | float | bool):
                values[name].append(str(value))
    counted = {name: _counts(found) for name, found in sorted(values.items())}
    return {
        name: counts
        for name, counts in counted.items()
        if len(counts) <= _MOST_VALUES and name not in ("language", "category")
    }


def _sizes(problems: Sequence[Problem], *, as_released: bool) -> dict[str, SizeFigures]:
    """Return mean sizes by language, and of all problems; empty if the problems have no caret."""
    count = paper_statistics if as_released else problem_statistics
    counted = [
        (caret.language, count(caret.prefix, one.reference, caret.suffix, hidden_tests(one), caret.language))
        for one in problems
        if isinstance(caret := one.shown, Caret)
    ]
    names = sorted({name for name, _ in counted})
    parts = {name: [found for language, found in counted if language == name] for name in names}
    if counted:
        parts[ALL] = [found for _, found in counted]
    return {
        name: SizeFigures(
            problems=len(found),
            **{field: fmean(getattr(one, field) for one in found) for field in [*SizeFigures.model_fields][1:]},
        )
        for name, found in parts.items()
    }


def generation_figures(built: BuiltSet) -> GenerationFigures:
    """Return the figures of the generation of a set, from its attempts, answers, instances and manifest."""
    attempts, answers = built.attempts, built.answers
    rows = list(built.instances.values())
    accepted = sum(one.outcome == ACCEPTED for one in attempts)
    costs = [answer.cost for answer in answers] or [row.cost for row in rows]
    return GenerationFigures(
        attempts=len(attempts) if attempts else None,
        instances=accepted if attempts else len(rows) or None,
        scenarios=len({one.scenario for one in attempts}) if attempts else None,
        hours=_stated(built, "hours"),
        request_hours=_hours(built, lambda _model: True),
        dollars=_stated(built, "dollars") if not costs else _total(costs),
        unpriced=sum(cost is None for cost in costs) if costs else None,
        prompt_versions=_counts(str(row.prompt_version) for row in rows if row.prompt_version is not None),
        attempts_per_instance=_mean_attempts(rows),
        generators=_generators(built),
        cells=_yields(attempts),
        reasons=_counts(one.outcome for one in attempts if one.outcome != ACCEPTED),
    )


def _mean_attempts(rows: Sequence[InstanceRow]) -> float | None:
    known = [row.attempts for row in rows if row.attempts is not None]
    return fmean(known) if known else None


def _yields(attempts: Sequence[AttemptRow]) -> dict[str, YieldFigures]:
    cells: dict[str, list[str]] = defaultdict(list)
    for one in attempts:
        cells[one.cell].append(one.outcome)
    return {
        cell: YieldFigures(
            attempts=len(outcomes),
            instances=outcomes.count(ACCEPTED),
            reasons=_counts(outcome for outcome in outcomes if outcome != ACCEPTED),
        )
        for cell, outcomes in sorted(cells.items())
    }


def _generators(built: BuiltSet) -> dict[str, GeneratorFigures]:
    rows = list(built.instances.values())
    families = {row.generator: row.generator_family for row in rows if row.generator}
    names = sorted({*families, *(one.generator for one in built.attempts if one.generator)})
    return {
        name: GeneratorFigures(
            family=families.get(name),
            attempts=sum(one.generator == name for one in built.attempts),
            instances=sum(row.generator == name for row in rows),
            dollars=_total([one.cost for one in built.answers if one.model == name]),
            request_hours=_hours(built, lambda model, name=name: model == name),  # type: ignore[misc]
        )
        for name in names
    }


def _hours(built: BuiltSet, counts: Callable[[str], bool]) -> float | None:
    seconds = [one.latency.last_s for one in built.answers if one.latency is not None and counts(one.model)]
    return sum(seconds) / 3600 if seconds else None


def _stated(built: BuiltSet, name: str) -> float | None:
    """Return a number of the manifest, or of its table ``generation``."""
    table = built.manifest.get("generation")
    value = built.manifest.get(name, table.get(name) if isinstance(table, dict) else None)
    return float(value) if isinstance(value, int | float) else None


def _total(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def unknown_facts(built: BuiltSet, review: ReviewFigures | None) -> tuple[str, ...]:
    """Return what the folder does not tell, as phrases."""
    generation = generation_figures(built)
    facts = {
        "generator, scenario, checks and cost of the instances: the folder has no instances.jsonl": not built.instances,
        "attempts and yields: the folder has no attempts.jsonl": generation.attempts is None,
        "dollars of the generation": generation.dollars is None,
        "hours of the generation on the clock: the manifest has none": generation.hours is None,
        "results of a review by people: none was given with --review": review is None,
    }
    return tuple(text for text, missing in facts.items() if missing)
