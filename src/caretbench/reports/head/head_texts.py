"""Texts of a report's head, made by rules from the tests: sentences, ranked list, and the last line of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from caretbench.execution.execution_types import RunCosts
from caretbench.metrics.paired import is_decidable
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.head.head_values import HeadDifference, HeadMeasure, HeadPart, RankedModel, ReportHead
from caretbench.reports.summary import Summary
from caretbench.reports.tables import (
    FieldValue,
    ReportTable,
    TableField,
    digits_field,
    rate_field,
    score_field,
    share_field,
    table_of,
    text_field,
    title_field,
)

NO_NUMBER = "No answer has a number to rank models by."
"""Sentence of a report without a head."""

_MAX_NAMED = 3
"""Maximum number of models that a sentence names."""


def head_sentences(head: ReportHead) -> list[str]:
    """Return the sentences about all parts: the run has failed, no model has a number, or the score is not known."""
    sentences = []
    if head.failed:
        few = ", ".join(head.failed)
        sentences.append(f"This run has failed: too few answers have a verdict ({few}). Do not rely on its numbers.")
    if not any(part.models for part in head.parts):
        sentences.append("No model was scored: these are the baselines.")
    return [*sentences, *head.without_score]


def findings(part: HeadPart) -> list[str]:
    """Return at most three sentences about a part.

    With several models: the difference between the best one and the first that the test tells from it, then the models
    that it does not tell from it. With one model: the difference to the strongest baseline. Without a test: the rate.
    """
    models = part.models
    if not models:
        return []
    best = models[0]
    sentences = list(_among_models(part.measure, part, best)) if len(models) > 1 else []
    if part.baseline is not None and (not sentences or not _above(part.baseline)):
        sentences.append(_against_baseline(part.measure, part.baseline, _on_all(part, best), alone=not sentences))
    return sentences or [f"{_rate(part.measure, best)}; there is nothing to compare it with."]


def _among_models(measure: HeadMeasure, part: HeadPart, best: RankedModel) -> Iterator[str]:
    if part.nearest is None and not part.undecided:
        few = "common problems" if part.too_few_groups is None else f"independent groups ({part.too_few_groups})"
        yield f"{_rate(measure, best)}. There are too few {few} to compare the models."
        return
    if part.nearest is not None:
        yield f"{_difference(measure, best.title, part.nearest)}."
        if part.undecided:
            yield f"{_not_distinguishable(part.undecided)} from {best.title}."
    elif len(part.undecided) == len(part.models) - 1 > 1:
        yield f"No other model is distinguishable from {best.title}: {_rate(measure, best)}."
    else:
        yield f"{_not_distinguishable(part.undecided)} from {best.title}: {_rate(measure, best)}."


def _against_baseline(measure: HeadMeasure, found: HeadDifference, best: RankedModel, *, alone: bool) -> str:
    if found.distinguishable:
        return f"{_difference(measure, best.title, found)}."
    text = f"{best.title} is not distinguishable from the baseline {found.other}"
    if not is_decidable(found.groups):
        text = f"There are too few independent groups ({found.groups}) to compare {best.title} with {found.other}"
    return f"{text}: {_rate(measure, best)}." if alone else f"{text}."


def _on_all(part: HeadPart, entry: RankedModel) -> RankedModel:
    """Return a model with its number over all problems, on which baselines are compared."""
    return entry.model_copy(update={"estimate": entry.beside}) if part.counted and entry.beside else entry


def _above(found: HeadDifference) -> bool:
    return found.distinguishable and found.difference > 0


def _difference(measure: HeadMeasure, best: str, found: HeadDifference) -> str:
    """Return the difference to another model or baseline: ``B passes 4.1 points more than A [1.2 to 7.0]``."""
    other = f"the baseline {found.other}" if found.baseline else found.other
    fewer = found.difference < 0
    sign = -1 if fewer else 1
    ends = sorted(sign * end for end in (found.low, found.high) if end is not None)
    if measure.similarity is None:
        interval = f" [{' to '.join(f'{100 * end:.1f}' for end in ends)}]" if ends else ""
        size = f"{100 * abs(found.difference):.1f}"
        return f"{best} passes {size} points {'less' if fewer else 'more'} than {other}{interval}"
    interval = f" [{' to '.join(f'{end:.3f}' for end in ends)}]" if ends else ""
    size = f"{abs(found.difference):.3f}"
    return f"{best} is {size} {'less' if fewer else 'more'} similar to the reference than {other}{interval}"


def _rate(measure: HeadMeasure, entry: RankedModel) -> str:
    number = entry.estimate
    if measure.similarity is None:
        return f"{entry.title} passes {100 * number.value:.1f}% of {number.problems} problems{_ends(number, 100, 1)}"
    ends = _ends(number, 1, 3)
    return f"{entry.title} has a mean similarity of {number.value:.3f} over {number.problems} problems{ends}"


def _ends(number: ReportedNumber, scale: float, digits: int) -> str:
    if number.low is None or number.high is None:
        return ""
    return f" [{scale * number.low:.{digits}f} to {scale * number.high:.{digits}f}]"


def _not_distinguishable(titles: Sequence[str]) -> str:
    return f"{_names(titles)} {'is' if len(titles) == 1 else 'are'} not distinguishable"


def _names(titles: Sequence[str]) -> str:
    shown = list(titles)
    if len(titles) > _MAX_NAMED:
        shown[_MAX_NAMED - 1 :] = [f"{len(titles) - _MAX_NAMED + 1} others"]
    *others, last = shown
    return f"{', '.join(others)} and {last}" if others else last


WIDTH = 41
"""Number of characters of a drawn interval."""


def ranking_table(part: HeadPart, *, drawn: bool = False) -> ReportTable:
    """Return the ranked list of a part, with a drawing of each interval if ``drawn``."""
    timed = any(entry.last_token_s is not None for entry in part.ranking)
    heads = ["Model", leading_title(part), "Problems", part.beside.capitalize(), "Empty", "Below"]
    heads += ["First token (s)", "Answer (s)"] if timed else []
    heads += [f"0{' ' * (WIDTH - 2)}1"] if drawn else []
    rows: list[list[FieldValue]] = []
    for entry in part.ranking:
        row: list[FieldValue] = [
            title_field(entry.title, baseline=entry.baseline), number_of(part, entry), entry.estimate.problems,
            share_field(entry.beside.value if entry.beside else None),
            share_field(entry.empty),
            text_field(", ".join(entry.below), "warning"),
        ]  # columns without values are omitted  # fmt: skip
        row += [digits_field(entry.first_token_s), digits_field(entry.last_token_s)] if timed else []
        rows.append([*row, *([interval_drawing(entry.estimate)] if drawn else [])])
    title = f"Models by {leading_title(part)}"
    return table_of(f"{part.title}: {title}" if part.title else title, heads, rows, part.about)


def leading_title(part: HeadPart) -> str:
    """Return the title of the ranked number, with the problems that it is over if these are not all."""
    return ", ".join(filter(None, (part.measure.title, part.counted)))


def number_of(part: HeadPart, entry: RankedModel) -> TableField:
    """Return the number of a model with its interval."""
    return rate_field(entry.estimate) if part.measure.similarity is None else score_field(entry.estimate, 3)


def interval_drawing(number: ReportedNumber) -> str:
    """Return a number from 0 to 1 and its interval, drawn on a line of :data:`WIDTH` characters."""
    line = [" "] * WIDTH
    low, high = _place(number.value if number.low is None else number.low), _place(number.high or number.value)
    line[low : high + 1] = "-" * (high - low + 1)
    line[low] = line[high] = "|"
    line[_place(number.value)] = "o"
    return "".join(line).rstrip()


def _place(value: float) -> int:
    return round(min(1.0, max(0.0, value)) * (WIDTH - 1))


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
