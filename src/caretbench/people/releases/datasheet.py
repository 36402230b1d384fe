"""Datasheet of a released set: its facts and figures, and what is unknown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Literal

from pydantic import Field, JsonValue

from caretbench.build.validation.reviewed import REJECTED, SETTLED_NAME, ReviewedProblem
from caretbench.errors import DataError
from caretbench.files import read_lines, read_rows
from caretbench.grouping import grouped
from caretbench.metrics.agreement import Rating, krippendorff_alpha
from caretbench.metrics.code_statistics import problem_statistics
from caretbench.metrics.complexity import paper_statistics
from caretbench.metrics.kappa import equal_share
from caretbench.people.releases.built_set import BuiltSet, cell_of, sorted_counts
from caretbench.problem import Caret, Problem, Row, StoredRow
from caretbench.suites.devbench.build.construction.build_folder import InstanceAttempt, sum_of_costs
from caretbench.suites.devbench.build.instance_rules.instance_checks import PASSED
from caretbench.suites.devbench.built_instances import BuiltInstance
from caretbench.syntax.caret_boundary import caret_boundary

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
    accepted = sum(attempt.outcome == ACCEPTED for attempt in attempts)
    return GenerationFigures(
        attempts=len(attempts) if attempts else None,
        instances=accepted if attempts else len(rows) or None,
        scenarios=len({attempt.scenario for attempt in attempts}) if attempts else None,
        # Hours of requests run side by side, so their sum says nothing about the clock.
        wall_hours=_stated(built, "wall_hours"),
        request_hours=_hours(seconds),
        cost=sum_of_costs(costs) if costs else _stated(built, "cost"),
        unpriced=sum(cost is None for cost in costs) if costs else None,
        prompt_versions=sorted_counts(row.prompt_version for row in rows),
        attempts_per_instance=fmean(row.attempts for row in rows) if rows else None,
        generators=_generators(built),
        cells=_yields(attempts),
        reasons=sorted_counts(attempt.outcome for attempt in attempts if attempt.outcome != ACCEPTED),
    )


def _costs_and_seconds(built: BuiltSet, generator: str | None = None) -> tuple[list[float | None], list[float | None]]:
    """Return costs and seconds of the answers, or of the attempts if there are no answers; of one generator or all."""
    # Answers are what was paid for; an attempt may have had several of them, or none of its own.
    answers = [answer for answer in built.answers if generator in (None, answer.model)]
    if answers:
        seconds = [answer.latency.last_s if answer.latency else None for answer in answers]
        return [answer.cost for answer in answers], seconds
    attempts = [attempt for attempt in built.attempts if generator in (None, attempt.generator)]
    return [attempt.cost for attempt in attempts], [attempt.seconds for attempt in attempts]


def _yields(attempts: Sequence[InstanceAttempt]) -> dict[str, YieldFigures]:
    cells = grouped((attempt.cell, attempt.outcome) for attempt in attempts)
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
    figures = {}
    for name in sorted({*families, *(attempt.generator for attempt in built.attempts)}):
        costs, seconds = _costs_and_seconds(built, name)
        figures[name] = GeneratorFigures(
            family=families.get(name),
            attempts=sum(attempt.generator == name for attempt in built.attempts),
            instances=sum(row.generator == name for row in rows),
            cost=sum_of_costs(costs),
            request_hours=_hours(seconds),
        )
    return figures


def _stated(built: BuiltSet, name: str) -> float | None:
    """Return a number of the manifest."""
    value = built.manifest.get(name)
    # The manifest of a build by hand, or of another tool, may have text there.
    return float(value) if isinstance(value, int | float) else None


def _hours(seconds: Sequence[float | None]) -> float | None:
    known = [value for value in seconds if value is not None]
    return sum(known) / 3600 if known else None


ALL: Final = "all"
FAULT: Final = "fault"
_COMPOSITION: Final = ("mode", "direction", "kind", "band", "origin")
_REQUESTED: Final = ("kind", "domain", "language_construct", "band", "documentation", "mode", "boundary")
# A free text of a scenario has a value for each problem, and makes no table.
_MAX_VALUES: Final = 60
"""Number of distinct values above which a field of scenarios is not broken down."""


class SizeFigures(Row):
    """Means over problems, as the paper's Table 4: lines, tokens, and cyclomatic complexity."""

    problems: int
    prefix_lines: float
    completion_lines: float
    total_lines: float
    prefix_tokens: float
    completion_tokens: float
    cyclomatic: float


