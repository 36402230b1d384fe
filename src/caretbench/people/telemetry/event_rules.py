"""Rules about events: contradictions, and the outcome as it counts (``rules.toml``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, get_args

from pydantic import Field

from caretbench.errors import UsageError
from caretbench.files import read_packaged_toml
from caretbench.people.telemetry.event_rows import HASH_PATTERN, CompletionEvent
from caretbench.problem import Row

CountedOutcome = Literal[
    "kept", "edited", "accepted", "reverted", "rejected", "typed_anyway", "ignored", "unseen"
]  # fmt: skip
"""Outcome as it counts. ``accepted``: accepted, and nothing is known of the text later. ``reverted``: accepted, and
soon deleted. ``typed_anyway``: not accepted, but right: the user typed it. ``unseen``: not visible long enough to be
read."""

COUNTED_OUTCOMES: Sequence[CountedOutcome] = get_args(CountedOutcome)
ACCEPTED_OUTCOMES = frozenset({"kept", "edited", "accepted"})
"""Outcomes that count as accepted."""
FAILED_OUTCOMES = frozenset({"edited", "reverted", "rejected", "ignored"})
"""Outcomes of completions that were seen and not kept as they were: people code what is wrong with them."""

_HASH = re.compile(HASH_PATTERN)


class NumberClasses(Row):
    """Upper bounds of classes of numbers."""

    lines: tuple[int, ...]
    prompt_characters: tuple[int, ...]


class KnownWords(Row):
    """Words of events that pass ``extract`` in addition to the names that CaretBench has itself."""

    languages: tuple[str, ...]
    triggers: tuple[str, ...]


class TelemetryRules(Row):
    """Rules of ``rules.toml``."""

    seen_from_ms: float = Field(ge=0)
    reverted_below: float = Field(ge=0, le=1)
    kept_from: float = Field(ge=0, le=1)
    future_tolerance_s: float = Field(ge=0)
    classes: NumberClasses
    words: KnownWords


@cache
def telemetry_rules() -> TelemetryRules:
    """Return the rules."""
    return TelemetryRules.model_validate(read_packaged_toml("caretbench.people.telemetry", "rules.toml"))


def contradiction(event: CompletionEvent) -> str | None:
    """Return the contradiction in an event; None if there is none."""
    part = event.accepted_characters
    if not event.shown and (event.visible_ms > 0 or event.was_accepted):
        return "visible or accepted, and never shown"
    if event.was_accepted and not event.characters:
        return "accepted, and empty"
    if event.outcome == "accepted_in_part":
        if part is None or not 0 < part < event.characters:
            return "accepted in part, without a number of characters between 0 and all"
    elif part is not None and part != (event.characters if event.was_accepted else 0):
        return f"{event.outcome}, with another number of accepted characters"
    if event.features is not None and event.features.typed_anyway and event.was_accepted:
        return "accepted, and typed anyway"
    return None


def has_plain_identity(event: CompletionEvent) -> bool:
    """Return whether an event without texts names its user or itself in another form than a salted hash."""
    return event.features is not None and not (_HASH.match(event.user) and _HASH.match(event.id))


def counted_outcome(event: CompletionEvent, rules: TelemetryRules | None = None) -> CountedOutcome:
    """Return the outcome of an event with features, as it counts.

    Raises:
        UsageError: the event has no features.
    """
    found = event.features
    if found is None:
        raise UsageError(f"{event.id}: an event without features has no outcome that counts; extract it first")
    shares = [share for share in (found.kept_30s, found.kept_5min) if share is not None]
    return outcome_by_survival(event, shares, found.typed_anyway, rules or telemetry_rules())


def outcome_by_survival(
    event: CompletionEvent, shares: Sequence[float], typed_anyway: bool, rules: TelemetryRules
) -> CountedOutcome:
    """Return the outcome of an event as it counts, by the known shares of its text that were there, the last one last.

    Args:
        event: The event.
        shares: Shares of the accepted text.
        typed_anyway: The user typed the text.
        rules: Thresholds.
    """
    if event.was_accepted:
        if not shares:
            return "accepted"
        if min(shares) < rules.reverted_below:
            return "reverted"
        whole = event.outcome == "accepted" and shares[-1] >= rules.kept_from
        return "kept" if whole else "edited"
    if not event.shown or event.visible_ms < rules.seen_from_ms:
        return "unseen"
    if typed_anyway:
        return "typed_anyway"
    return "rejected" if event.outcome == "rejected" else "ignored"
