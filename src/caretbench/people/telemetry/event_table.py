"""Table of events as compact columns, so that millions fit into memory: users, outcomes and properties as numbers."""

from __future__ import annotations

import bisect
import math
from array import array
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.error_kinds.kind_table import edit_kind_names
from caretbench.people.telemetry.events import (
    COUNTED_OUTCOMES,
    OTHER,
    CompletionEvent,
    EventFeatures,
    counted_outcome,
    telemetry_rules,
)

DIMENSIONS: Final = (
    "language", "scenario", "block", "cut", "boundary", "line", "lines", "prompt_characters", "trigger", "model",
    "category",
)  # fmt: skip
"""Properties by which events are divided."""

# A column holds a byte for each event; and a table of more rows than 60 is not read.
_MAX_VALUES: Final = 60
"""Number of values of a property, from which new ones count as :data:`OTHER`."""

Codes = NDArray[np.int64]


def scenario_of(event: CompletionEvent, features: EventFeatures) -> str:
    """Return the scenario of an event, named as in files of weights."""
    # Context of other files outweighs the place of the caret: such prompts are DevBench's `rag` whatever the block.
    if event.other_files:
        return "rag"
    if not features.has_suffix:
        return "incomplete_suffix"
    return "full_block" if features.cut == "block" else "inner_block"


def number_class(value: int, bounds: Sequence[int]) -> str:
    """Return the class of a number: ``1``, ``3-5``, ``11+`` for the bounds 1, 2, 5, 10."""
    index = bisect.bisect_left(bounds, value)
    if index == len(bounds):
        return f"{bounds[-1] + 1}+"
    low = bounds[index - 1] + 1 if index else min(bounds[0], 1)
    return str(bounds[index]) if low == bounds[index] else f"{low}-{bounds[index]}"


class EventTable:
    """Columns of the events that were added, which must have features."""

    def __init__(self) -> None:
        self._rules = telemetry_rules()
        self._users: dict[str, int] = {}
        self._user_codes = array("I")
        self._outcomes = array("B")
        # Arrays in place of lists: a million events take 369 MB in all; a list has eight bytes and an object for each
        # number.
        self._columns: dict[str, array[int]] = {name: array("B") for name in DIMENSIONS}
        self._names: dict[str, dict[str, int]] = {name: {} for name in DIMENSIONS}
        self._latency = array("f")
        self._typing = {name: array("f") for name in ("simulated_keys", "typed", "characters", "accepted")}
        self.sessions: set[int] = set()
        """Hashes of the names of sessions."""
        self._failures = array("I")
        self._examined = array("B")
        # One bit for each error kind, so that an event's set of failures is one number of four bytes.
        self._bits = {name: 1 << index for index, name in enumerate(edit_kind_names())}
        self._secrets = array("B")

    def __len__(self) -> int:
        return len(self._outcomes)

    def add(self, event: CompletionEvent) -> None:
        """Add an event with features."""
        outcome = counted_outcome(event, self._rules)
        features = event.features
        assert features is not None  # noqa: S101  checked by counted_outcome
        self._user_codes.append(self._users.setdefault(event.user, len(self._users)))
        self._outcomes.append(COUNTED_OUTCOMES.index(outcome))
        for name, value in self._values(event, features):
            names = self._names[name]
            if value not in names and len(names) >= _MAX_VALUES:
                value = OTHER
            self._columns[name].append(names.setdefault(value, len(names)))
        self._latency.append(math.nan if event.latency_ms is None else event.latency_ms)
        taken = event.characters if event.accepted_characters is None else event.accepted_characters
        typing = (features.simulated_keys, event.typed_characters, event.characters, taken if event.was_accepted else 0)
        for column, number in zip(self._typing.values(), typing, strict=True):
            column.append(math.nan if number is None else number)
        self.sessions |= {hash(event.session)} - {hash(None)}
        self._examined.append(features.failures is not None)
        self._failures.append(sum(map(self._bits.__getitem__, features.failures or ())))
        self._secrets.append(features.secrets > 0)

    def _values(self, event: CompletionEvent, features: EventFeatures) -> Sequence[tuple[str, str]]:
        classes = self._rules.classes
        return (
            ("language", event.language),
            ("scenario", scenario_of(event, features)),
            ("block", features.block),
            ("cut", features.cut),
            ("boundary", features.boundary),
            ("line", "partial" if features.partial_line else "whole"),
            ("lines", number_class(features.lines, classes.lines)),
            ("prompt_characters", number_class(features.prefix_characters, classes.prompt_characters)),
            ("trigger", event.trigger),
            ("model", event.model or ""),
            ("category", event.category or ""),
        )

    @property
    def users(self) -> Codes:
        """Number of the user of each event."""
        return np.asarray(self._user_codes, dtype=np.int64)

    @property
    def user_count(self) -> int:
        """Number of users."""
        return len(self._users)

    def has_outcome(self, *names: str) -> NDArray[np.bool_]:
        """Return whether each event has one of some outcomes."""
        return np.isin(np.asarray(self._outcomes), [COUNTED_OUTCOMES.index(name) for name in names])

    def codes(self, dimension: str) -> Codes:
        """Return the number of the value of each event in :meth:`values`."""
        return np.asarray(self._columns[dimension], dtype=np.int64)

    def values(self, dimension: str) -> list[str]:
        """Return the values of a property, in the order of their numbers; an empty text: not stated."""
        return list(self._names[dimension])

    @property
    def has_secrets(self) -> NDArray[np.bool_]:
        """True for events with something in the shape of a secret."""
        return np.asarray(self._secrets, dtype=bool)

    @property
    def latency(self) -> NDArray[np.float64]:
        """Latency in milliseconds; NaN where it is not known."""
        return np.asarray(self._latency, dtype=np.float64)

    @property
    def typing(self) -> dict[str, NDArray[np.float64]]:
        """Keys that the simulation saves, and characters typed, of the completion and accepted; NaN: not known."""
        return {name: np.asarray(column, dtype=np.float64) for name, column in self._typing.items()}

    @property
    def examined(self) -> NDArray[np.bool_]:
        """True for events whose failures were examined."""
        return np.asarray(self._examined, dtype=bool)

    def has_failure(self, kind: str) -> NDArray[np.bool_]:
        """Return whether each event has an error kind."""
        return (np.asarray(self._failures, dtype=np.int64) & self._bits[kind]) > 0
