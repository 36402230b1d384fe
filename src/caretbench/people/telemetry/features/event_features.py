"""Features of an event from its texts: lengths, block, boundary, survival, failures; none of them is text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.structure_walk import structure_of
from caretbench.people.telemetry.event_rows import CompletionEvent, EventFeatures, EventTexts
from caretbench.people.telemetry.event_rules import CountedOutcome, outcome_by_survival, telemetry_rules
from caretbench.people.telemetry.features.due_block import due_block
from caretbench.people.telemetry.features.event_failures import failures_of
from caretbench.people.telemetry.features.event_words import replaced_words, secret_words
from caretbench.people.telemetry.features.later_text import kept_share, typed_by_user, was_right
from caretbench.people.telemetry.identities import SaltedHashes
from caretbench.redaction import redact
from caretbench.syntax.bounded_parsing import can_be_parsed
from caretbench.syntax.caret_boundary import caret_boundary

_PROBED_PROMPT: Final = 5_000
"""Number of characters around a caret from which a process of its own tries whether they can be parsed."""
_NOT_PARSED: Final = "none"
"""Name of no language: lines decide."""


def extracted_event(event: CompletionEvent, hashes: SaltedHashes | None = None) -> CompletionEvent:
    """Return an event with features in place of its texts, and with hashed identities if ``hashes`` are given.

    Words that could be text of the code become ``other``, and a time its hour in UTC.

    An event that has features already is returned with other hashes only if ``hashes`` are given.
    """
    changes: dict[str, object] = {}
    if event.texts is not None or hashes is not None:
        changes |= replaced_words(event)
    if event.texts is not None:
        changes |= {"texts": None, "features": features_of(event, event.texts)}
    if hashes is not None:
        names = {"id": hashes.of("event", event.id), "user": hashes.of("user", event.user)}
        changes |= names | {"time": _hour(event.time)}
    return event.model_copy(update=changes)


def _hour(time: datetime) -> datetime:
    """Return the hour of a time in UTC: its zone says where in the world the user is."""
    try:
        time = time.astimezone(UTC)
    except OverflowError:  # the first or last day that there is
        time = time.replace(tzinfo=UTC)
    return time.replace(minute=0, second=0, microsecond=0)


def features_of(event: CompletionEvent, texts: EventTexts) -> EventFeatures:
    """Return the features of the texts of an event."""
    after = _last_known(texts)
    due = after if after is not None and after.strip() else None
    text = texts.completion if due is None else due
    language = _parsed_language(event, texts, due)
    block = due_block(texts.prefix, "" if _nothing_was_due(event, after) else text, texts.suffix, language)
    place = CaretPlace(texts.prefix, texts.suffix, language)
    added = _added_faults(texts, due, language)
    typed = not event.was_accepted and after is not None and typed_by_user(texts.completion, after, texts.prefix)
    right = after is not None and was_right(texts.completion, after, texts.prefix)
    accepted = accepted_text(event, texts)
    return EventFeatures(
        block=block.kind,
        cut=block.cut,
        boundary=caret_boundary(texts.prefix, text, texts.suffix),
        partial_line=block.partial_line,
        has_suffix=bool(texts.suffix.strip()),
        lines=_lines(texts.completion),
        characters=len(texts.completion),
        prefix_lines=_lines(texts.prefix),
        prefix_characters=len(texts.prefix),
        suffix_characters=len(texts.suffix),
        added_faults=added,
        kept_30s=kept_share(accepted, texts.after_30s),
        kept_5min=kept_share(accepted, texts.after_5min),
        typed_anyway=typed,
        failures=() if right else failures_of(texts.completion, after, place, added),
        secrets=secret_texts(texts) + secret_words(event),
    )


def outcome_of_texts(event: CompletionEvent, texts: EventTexts) -> CountedOutcome:
    """Return the outcome of an event with texts as it counts; nothing is parsed for it."""
    accepted, after = accepted_text(event, texts), _last_known(texts)
    found = (kept_share(accepted, later) for later in (texts.after_30s, texts.after_5min))
    typed = not event.was_accepted and after is not None and typed_by_user(texts.completion, after, texts.prefix)
    return outcome_by_survival(event, [share for share in found if share is not None], typed, telemetry_rules())


def _last_known(texts: EventTexts) -> str | None:
    return texts.after_5min if texts.after_5min is not None else texts.after_30s


def accepted_text(event: CompletionEvent, texts: EventTexts) -> str | None:
    """Return the text that the user accepted; None if nothing was accepted."""
    if not event.was_accepted:
        return None
    return texts.completion[: event.accepted_characters] if event.outcome == "accepted_in_part" else texts.completion


def secret_texts(texts: EventTexts) -> int:
    """Return the number of texts with something in the shape of a key or a password."""
    found = (texts.prefix, texts.suffix, texts.completion, texts.after_30s, texts.after_5min)
    return sum(text is not None and redact(text) != text for text in found)


def _parsed_language(event: CompletionEvent, texts: EventTexts, due: str | None) -> str:
    """Return the language of an event; :data:`_NOT_PARSED` where its program takes too much memory or time to parse."""
    if len(texts.prefix) + len(texts.suffix) < _PROBED_PROMPT:
        return event.language
    programs = [texts.prefix + middle + texts.suffix for middle in (texts.completion, due or "")]
    return event.language if can_be_parsed(programs, event.language) else _NOT_PARSED


def _nothing_was_due(event: CompletionEvent, after: str | None) -> bool:
    return not event.was_accepted and after is not None and not after.strip()


def _added_faults(texts: EventTexts, due: str | None, language: str) -> int | None:
    """Return the number of faults with the completion minus those with the text that was due, or with nothing."""
    given = structure_of(texts.prefix, texts.completion, texts.suffix, language)
    other = structure_of(texts.prefix, due or "", texts.suffix, language)
    return None if given is None or other is None else given.errors - other.errors


def _lines(text: str) -> int:
    return len([line for line in text.splitlines() if line.strip()])