class PartFigures(Row):
    """Figures of the problems of one part.

    ``sizes`` counts by the syntax of the language, ``sizes_paper`` as the script behind the paper's Table 4; both by
    language, with ``all``. ``composition`` counts labels of the problems, ``requested`` what their scenarios asked for.
    ``checks`` counts results by check, ``private_texts`` the problems with a name or an address of a person, ``marked``
    the source files with the canary (None: problems are rows). ``created`` are the first and the last date of the rows.
    """

    problems: int
    without_row: int
    cells: Mapping[str, int]
    composition: Mapping[str, Mapping[str, int]]
    requested: Mapping[str, Mapping[str, int]]
    siblings: int
    sizes: Mapping[str, SizeFigures]
    sizes_paper: Mapping[str, SizeFigures]
    checks: Mapping[str, Mapping[str, int]]
    private_texts: int
    marked: int | None
    created: tuple[str, str] | None


def part_figures(
    built: BuiltSet, problems: Sequence[Problem], marked: int | None, private: Collection[str]
) -> PartFigures:
    """Return the figures of some problems of a set; ``private`` are the ids of those with private texts."""
    rows = [row for problem in problems if (row := built.row(problem)) is not None]
    ids = {row.id for row in rows}
    dates = sorted(row.created for row in rows)
    checks: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name, result in row.checks.items():
            # Messages differ by problem; a datasheet counts.
            checks[name][PASSED if result == PASSED else FAULT] += 1
    return PartFigures(
        problems=len(problems),
        without_row=len(problems) - len(rows),
        cells=sorted_counts(map(cell_of, problems)),
        composition=_composition(problems),
        requested=_requested(rows),
        siblings=sum(row.sibling in ids for row in rows if row.sibling),
        sizes=_sizes(problems, as_released=False),
        sizes_paper=_sizes(problems, as_released=True),
        checks={name: dict(sorted(counts.items())) for name, counts in sorted(checks.items())},
        private_texts=sum(problem.id in private for problem in problems),
        marked=marked,
        created=(dates[0], dates[-1]) if dates else None,
    )


def _composition(problems: Sequence[Problem]) -> dict[str, dict[str, int]]:
    """Return the counts of the labels of problems, and of the boundaries of their carets."""
    labels = {name: [problem.label(name) for problem in problems if name in problem.labels] for name in _COMPOSITION}
    labels["boundary"] = [
        caret_boundary(caret.prefix, problem.reference, caret.suffix)
        for problem in problems
        if isinstance(caret := problem.shown, Caret)
    ]
    return {name: sorted_counts(values) for name, values in labels.items() if values}


def _requested(rows: Sequence[BuiltInstance]) -> dict[str, dict[str, int]]:
    """Return the counts of the fields of scenarios with few distinct values."""
    counted = {name: sorted_counts(str(getattr(row.scenario, name)) for row in rows) for name in _REQUESTED}
    return {name: counts for name, counts in counted.items() if 0 < len(counts) <= _MAX_VALUES}


def _sizes(problems: Sequence[Problem], *, as_released: bool) -> dict[str, SizeFigures]:
    """Return mean sizes by language, and of all problems; empty if the problems have no caret."""
    # Two countings stand side by side, since the paper's script counts lines and tokens in its own way.
    count = paper_statistics if as_released else problem_statistics
    counted = [
        (caret.language, count(caret.prefix, problem.reference, caret.suffix, problem.hidden_tests, caret.language))
        for problem in problems
        if isinstance(caret := problem.shown, Caret)
    ]
    by_language = dict(sorted(grouped(counted).items()))
    if counted:
        by_language[ALL] = [sizes for _, sizes in counted]
    return {
        name: SizeFigures(
            problems=len(sizes),
            **{field: fmean(getattr(size, field) for size in sizes) for field in [*SizeFigures.model_fields][1:]},
        )
        for name, sizes in by_language.items()
    }


class QuestionFigures(Row):
    """Agreement on one question: items with answers of at least two people, share of equal pairs, and alpha.

    Answers are what people decided alone, before any question of the adjudicator. ``alpha`` is Krippendorff's,
    ordinal for numbers; None: nothing can disagree. ``mean`` is over items, of numbers.
    """

    items: int
    equal: float | None
    alpha: float | None
    mean: float | None


