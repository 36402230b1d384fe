"""A static scan of an answer for ways to fake a pass. A flag is a suspicion: it stands in the row, and decides nothing.

Tests and answer share a process, so no criterion is proof against an answer that sets out to forge its own success.
What can be said is how many passes hold something that an honest answer has no use for; reports give the rate with
and without them.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

SCAN_VERSION = 2
"""Stands beside every row's flags: raise it when a pattern changes."""


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
        return value


class _Scan(NamedTuple):
    flag: str
    expression: re.Pattern[str]


def patterns() -> tuple[TamperPattern, ...]:
    """All patterns, as the data file has them."""
    text = resources.files("caretbench.execution").joinpath("tamper.toml").read_text("utf-8")
    return tuple(TamperPattern.model_validate(entry) for entry in tomllib.loads(text)["patterns"])


@cache
def _scans(language: str) -> tuple[_Scan, ...]:
    return tuple(
        _Scan(f"tamper:{entry.name}", re.compile(entry.pattern))
        for entry in patterns()
        if language in entry.languages
    )


def tamper_flags(text: str, reference: str, language: str) -> tuple[str, ...]:
    """The flags of an answer (``tamper:early_exit``), each once, in the data file's order.

    Args:
        text: What is inserted at the caret.
        reference: The reference answer: what it does too is honest here.
        language: By the house's name; one without patterns has no flags.
    """
    return tuple(
        dict.fromkeys(
            scan.flag
            for scan in _scans(language)
            if scan.expression.search(text) and not scan.expression.search(reference)
        )
    )
