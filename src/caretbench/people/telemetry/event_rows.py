"""Rows of completion events: one shown completion each, with its texts or with features that contain no code."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from caretbench.metrics.error_kinds.kind_table import edit_kind_names
from caretbench.problem import Row
from caretbench.syntax.caret_boundary import CaretBoundary

EVENT_SCHEMA: Literal[1] = 1

EventOutcome = Literal["accepted", "accepted_in_part", "rejected", "ignored"]
"""Action of the user. ``rejected``: dismissed by a key. ``ignored``: the user typed on, or moved away."""

EventBlock = Literal[
    "method", "if", "for", "while", "try", "catch", "statement", "argument_list", "partial_line", "comment"
]  # fmt: skip
"""Kind of block of the text that was due, named as in files of weights."""

EventCut = Literal["block", "statement", "token", "operator", "empty"]
"""Place of the caret in its block: at its beginning, or the cut of an inner block."""

OTHER = "other"
"""Word in place of one that is not given away, or of one too many."""

HASH_PATTERN = r"^[0-9a-f]{64}$"

EventName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ModelWord = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@+/-]{0,79}$")]
"""Name of a model: no blanks or quotes, so that no text of code passes as one."""
Word = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_+#.-]{0,39}$")]
Share = Annotated[float, Field(ge=0, le=1)]


@cache
def known_failures() -> frozenset[str]:
    """Return the names of the error kinds that events can have."""
    return frozenset(edit_kind_names())


class EventTexts(Row):
    """Texts of an event: they are code of its user, and stay on the machine of the editor.

    ``after_30s`` and ``after_5min`` are the text between prefix and suffix at that time, whatever the user did; None if
    it is not known.
    """

    prefix: str
    suffix: str = ""
    completion: str
    after_30s: str | None = None
    after_5min: str | None = None


class EventFeatures(Row):
    """Features of an event: names of fixed lists and numbers, no text.

    ``block`` and ``cut`` are of the text that was due. ``kept_30s`` and ``kept_5min`` are the share of the accepted
    text's words that are there at that time. ``failures`` are error kinds; None if they were not examined.
    ``typed_anyway``: the user did not accept the text, and then typed it.
    """

    block: EventBlock
    cut: EventCut = "block"
    boundary: CaretBoundary
    partial_line: bool = False
    has_suffix: bool = True
    lines: int = Field(ge=0)
    characters: int = Field(ge=0)
    prefix_lines: int = Field(default=0, ge=0)
    prefix_characters: int = Field(ge=0)
    suffix_characters: int = Field(ge=0)
    added_faults: int | None = None
    """Number of syntax faults of the program with the completion, minus those with the text that was due."""
    kept_30s: Share | None = None
    kept_5min: Share | None = None
    typed_anyway: bool = False
    failures: tuple[Word, ...] | None = None
    secrets: int = Field(default=0, ge=0)
    """Number of texts and words of the event with something in the shape of a key or a password."""

    @model_validator(mode="after")
    def _has_known_failures(self) -> Self:
        unknown = {*(self.failures or ())} - known_failures()
        if unknown:
            raise ValueError(f"failures has {min(unknown)!r}, which is no error kind")
        return self


class CompletionEvent(Row):
    """One completion that an editor requested, with its outcome. It has ``texts`` or ``features``, not both.

    ``id`` and ``user`` are any names where the texts are, and salted hashes beside features. ``visible_ms`` is the time
    for which the text could be seen. ``accepted_characters``: number of characters that were accepted, of a text that
    was accepted in part. ``other_files``: number of other files in the prompt. ``category``: a label of the user's own,
    such as a category of DevBench.
    """

    schema_version: Literal[1] = EVENT_SCHEMA
    id: EventName
    user: EventName
    time: AwareDatetime
    language: Word
    outcome: EventOutcome
    shown: bool = True
    visible_ms: float = Field(ge=0, allow_inf_nan=False)
    latency_ms: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    accepted_characters: int | None = Field(default=None, ge=0)
    trigger: Word = "automatic"
    model: ModelWord | None = None
    category: Word | None = None
    other_files: int = Field(default=0, ge=0)
    texts: EventTexts | None = None
    features: EventFeatures | None = None

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        if (self.texts is None) == (self.features is None):
            raise ValueError("an event has either texts or features")
        return self

    @property
    def was_accepted(self) -> bool:
        """True if the user accepted the text or a part of it."""
        return self.outcome in ("accepted", "accepted_in_part")

    @property
    def characters(self) -> int:
        """Number of characters of the completion."""
        if self.texts is not None:
            return len(self.texts.completion)
        return self.features.characters if self.features is not None else 0
