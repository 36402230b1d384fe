"""Sections of answers by model: requests, tokens, cost and time, and completions that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.answer_counts import (
    TOKENS,
    ModelUsage,
    RequestTimes,
    blank_warnings,
    incomplete_warnings,
    mark_notes,
    mark_warnings,
    refused_warnings,
)
from caretbench.reports.section import Line, PagePart, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    existing_tables,
    number_field,
    share_field,
    table_of,
    title_field,
)


class UsageSection(Section):
    """Section of requests, tokens, cost and time of the models that were sampled in this run."""

    positions = SectionPositions(text=70, page=80, lines=30)
    part = PagePart("usage", "Usage", "Requests, tokens, cost and time")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the usage by model."""
        return {"usage": tuple(source.usage.values())}

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return requests, then tokens, money and time."""
        return existing_tables((_requests_table(summary.usage), _tokens_table(summary.usage)))

    def lines(self, summary: Summary) -> Iterator[Line]:
        """Yield one line per model and number."""
        for entry in summary.usage:
            common = {"scope": "usage", "model": entry.model, "parameters": entry.parameters}
            for metric, value in _numbers(entry):
                yield common | {"metric": metric, "value": value}


def _requests_table(usage: Sequence[ModelUsage]) -> ReportTable | None:
    if not usage:
        return None
    kinds = sorted({kind for entry in usage for kind in entry.missing})
    rows: list[FieldValues] = [
        (
            entry.title,
            entry.requests,
            entry.answers,
            entry.tries,
            share_field(entry.stopped_by_length),
            *(entry.missing.get(kind, 0) for kind in kinds),
        )
        for entry in usage
    ]
    missing = (f"Missing: {kind}" for kind in kinds)
    heads = ("Model", "Requests", "Answers", "Tries", "Stopped by length", *missing)
    caption = "Answered requests and their tries. The next run requests missing samples again."
    return table_of("Requests and answers", heads, rows, caption)


def _tokens_table(usage: Sequence[ModelUsage]) -> ReportTable | None:
    reported = [name for name in TOKENS if any(getattr(entry, name) is not None for entry in usage)]
    if not reported and all(entry.cost is None and entry.last_token is None for entry in usage):
        return None
    rows: list[FieldValues] = [
        (
            entry.title,
            *(digits_field(getattr(entry, name), ",") for name in reported),
            _cost_field(entry),
            _seconds_field(entry.first_token),
            _seconds_field(entry.last_token),
        )
        for entry in usage
    ]
    heads = ("Model", *(TOKENS[name] for name in reported), "Cost ($)", "First token (s)", "Last token (s)")
    caption = "Latency: median and 95th percentile (p95) over requests. Tokens of a shared request count once."
    return table_of("Tokens, cost and latency", heads, rows, caption)


def _cost_field(entry: ModelUsage) -> TableField:
    if entry.cost is None:
        return number_field(None)
    part = "" if entry.priced == entry.answers else f"{entry.priced} of {entry.answers} answers"
    return number_field(entry.cost, f"{entry.cost:.4f}", part)


def _seconds_field(spread: RequestTimes | None) -> TableField:
    if spread is None:
        return number_field(None)
    return number_field(spread.median_s, f"{spread.median_s:.2f}", f"p95 {spread.percentile_95_s:.2f}")


def _numbers(entry: ModelUsage) -> Iterator[tuple[str, float]]:
    for name in ("requests", "answers", "tries", *TOKENS, "cost", "stopped_by_length"):
        value = getattr(entry, name)
        if value is not None:
            yield name, value
    for name, spread in (("first_token", entry.first_token), ("last_token", entry.last_token)):
        if spread is not None:
            yield f"{name}_median_s", spread.median_s
            yield f"{name}_percentile_95_s", spread.percentile_95_s
    for kind, count in entry.missing.items():
        yield f"missing_{kind}", count


class RecordingsSection(Section):
    """Section of the completions of each model; a table only if some are missing."""

    positions = SectionPositions(text=5, page=5, lines=25)
    part = PagePart("recordings", "Recordings", "Incomplete recordings")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the numbers of completions by model."""
        return {"recordings": source.recordings}

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return a warning for each recording that is incomplete, or has null, empty, marked or refused completions."""
        kinds = (incomplete_warnings, blank_warnings, mark_warnings, refused_warnings)
        return chain.from_iterable(kind(summary.recordings) for kind in kinds)

    def notes(self, summary: Summary) -> Iterable[str]:
        """Return the line on marks where no answer holds any."""
        return mark_notes(summary.recordings)

    def tables(self, summary: Summary) -> Iterator[ReportTable]:
        """Yield the numbers of completions by model if a recording is incomplete."""
        recordings = summary.recordings
        if all(entry.complete for entry in recordings):
            return
        rows = [
            (
                title_field(entry.title, baseline=False),
                entry.problems,
                entry.all_problems,
                entry.samples,
                entry.with_fewer_samples,
                entry.completions,
                entry.expected,
                share_field(entry.completions / entry.expected),
            )
            for entry in recordings
        ]
        heads = (
            "Model", "Problems", "of", "Samples per problem", "Problems with fewer", "Completions", "Expected",
            "Complete",
        )  # fmt: skip
        yield table_of("Completions by model", heads, rows, "Expected: every sample of the model for every problem.")

    def lines(self, summary: Summary) -> Iterator[Line]:
        """Yield the completions and the expected ones by model."""
        for entry in summary.recordings:
            common = {"scope": "recording", "model": entry.model, "parameters": entry.parameters}
            numbers = {"completions": entry.completions, "expected_completions": entry.expected}
            numbers |= {"marked_completions": entry.marked}
            numbers |= {"refused_completions": entry.refused} if entry.refused else {}
            for metric, value in numbers.items():
                yield common | {"problems": entry.problems, "metric": metric, "value": value}
