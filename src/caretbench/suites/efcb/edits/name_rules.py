"""Rules on names that edits meet: symmetric calls, calls that only write text, counterparts of functions."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict


class _Symmetric(BaseModel):
    """Patterns for all languages, and names of each."""

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
    file = resources.files("caretbench.suites.efcb.edits").joinpath("edits.toml")
    return _Table.model_validate(tomllib.loads(file.read_text("utf-8")))


def _language(grammar: str) -> str:
    return "typescript" if grammar == "tsx" else grammar


def is_symmetric(name: str, grammar: str) -> bool:
    """Return whether a call of this name does not tell its arguments apart."""
    table = _table().symmetric
    named: Sequence[str] = (table.model_extra or {}).get(_language(grammar), ())
    # Words of a name in camel case are told apart, so that "eq" is no part of "request".
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return name in named or any(
        re.search(pattern, name, re.IGNORECASE) or re.search(pattern, words) for pattern in table.patterns
    )


def is_log(receiver: str, name: str) -> bool:
    """Return whether a call only writes a text for people."""
    table = _table().log
    return name in table.names or bool(re.search(table.receivers, receiver, re.IGNORECASE))


def is_message(receiver: str, name: str) -> bool:
    """Return whether a call writes a message, or reports that a test failed or was not run."""
    table = _table().log
    return name in table.messages or (
        name in table.reported and bool(re.fullmatch(table.reporters, receiver))
    )


def is_titled(name: str) -> bool:
    """Return whether a call's first argument is the title of a test."""
    return name in _table().log.titles


def is_frame(name: str) -> bool:
    """Return whether a function is one of a language's or a test framework's own."""
    return name in _table().frame.names


def is_same_meaning(one: str, other: str, grammar: str) -> bool:
    """Return whether two functions do the same, or nearly: ``toBe`` and ``toEqual``, ``Error`` and ``Errorf``."""
    shorter, longer = sorted((one, other), key=len)
    if re.fullmatch(
        re.escape(shorter) + r"(f|ln|w|Sync|Async|_async|_sync|All|s|Context|Unsafe|Internal|Impl)?", longer
    ):
        return True
    alike = is_symmetric(one, grammar) and is_symmetric(other, grammar)
    return (alike and _negative(one) == _negative(other)) or all(
        is_log("", name) or is_message("t", name) for name in (one, other)
    )


def _negative(name: str) -> bool:
    return bool(re.search(r"not|ne(q|$|_)|refute|differ", name, re.IGNORECASE))


@cache
def _counterparts(grammar: str) -> Mapping[str, tuple[tuple[str, str], ...]]:
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for one, other, *receiver in _table().counterparts.get(_language(grammar), ()):
        pattern = receiver[0] if receiver else ""
        found[one].append((other, pattern))
        found[other].append((one, pattern))
    return {name: tuple(others) for name, others in found.items()}


def counterparts(name: str, receiver: str, grammar: str) -> list[str]:
    """Return the functions that may take the place of one with the same arguments, called on the same receiver."""
    return [other for other, pattern in _counterparts(grammar).get(name, ()) if re.search(pattern, receiver)]
