"""A static scan of an answer for ways to fake a pass. A flag is a suspicion: it stands in the row, and decides nothing.

Tests and answer share a process, so no criterion is proof against an answer that sets out to forge its own success.
What can be said is how many passes hold something that an honest answer has no use for; reports give the rate with
and without them.

Answers are hostile, and so is the time that they take: every pattern is bounded, and is tried on bounded pieces.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

SCAN_VERSION = 5
"""Stands beside every row's flags: raise it when a pattern changes."""

_PIECE, _OVERLAP = 16_384, 1_024
_MOST_CHARACTERS = 65_536
"""Of a longer answer the head is scanned, and its length is a flag by itself: no reference answer has a tenth of it."""
_TOO_LONG = "tamper:hidden_code"

_UNBOUNDED = re.compile(r"(?<!\\)\[\^[^\]]*\](?:[*+]|\{\d+,\})(?![+])|\.[*]")
_ESCAPE = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|u\{0*([0-9a-fA-F]{1,5})\}|x([0-9a-fA-F]{2}))")
_CONTINUED = re.compile(r"\\\r?\n")
_JOINED = re.compile(r"""(?<=[\w./"'`])(?:(["'`])\s*+\1|["'`]\s*+\+\s*+["'`])(?=[\w./"'`])""")
_SPELLED = (("%:", "#"), ("??=", "#"))
# One that parts what belongs together: the next line goes on with an operator.
_LINE_COMMENT = re.compile(r"//[^\n]*+\n\s*+(?=[.=(\[])")
_PYTHON_COMMENT = re.compile(r"#[^\n]*+\n\s*+(?=[.=(\[])")


class TamperPattern(BaseModel):
    """One way to fake a pass: ``name`` is the flag, ``about`` says what it does, in words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z_]+$")
    about: str
    languages: tuple[str, ...] = Field(min_length=1)
    pattern: str

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        re.compile(value)
        if _UNBOUNDED.search(value):
            raise ValueError("what may be repeated must be bounded: {0,200}, not *")
        return value


class _Scan(NamedTuple):
    flag: str
    expression: re.Pattern[str]


def patterns() -> tuple[TamperPattern, ...]:
    """All patterns, as the data file has them."""
    text = resources.files("caretbench.execution.scan").joinpath("tamper.toml").read_text("utf-8")
    return tuple(TamperPattern.model_validate(entry) for entry in tomllib.loads(text)["patterns"])


@cache
def _scans(language: str) -> tuple[_Scan, ...]:
    return tuple(
        _Scan(f"tamper:{entry.name}", re.compile(entry.pattern))
        for entry in patterns()
        if language in entry.languages
    )


@lru_cache(maxsize=4096)
def tamper_flags(text: str, reference: str, language: str) -> tuple[str, ...]:
    """The flags of an answer (``tamper:early_exit``), each once, in the data file's order.

    The answer is looked at twice: as it stands, and in plain spelling, so that neither an escape, a comment between two
    words nor a name put together from two literals hides what it says.

    Args:
        text: What is inserted at the caret.
        reference: The reference answer: what it does too is honest here.
        language: By the house's name; one without patterns has no flags.
    """
    scans = _scans(language)
    if not scans:
        return ()
    pieces = tuple(_pieces(text, language))
    known = _views(reference, language)
    found = dict.fromkeys(
        scan.flag
        for scan in scans
        if any(map(scan.expression.search, pieces)) and not any(map(scan.expression.search, known))
    )
    if len(text) > _MOST_CHARACTERS >= len(reference):
        found[_TOO_LONG] = None
    return tuple(found)


def _pieces(text: str, language: str) -> Iterator[str]:
    for view in _views(text[:_MOST_CHARACTERS], language):
        for begin in range(0, max(1, len(view) - _OVERLAP), _PIECE):
            yield view[begin : begin + _PIECE + _OVERLAP]


@lru_cache(maxsize=1024)
def _views(text: str, language: str) -> tuple[str, ...]:
    """The text as it stands, and in plain spelling where that is another."""
    plain = plain_spelling(text, language)
    return (text,) if plain == text else (text, plain)


def plain_spelling(text: str, language: str) -> str:
    """Code without escapes, look-alike characters, comments inside of a statement, and seams in literals."""
    text = unicodedata.normalize("NFKC", _ESCAPE.sub(_character, text))
    text = _CONTINUED.sub("", text)
    for spelled, meant in _SPELLED if language == "cpp" else ():
        text = text.replace(spelled, meant)
    if language != "python":
        text = _without_block_comments(text)
    text = (_PYTHON_COMMENT if language == "python" else _LINE_COMMENT).sub("", text)
    return _JOINED.sub("", text)


def _character(match: re.Match[str]) -> str:
    return chr(int(next(digits for digits in match.groups() if digits is not None), 16))


def _without_block_comments(text: str) -> str:
    """A comment that is not closed stays: what it swallows is a flag of its own."""
    kept = []
    place = 0
    while (begin := text.find("/*", place)) >= 0 and (end := text.find("*/", begin + 2)) >= 0:
        kept += [text[place:begin], " "]
        place = end + 2
    return "".join((*kept, text[place:]))
