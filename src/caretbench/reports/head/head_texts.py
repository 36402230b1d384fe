"""Texts of a report's head, made by rules from the tests: sentences, ranked list, and the last line of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from caretbench.execution.execution_types import RunCosts
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.head.head_values import HeadMeasure, HeadPart, RankedModel, ReportHead, against_best
from caretbench.reports.results.paired_models import ALL_PARTS, ComparisonRow, pair_sentences
from caretbench.reports.summary import Summary
from caretbench.reports.tables import TableField, range_text, rate_field, score_field

NO_NUMBER = "No answer has a number to rank models by."
"""Sentence of a report without a head."""

_MAX_NAMED = 3
"""Maximum number of models that a sentence names."""


def head_sentences(head: ReportHead) -> list[str]:
    """Return the sentences about all parts: the run has failed, no model has a number, or the score is not known.

    Where a suite keeps parts apart, the comparison over all of them follows.
    """
    sentences = []
    if head.failed:
        few = ", ".join(head.failed)
        sentences.append(f"This run has failed: too few answers have a verdict ({few}). Do not rely on its numbers.")
    elif head.overall:
        first, *more = _among_models(against_best(head.overall), points=True)
        sentences += [f"Over {ALL_PARTS}, {first}", *more]
    if not any(part.models for part in head.parts):
        sentences.append("No model was scored: these are the baselines.")
    return [*sentences, *head.without_score]


def part_sentences(head: ReportHead, part: HeadPart) -> list[str]:
    """Return the findings of a part; none if the run has failed."""
    return [] if head.failed else findings(part)


def findings(part: HeadPart) -> list[str]:
    """Return the sentences about a part.

    With several models: the difference between the best one and the first that the test tells from it, then the first
    that it does not tell from it, with the power of the comparison. With one model, or where the best one is not above
    it: the difference to the strongest baseline. Without a test: the rate.
    """
    if not part.models:
        return []
    best, points = part.models[0], part.measure.similarity is None
    sentences = []
    if len(part.models) > 1:
        sentences += list(_among_models(part.others, points=points))
        if not sentences:
            return [f"{_rate(part.measure, best)}. There are too few common problems to compare the models."]
    floor = part.baseline
    if floor is not None and (not sentences or not (floor.distinguishable and floor.difference > 0)):
        named = floor.model_copy(update={"second": f"the baseline {floor.second}"})
        about = list(pair_sentences(named, points=points))[: 1 if sentences else None]
        sentences += [
            text.replace("the baseline", "The baseline", 1) if text.startswith("the") else text for text in about
        ]
    return sentences or [f"{_rate(part.measure, best)}; there is nothing to compare it with."]


def _among_models(rows: Sequence[ComparisonRow], *, points: bool) -> Iterator[str]:
    """Yield the sentences about the best model and the others, in order of their numbers."""
    told = next((row for row in rows if row.distinguishable), None)
    untold = [row for row in rows if not row.distinguishable]
    if told is not None:
        yield from pair_sentences(told, points=points)
    # The nearest model is the one that readers ask about.
    yield from (text for row in untold[:1] for text in pair_sentences(row, points=points))
    if untold[1:]:
        verb = "told apart from" if untold[0].decidable else "compared with"
        yield f"{_names([row.second for row in untold[1:]])} cannot be {verb} {untold[0].first} either."


def _rate(measure: HeadMeasure, entry: RankedModel) -> str:
    number = entry.estimate
    if measure.similarity is None:
        return f"{entry.title} passes {100 * number.value:.1f}% of {number.problems} problems{_ends(number, 100, 1)}"
    ends = _ends(number, 1, 3)
    return f"{entry.title} has a mean similarity of {number.value:.3f} over {number.problems} problems{ends}"


def _ends(number: ReportedNumber, scale: float, digits: int) -> str:
    ends = range_text(number.low, number.high, f".{digits}f", scale)
    return f" [{ends}]" if ends else ""


def _names(titles: Sequence[str]) -> str:
    shown = list(titles)
    if len(titles) > _MAX_NAMED:
        shown[_MAX_NAMED - 1 :] = [f"{len(titles) - _MAX_NAMED + 1} others"]
    *others, last = shown
    return f"{', '.join(others)} and {last}" if others else last


def leading_title(part: HeadPart) -> str:
    """Return the title of the ranked number, with the problems that it is over if these are not all."""
    return ", ".join(filter(None, (part.measure.title, part.counted)))


def number_of(part: HeadPart, entry: RankedModel) -> TableField:
    """Return the number of a model with its interval."""
    return rate_field(entry.estimate) if part.measure.similarity is None else score_field(entry.estimate, 3)


def cost_text(dollars: float | None) -> str:
    """Return a cost in US dollars with two significant digits; empty for None."""
    return "" if dollars is None else f"${Decimal(f'{dollars:.2g}'):f}"


_TITLES = {"caretbench": "CaretBench", "python": "Python"}


def footer_line(summary: Summary) -> str:
    """Return the date of the report, what its numbers are made with, and where the run's time went."""
    costs = summary.manifest.get("costs")
    took = f" {RunCosts.model_validate(costs).sentence()}" if costs else ""
    return f"{datetime.now(UTC).date().isoformat()}: {'; '.join(_facts(summary))}.{took}"


def _facts(summary: Summary) -> Iterator[str]:
    manifest = summary.manifest
    versions = manifest.get("versions")
    if isinstance(versions, Mapping):
        yield ", ".join(f"{_TITLES.get(name, name)} {version}" for name, version in versions.items())
    data = manifest.get("data")
    if isinstance(data, Mapping):
        yield f"data {data.get('name')} {str(data.get('hash'))[:8]}"
    for name in ("profile", "policy"):
        if manifest.get(name):
            yield f"{name} {manifest[name]}"
    yield f"seed of the bootstrap {summary.seed}"
