"""Weights of a benchmark as events show them: shares of what users saw, as a file that builds and reports read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, get_args

from caretbench.files import write_atomically
from caretbench.people.telemetry.analysis.people_codes import NONE, CodeAnalysis
from caretbench.people.telemetry.analysis.usage_analysis import ScenarioRow, StoredRate
from caretbench.people.telemetry.event_rows import EventBlock, EventCut
from caretbench.suites.usage_weights import read_weights

WEIGHTS_NAME: Final = "weights.toml"
_CUTS: Final = tuple(name for name in get_args(EventCut) if name != "block")
_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "block": get_args(EventBlock),
    "scenario": ("full_block", "inner_block", "incomplete_suffix", "rag"),
    "cut": _CUTS,
    "language": (),
    "category": (),
}
"""Names of the shares of each table of a file of weights; empty: those of the events. Factors of lines are 1: kinds of
block and cuts say already where lines go on."""


class MeasuredShare(NamedTuple):
    """One share of a table of weights, with its interval."""

    table: str
    name: str
    rate: StoredRate


def measured_shares(scenarios: Sequence[ScenarioRow], codes: CodeAnalysis | None = None) -> list[MeasuredShare]:
    """Return the shares of events for all tables of a file of weights, in its order.

    Categories are those of the events; without any, those that people gave to a sample.
    """
    shares = {(row.dimension, row.value): row.share for row in scenarios}
    none = StoredRate(value=0.0, low=None, high=None, events=0, users=0)
    found = []
    for table, names in _TABLES.items():
        own = names or tuple(value for dimension, value in shares if dimension == table)
        found += [MeasuredShare(table, name, shares.get((table, name), none)) for name in own]
    if codes is not None and not any(one.table == "category" for one in found):
        found += [
            MeasuredShare(
                "category",
                one.code,
                StoredRate(value=one.share, low=one.low, high=one.high, events=codes.events, users=0),
            )
            for one in codes.shares
            if one.question == "category" and one.code != NONE
        ]
    return found


def write_weights(folder: Path, shares: Sequence[MeasuredShare], *, events: int, users: int) -> Path:
    """Write ``weights.toml`` into a folder, with the intervals as comments; return its path.

    Without an event at an inner block, the cuts are those of the weights ``even``.
    """
    lines = [
        "# Shares of the completions that users saw, in percent; behind each its interval over users.",
        f"name = {_string(folder.resolve().name or 'usage')}",
        f'source = "{events} events of {users} users"',
    ]
    for table in _TABLES:
        own = [one for one in shares if one.table == table]
        values = {one.name: 100 * (one.rate.value or 0.0) for one in own}
        if not any(values.values()):
            if table != "cut":
                continue
            values = read_weights("even").cut.model_dump()
            lines += ["", "# No event is at an inner block: the shares are those of the weights `even`."]
        lines += ["", f"[{table}]"]
        lines += [f"{_key(one.name)} = {values[one.name]:.4f}{_interval(one.rate)}" for one in own]
    path = folder / WEIGHTS_NAME
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _string(name)


def _string(text: str) -> str:
    """Return a string of TOML: unlike in JSON, no half of a surrogate pair is escaped, and DEL is."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _interval(rate: StoredRate) -> str:
    if rate.low is None or rate.high is None or not rate.value:
        return ""
    return f"  # {100 * rate.low:.2f} to {100 * rate.high:.2f}"
