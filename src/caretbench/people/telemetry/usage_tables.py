"""Tables of events for the terminal: refused lines, scenarios, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from caretbench.metrics.error_kinds.kind_table import error_kind_title
from caretbench.metrics.intervals import MIN_CLUSTERS
from caretbench.people.telemetry.events import REFUSAL_REASONS, EventReader
from caretbench.people.telemetry.people_codes import CodeAnalysis
from caretbench.people.telemetry.usage_analysis import ALL, FailureRow, ScenarioRow, UserRate
from caretbench.text_tables import TextTable


def refusal_table(reader: EventReader) -> TextTable:
    """Return the refused lines of a file by reason, with the first of each."""
    rows = [
        (reason, str(reader.refused[reason]), str(reader.first[reason].line), reader.first[reason].detail)
        for reason in REFUSAL_REASONS
        if reader.refused[reason]
    ]
    return TextTable("Refused lines", ("Reason", "Lines", "First line", "Detail of the first"), rows)


def scenario_table(rows: Sequence[ScenarioRow]) -> TextTable:
    """Return acceptance and survival of all events, and by the properties that have several values."""
    shown = [
        (
            row.dimension, row.value, str(row.acceptance.events), str(row.acceptance.users), rate_text(row.share),
            rate_text(row.acceptance), rate_text(row.survival), rate_text(row.right),
        )
        for row in _shown(rows)
    ]  # fmt: skip
    columns = ("Property", "Value", "Seen", "Users", "Share", "Accepted", "Kept as it was", "Accepted or typed")
    return TextTable("Completions that were seen", columns, shown)


def _shown(rows: Sequence[ScenarioRow]) -> list[ScenarioRow]:
    several = Counter(row.dimension for row in rows)
    # A property with one value repeats the row of all events.
    return [row for row in rows if row.dimension == ALL or several[row.dimension] > 1]


def few_users_note(rows: Sequence[ScenarioRow]) -> str | None:
    """Return a note about scenarios whose events are mostly those of few users; None if there are none."""
    shown = [row for row in _shown(rows) if row.acceptance.events]
    # A few users more may change these intervals much.
    few = [row for row in shown if row.acceptance.effective_users < MIN_CLUSTERS]
    if not few:
        return None
    whole = next((row.acceptance for row in few if row.dimension == ALL), None)
    of_all = f"; all {whole.users} users count as {whole.effective_users:g}" if whole is not None else ""
    return (
        f"{len(few)} of {len(shown)} rows have most of their events from so few users that these count as less than "
        f"{MIN_CLUSTERS}{of_all}: if heavy users differ from others, the intervals are too narrow"
    )


def failure_table(rows: Sequence[FailureRow]) -> TextTable:
    """Return the error kinds of all events, the most frequent first."""
    whole = sorted((row for row in rows if row.dimension == ALL), key=lambda row: -(row.share.value or 0.0))
    shown = [(error_kind_title(row.kind), rate_text(row.share), rate_text(row.among_not_accepted)) for row in whole]
    return TextTable("Failures", ("Error kind", "Of the examined", "Of those not accepted"), shown)


def code_tables(codes: CodeAnalysis) -> Iterator[TextTable]:
    """Yield the codes of people: shares and agreement."""
    rows = [
        (row.question, row.code, f"{row.share:.1%} {_bounds(row.low, row.high, 100)}", str(row.first_at))
        for row in codes.shares
    ]
    title = f"Codes of {codes.people} people for {codes.events} of {codes.population} events that were not kept"
    yield TextTable(title, ("Question", "Code", "Share", "First at event"), rows)
    agreement = [
        (
            row.question,
            str(row.items),
            "–" if row.equal is None else f"{row.equal:.0%}",
            "undefined: all gave one code" if row.alpha is None else f"{row.alpha:.2f} {_bounds(row.low, row.high)}",
        )
        for row in codes.agreement
    ]
    yield TextTable("Agreement", ("Question", "Events", "Equal codes", "Krippendorff's alpha"), agreement)


def _bounds(low: float | None, high: float | None, factor: float = 1) -> str:
    digits = 1 if factor > 1 else 2
    return "" if low is None or high is None else f"[{factor * low:.{digits}f} to {factor * high:.{digits}f}]"


def rate_text(rate: UserRate) -> str:
    """Return a rate with its interval over users, in percent."""
    if rate.value is None or rate.low is None or rate.high is None:
        return "–"
    return f"{rate.value:.1%} [{100 * rate.low:.1f} to {100 * rate.high:.1f}]"
