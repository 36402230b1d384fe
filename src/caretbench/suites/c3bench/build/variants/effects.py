"""Effects of a middle outside of its program: files, network, processes, an early end, a reach for the checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from string import Template
from typing import Final

from pydantic import TypeAdapter

from caretbench.execution.execution_types import ExecutionResult
from caretbench.execution.scan.tamper import plain_spelling, tamper_flags
from caretbench.files import read_packaged_toml

_PACKAGE = "caretbench.suites.c3bench.build.variants"
_MARK: Final = "effect outside of the program: "
_STATUS: Final = 97


@cache
def _patterns() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    table = read_packaged_toml(_PACKAGE, "effects.toml")
    return TypeAdapter(dict[str, tuple[re.Pattern[str], ...]]).validate_python(table)


def effect_in_text(text: str, reference: str, language: str) -> str:
    """Return a suspicious part of a middle; empty if there is none. What the reference has too is none."""
    plain = plain_spelling(text, language)
    for pattern in _patterns().get(language, ()):
        match = pattern.search(plain)
        if match is not None and not pattern.search(reference):
            return " ".join(match[0].split())[:60]
    flags = tamper_flags(text, reference, language)
    return flags[0] if flags else ""


@cache
def _template() -> Template:
    return Template(resources.files(_PACKAGE).joinpath("effects_harness.txt").read_text("utf-8"))


def watched_program(source: str) -> str:
    """Return a Python program that runs another one and ends at its first effect outside of it."""
    return _template().substitute(source=repr(source), mark=_MARK, status=_STATUS)


def watched_effect(result: ExecutionResult) -> str:
    """Return the effect at which a watched program was ended; empty if it was not."""
    if result.exit_code != _STATUS or _MARK not in result.stderr.text:
        return ""
    return result.stderr.text.rpartition(_MARK)[2].split("\n")[0][:60] or "unknown"
