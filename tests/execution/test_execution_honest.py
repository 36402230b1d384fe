"""Honest programs of many shapes, in every language: no harness refuses one, and unfinished ones do not pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest
from compiled_programs import need_toolchain
from honest_table import HonestProgram, honest_tables, run_honest

from caretbench.execution import walls
from caretbench.execution.types import ExecutionResult, Status

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

TABLES = honest_tables()
ROWS = [(language, program) for language, table in TABLES.items() for program in table.programs]
PASSING = [(language, program) for language, program in ROWS if program.status is Status.PASSED]
_results: dict[tuple[str, str], Mapping[str, ExecutionResult]] = {}


def _identity(value: object) -> str:
    return value.name if isinstance(value, HonestProgram) else str(value)


def _result(language: str, program: HonestProgram, profile: Literal["default", "paper"]) -> ExecutionResult:
    need_toolchain(language)
    if (language, profile) not in _results:
        wanted = [
            each for each in TABLES[language].programs if profile == "default" or each.status == "passed"
        ]
        _results[language, profile] = run_honest(TABLES[language], profile, wanted)
    return _results[language, profile][program.name]


@pytest.mark.parametrize(("language", "program"), ROWS, ids=_identity)
def test_an_honest_program_has_its_status(language: str, program: HonestProgram) -> None:
    result = _result(language, program, "default")
    said = (result.diagnostics, result.reason, result.stderr.text[-2000:])
    assert result.status is program.status, said
    assert program.shows in result.stderr.text


@pytest.mark.parametrize(("language", "program"), PASSING, ids=_identity)
def test_it_passes_by_the_plain_command_too(language: str, program: HonestProgram) -> None:
    result = _result(language, program, "paper")
    assert result.status is Status.PASSED, (result.diagnostics, result.stderr.text[-2000:])