class ReviewFigures(Row):
    """Statistics of a review.

    ``rejections`` counts reasons; an item with several counts once for each. ``decisions``, ``people`` and ``hours``
    are those that hold, None if the folder has no file of decisions.
    """

    items: int
    settled: int
    accepted: int
    rejected: int
    states: Mapping[str, int]
    rejections: Mapping[str, int]
    people: int | None = None
    decisions: int | None = None
    hours: float | None = None
    questions: Mapping[str, QuestionFigures] = {}


def review_figures(folder: Path) -> ReviewFigures:
    """Return the statistics of a folder that ``caretbench review export`` wrote.

    Raises:
        DataError: it has no settled results, or a row is malformed.
    """
    path = folder / SETTLED_NAME
    if not path.exists():
        raise DataError(f"{path}: no such file; `caretbench review export` writes it")
    rows = list(read_rows(path, ReviewedProblem))
    rejected = [row for row in rows if row.value == REJECTED]
    # Rejections without a reason are counted as such, so that the shares are of all of them.
    reasons = Counter(reason for row in rejected for reason in row.reasons or ("no reason",))
    figures = ReviewFigures(
        items=len(rows),
        settled=sum(row.value is not None for row in rows),
        accepted=sum(row.value not in (None, REJECTED) for row in rows),
        rejected=len(rejected),
        states=dict(sorted(Counter(row.state for row in rows).items())),
        rejections=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
    )
    decisions = folder / "decisions.jsonl"
    return figures if not decisions.exists() else figures.model_copy(update=_people(decisions))


def _people(path: Path) -> dict[str, Any]:
    """Return the fields that follow from the decisions."""
    held = list(_reviewers(path, "holds"))
    answers: dict[str, dict[str, dict[str, Rating]]] = defaultdict(lambda: defaultdict(dict))
    for item, event in _reviewers(path, "first"):
        for question, answer in event["answers"].items():
            # Exports of other tools may hold lists; no coefficient is about them.
            if isinstance(answer, int | str):
                answers[question][item][event["person"]] = answer
    return {
        "people": len({event["person"] for _, event in held}),
        "decisions": len(held),
        "hours": sum(float(event.get("active_s") or 0) for _, event in held) / 3600,
        "questions": {name: _question(list(by_item.values())) for name, by_item in sorted(answers.items())},
    }


def _reviewers(path: Path, which: Literal["holds", "first"]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield item and event of the decisions of reviewers that hold, or that they made alone; not on controls."""
    for number, row in read_lines(path):
        event = row.get("event")
        if not isinstance(event, dict) or not isinstance(event.get("answers"), dict) or "person" not in event:
            raise DataError(f"{path}:{number}: no decision of a review; `caretbench review export` writes this file")
        # A decision that was undone, a control, or the second decision of a person would count one item several times.
        # Earlier exports do not say which decision was made alone.
        counts = row.get("holds") if row.get(which) is None else row[which]
        if counts and row.get("kind") == "item" and row.get("role") == "reviewer" and not event.get("repeat"):
            yield str(row.get("item")), event


def _question(by_item: Sequence[Mapping[str, Rating]]) -> QuestionFigures:
    # One person agrees with nobody.
    several = [given.values() for given in by_item if len(given) > 1]
    ratings = list(zip_longest(*several))
    numbers = all(isinstance(value, int) for given in by_item for value in given.values())
    means = [sum(map(float, given.values())) / len(given) for given in by_item] if numbers else []
    return QuestionFigures(
        items=len(several),
        equal=equal_share(ratings) if several else None,
        alpha=krippendorff_alpha(ratings, "ordinal" if numbers else "nominal") if several else None,
        mean=sum(means) / len(means) if means else None,
    )


Part = Literal["public", "holdout"]


class Datasheet(StoredRow):
    """Datasheet of one part of a set: ``datasheet.json``."""

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


def unknown_facts(built: BuiltSet, generation: GenerationFigures, review: ReviewFigures | None) -> tuple[str, ...]:
    """Return what the folder does not tell, as phrases."""
    facts = {
        "generator, scenario, checks and cost of the instances: the folder has no instances.jsonl": not built.instances,
        "attempts and yields: the folder has no attempts.jsonl": generation.attempts is None,
        f"cost of the generation{_unpriced(generation)}": generation.cost is None,
        "hours of the generation on the clock: the manifest has none": generation.wall_hours is None,
        "results of a review by people: none was given with --review": review is None,
    }
    return tuple(text for text, missing in facts.items() if missing)


def _unpriced(generation: GenerationFigures) -> str:
    return f": {generation.unpriced} answers have no known price" if generation.unpriced else ""
