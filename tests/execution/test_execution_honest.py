"""Honest programs of many shapes, in every language: no harness refuses one, and unfinished ones do not pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest

from caretbench.execution.classification import WAITS
from caretbench.execution.execution_types import ExecutionResult, Status
from caretbench.execution.sandbox import bubblewrap as walls
from tests.support.compiled_programs import need_toolchain, run_programs
from tests.support.honest_table import HonestProgram, honest_tables, run_honest
from tests.support.language_rows import language_rows

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

TABLES = honest_tables()
_results: dict[tuple[str, str], Mapping[str, ExecutionResult]] = {}


def _result(language: str, program: HonestProgram, profile: Literal["default", "paper"]) -> ExecutionResult:
    need_toolchain(language)
    if (language, profile) not in _results:
        wanted = [each for each in TABLES[language].programs if profile == "default" or each.status == "passed"]
        _results[language, profile] = run_honest(TABLES[language], profile, wanted)
    return _results[language, profile][program.name]


@pytest.mark.parametrize("language", TABLES)
def test_honest_programs_have_their_status(language: str) -> None:
    """Costs seconds a language: each harness could refuse a shape of program that only its language has."""
    wrong = []
    for program in TABLES[language].programs:
        result = _result(language, program, "default")
        if result.status is not program.status or program.shows not in result.stderr.text:
            wrong.append((program.name, result.status, result.diagnostics, result.reason, result.stderr.text[-500:]))
    assert wrong == []


@pytest.mark.parametrize("language", language_rows(TABLES))
def test_they_pass_by_the_plain_command_too(language: str) -> None:
    passing = [program for program in TABLES[language].programs if program.status is Status.PASSED]
    results = {program.name: _result(language, program, "paper") for program in passing}
    wrong = {name: result for name, result in results.items() if result.status is not Status.PASSED}
    assert {name: (one.status, one.diagnostics, one.stderr.text[-500:]) for name, one in wrong.items()} == {}


def test_only_a_program_whose_top_level_waits_is_said_to_wait() -> None:
    """The exit status of a module that waits (13) alone says nothing, and under ``paper`` it is a failure."""
    table = TABLES["javascript"]
    waiting = {"resolve_forgotten", "top_level_await_that_never_settles"}
    chosen = [each for each in table.programs if each.name in waiting or "that_status" in each.name]
    results = {each.name: _result("javascript", each, "default") for each in chosen}
    assert {name for name, result in results.items() if result.waits} == waiting
    assert {result.reason for name, result in results.items() if name in waiting} == {WAITS}
    module = next(each for each in chosen if each.name.startswith("top_level_await"))
    assert run_honest(table, "paper", [module])[module.name].status is Status.RUNTIME_ERROR


_FAILS = {
    "python": "import traceback\ndef inner():\n    traceback.print_stack()\n    raise KeyError('x')\ninner()\n",
    "javascript": "process.on('exit', () => { throw new Error('x'); });\nconsole.trace('here');\n",
    "java": (
        "public class Main { public static void main(String[] a) "
        '{ Thread.dumpStack(); throw new IllegalStateException("x"); } }'
    ),
    "csharp": (
        "using System; class P { static void Main() "
        '{ Console.Error.WriteLine(Environment.StackTrace); throw new Exception("x"); } }'
    ),
}


@pytest.mark.parametrize("language", language_rows(_FAILS))
def test_a_stack_trace_shows_nothing_of_the_harness(language: str) -> None:
    ran = {}
    for profile in ("default", "paper"):
        [(_, result)] = run_programs(language, {"fails": _FAILS[language]}, profile).items()
        ran[profile] = result.stderr.text.replace("Program.java", "Main.java")
    assert ran["default"] == ran["paper"]
    assert ran["paper"].count("\n") > 1


@pytest.mark.smoke
def test_a_python_base_exception_and_a_text_that_does_not_parse_look_as_ever() -> None:
    for source in ("class Stop(BaseException): pass\nraise Stop('now')\n", "def f(:\n"):
        ran = [run_programs("python", {"p": source}, profile)["p"] for profile in ("default", "paper")]  # type: ignore[arg-type]
        assert ran[0].stderr.text == ran[1].stderr.text
