"""Rules on names for edits: symmetric calls, calls that only write text, counterparts of functions."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict


class _Symmetric(BaseModel):
    """Patterns for all languages, and names by language."""

    model_config = ConfigDict(extra="allow", frozen=True)
    patterns: tuple[str, ...]


class _Log(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    receivers: str
    names: frozenset[str]
    titles: frozenset[str]
    messages: frozenset[str]
    reporters: str
    reported: frozenset[str]


class _Frame(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    names: frozenset[str]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    frame: _Frame
    symmetric: _Symmetric
    log: _Log
    counterparts: Mapping[str, tuple[tuple[str, str] | tuple[str, str, str], ...]]


@cache
def _table() -> _Table:
    file = resources.files("caretbench.suites.efcb.build.edits").joinpath("edits.toml")
    return _Table.model_validate(tomllib.loads(file.read_text("utf-8")))


def _language(grammar: str) -> str:
    return "typescript" if grammar == "tsx" else grammar


def is_symmetric_call(name: str, grammar: str) -> bool:
    """Return whether the order of the arguments of a call with this name does not matter."""
    table = _table().symmetric
    named: Sequence[str] = (table.model_extra or {}).get(_language(grammar), ())
    # Camel case is split into words, so that "eq" does not match "request".
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return name in named or any(
        re.search(pattern, name, re.IGNORECASE) or re.search(pattern, words) for pattern in table.patterns
    )


def is_log_call(receiver: str, name: str) -> bool:
    """Return whether a call only writes a text for people."""
    table = _table().log
    return name in table.names or bool(re.search(table.receivers, receiver, re.IGNORECASE))


def is_message_call(receiver: str, name: str) -> bool:
    """Return whether a call writes a message, or reports that a test failed or was skipped."""
    table = _table().log
    return name in table.messages or (name in table.reported and bool(re.fullmatch(table.reporters, receiver)))


def is_test_title_call(name: str) -> bool:
    """Return whether a call's first argument is the title of a test."""
    return name in _table().log.titles


def is_framework_function(name: str) -> bool:
    """Return whether a function belongs to a language or a test framework."""
    return name in _table().frame.names


def have_same_meaning(one: str, other: str, grammar: str) -> bool:
    """Return whether two functions do nearly the same: ``toBe``, ``toEqual``; ``Error``, ``Errorf``."""
    shorter, longer = sorted((one, other), key=len)
    if re.fullmatch(
        re.escape(shorter) + r"(f|ln|w|Sync|Async|_async|_sync|All|s|Context|Unsafe|Internal|Impl)?", longer
    ):
        return True
    alike = is_symmetric_call(one, grammar) and is_symmetric_call(other, grammar)
    return (alike and _is_negative(one) == _is_negative(other)) or all(
        is_log_call("", name) or is_message_call("t", name) for name in (one, other)
    )


def _is_negative(name: str) -> bool:
    return bool(re.search(r"not|ne(q|$|_)|refute|differ", name, re.IGNORECASE))


@cache
def _counterparts(grammar: str) -> Mapping[str, tuple[tuple[str, str], ...]]:
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for one, other, *receiver in _table().counterparts.get(_language(grammar), ()):
        pattern = receiver[0] if receiver else ""
        found[one].append((other, pattern))
        found[other].append((one, pattern))
    return {name: tuple(others) for name, others in found.items()}


def counterpart_functions(name: str, receiver: str, grammar: str) -> list[str]:
    """Return functions that may replace one with the same arguments and receiver."""
    return [other for other, pattern in _counterparts(grammar).get(name, ()) if re.search(pattern, receiver)]
