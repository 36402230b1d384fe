"""The tables of what the answers took."""

from __future__ import annotations

from collections.abc import Sequence

from caretbench.reports.sections.usage import TOKENS, ModelUsage, Spread
from caretbench.reports.summary import Summary
from caretbench.reports.tables import Field, Table, number_field, percent, text_field


def usage_tables(summary: Summary) -> tuple[Table, ...]:
    """What the answers took: requests and what did not come, then tokens, money and time; only where there is any."""
    found = (_requests_table(summary.usage), _tokens_table(summary.usage))
    return tuple(table for table in found if table is not None)


def _requests_table(usage: Sequence[ModelUsage]) -> Table | None:
    if not usage:
        return None
    kinds = sorted({kind for entry in usage for kind in entry.missing})
    rows = tuple(
        (
            text_field(entry.title),
            number_field(entry.requests),
            number_field(entry.answers),
            number_field(entry.tries),
            number_field(entry.stopped_by_length, percent(entry.stopped_by_length)),
            *(number_field(entry.missing.get(kind, 0)) for kind in kinds),
        )
        for entry in usage
    )
    heads = (
        "Model",
        "Requests",
        "Answers",
        "Tries",
        "Stopped by length",
        *(f"Missing: {kind}" for kind in kinds),
    )
    return Table(
        title="Requests and answers",
        heads=heads,
        numeric=(False, *[True] * (len(heads) - 1)),
        rows=rows,
        caption="Answered requests and their tries. A missing sample is asked for again by the next run.",
    )


def _tokens_table(usage: Sequence[ModelUsage]) -> Table | None:
    told = [name for name in TOKENS if any(getattr(entry, name) is not None for entry in usage)]
    if not told and all(entry.cost is None and entry.last_token is None for entry in usage):
        return None
    rows = tuple(
        (
            text_field(entry.title),
            *(_count_field(getattr(entry, name)) for name in told),
            _cost_field(entry),
            _seconds_field(entry.first_token),
            _seconds_field(entry.last_token),
        )
        for entry in usage
    )
    heads = ("Model", *(TOKENS[name] for name in told), "Cost ($)", "First token (s)", "Last token (s)")
    return Table(
        title="Tokens, cost and latency",
        heads=heads,
        numeric=(False, *[True] * (len(heads) - 1)),
        rows=rows,
        caption="Latency: median and 95th percentile (p95) over requests. Tokens of a shared request count once.",
    )


def _count_field(count: int | None) -> Field:
    return number_field(count, None if count is None else f"{count:,}")


def _cost_field(entry: ModelUsage) -> Field:
    if entry.cost is None:
        return number_field(None)
    part = "" if entry.priced == entry.answers else f"{entry.priced} of {entry.answers} answers"
    return number_field(entry.cost, f"{entry.cost:.4f}", part)


def _seconds_field(spread: Spread | None) -> Field:
    if spread is None:
        return number_field(None)
    return number_field(spread.median_s, f"{spread.median_s:.2f}", f"p95 {spread.percentile_95_s:.2f}")
