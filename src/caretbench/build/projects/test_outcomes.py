"""Outcomes, order and reach of the tests of a project's command, as a build runs it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from caretbench.execution.execution_types import FrozenModel
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.project_tools import runs_java_tests
from caretbench.execution.workspaces.runner_reports import TestCounts, TestOutcome
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.files import replace_surrogates
from caretbench.projects.runner_options import (
    PARAMETERS,
    SELECTED_TESTS,
    STARTS_PYTEST,
    TOOLS_FOLDER,
    UNITTEST_PLUGIN,
    change_parts,
    runner_name,
    script_rules,
    with_plugin,
    with_plugin_settings,
    with_tools,
)

TEST_LOG: Final = ".caretbench-tests.jsonl"
"""Path of the log of outcomes in the project."""
_TRACER: Final = ("caretbench_trace", "caretbench_monitor", "caretbench_record")
_TRACED: Final = f"{TOOLS_FOLDER}/traced-files"
_STARTS_UNITTEST = re.compile(r"-m\s+unittest\b")
_LOG_BYTES: Final = 16 << 20
_SLOW_S: Final = 10
"""Seconds after which a running test is named on standard error."""
_SLOW = re.compile(r"^caretbench: a test runs for more than \d+ s: (.+)$", re.MULTILINE)
_CTEST_STARTS = re.compile(r"^ *Start +(\d+): (.+?) *$", re.MULTILINE)
_CTEST_ENDS = re.compile(r"^ *\d+/\d+ Test +#(\d+): ", re.MULTILINE)
_MIN_BEGINNING = 6
_MIN_WORD = 4
_FAILED = re.compile(
    r"^(?:not ok \d+ (?:- )?|\s*--- FAIL: |✖ (?!failing tests)|\s*✘ \[fail\]: |\s*FAIL\s+)"
    r"(?!.*# (?:TODO|SKIP)\b)(\S.*?)(?: [#(].*)?$",
    re.MULTILINE | re.IGNORECASE,
)
"""Failed tests in the output of runners: TAP, go test, node, ava, uvu, and vitest on standard error."""
_MOCHA = re.compile(r"^ +\d+ failing\n(?P<list>.*)", re.MULTILINE | re.DOTALL)
_MOCHA_TEST = re.compile(r"^  \d+\) ((?:.*\n){0,20}?.*?):$", re.MULTILINE)
"""Failed tests at the end of mocha's output: the titles of suites and test on lines of their own, then a colon."""
_FAILED_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S+) \((?:unittest\.loader\._FailedTest\.)?([\w.]+)\)", re.MULTILINE)
_FAILED_RUBY = re.compile(
    r"^ +\d+\) (?:Failure|Error):\n(?P<minitest>.+?#test.*?)(?: \[.*\])?:$"
    r"|^(?:Failure|Error): (?P<method>test\S*)\((?P<owner>[\w:]+)\)",
    re.MULTILINE,
)
_STOPS = re.compile(r"\s?--stop-on-failure\b")
"""Options of runners to stop at the first failure."""


def unknown_tests(names: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names of tests of which no word occurs in these texts of a project, not even its beginning.

    A test's name may be composed when it runs, so a name counts as known if the texts contain a beginning of six or
    more characters that ends before an underscore.
    """
    missing = dict.fromkeys(names)
    for text in texts:
        for name in tuple(missing):
            if any(re.search(rf"(?<!\w){re.escape(start)}(?![A-Za-z0-9])", text) for start in _beginnings(name)):
                del missing[name]
        if not missing:
            break
    return tuple(missing)


def _beginnings(name: str) -> Iterator[str]:
    plain = PARAMETERS.sub("", name).strip()
    last = re.split(r"::|[./](?=\S)", plain)[-1] or plain
    words = re.findall(r"\w+", last) or [last]
    long_words = [word for word in words if len(word) >= _MIN_WORD]
    for word in long_words or words:
        yield word
        parts = word.split("_")
        starts = ("_".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
        yield from (start for start in starts if len(start) >= _MIN_BEGINNING)


def all_failures_request(request: WorkspaceRequest) -> WorkspaceRequest:
    """Return the request that does not stop at the first failure, so that :func:`outcomes_by_test` has them all."""
    return with_test_log(request) or request.model_copy(update={"command": with_all_failures(request.command)})


def outcomes_by_test(result: WorkspaceResult) -> Mapping[str, TestOutcome]:
    """Return outcomes by name of test: those logged by a plugin, else those of reports, else failed tests printed."""
    logged = logged_tests(result) or result.tests
    if logged:
        return TestCounts.from_outcomes(logged).outcomes_by_name
    return {name: TestOutcome(name=name, outcome="failed") for name in failing_names(result)}


def failing_names(result: WorkspaceResult) -> tuple[str, ...]:
    """Return the names of failed tests, from reports, else from the runner's output."""
    counts = result.test_counts
    reported = (*counts.names("failed"), *counts.names("error"))
    if reported:
        return reported
    mocha = _MOCHA.search(result.stdout.text)
    if mocha is not None:
        return tuple(dict.fromkeys(" ".join(title.split()) for title in _MOCHA_TEST.findall(mocha["list"])))
    ruby = _FAILED_RUBY.finditer(result.stdout.text)
    printed = [match["minitest"] or f"{match['owner']}#{match['method']}" for match in ruby]
    printed += _FAILED.findall(result.stdout.text) or _FAILED.findall(result.stderr.text)
    for output in (result.stderr.text, result.stdout.text):
        unittest_names = _FAILED_UNITTEST.findall(output)
        printed += [owner if f".{owner}".endswith(f".{name}") else f"{owner}.{name}" for name, owner in unittest_names]
    return tuple(dict.fromkeys(printed))


def with_all_failures(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command that does not stop at the first failure, as far as its runner has an option for that."""
    if runs_java_tests(command):
        return (*command, "--all-failures")
    words = [_STOPS.sub("", word) for word in command if not _STOPS.fullmatch(word)]
    by_shell = len(words) == 3 and words[1] == "-c"
    return (*words[:2], without_bail(words[2])) if by_shell else tuple(words)


def with_test_log(request: WorkspaceRequest) -> WorkspaceRequest | None:
    """Return the request that logs the outcome of every test, and does not stop at a failure; None if that is unknown.

    :func:`logged_tests` reads the log of its result.
    """
    logged = with_plugin_settings(request, {"CARETBENCH_LOG": f"{WORK}/{TEST_LOG}"}, {TEST_LOG: b""})
    return logged and logged.model_copy(update={"results": (*logged.results, TEST_LOG), "result_bytes": _LOG_BYTES})


def logged_tests(result: WorkspaceResult) -> tuple[TestOutcome, ...]:
    """Return the outcomes of a run with :func:`with_test_log`; empty if it logged none."""
    lines = (result.file(TEST_LOG) or b"").splitlines()
    rows = []
    for line in lines:
        # A killed run leaves a torn line, and a message may have half a surrogate pair.
        with contextlib.suppress(ValueError):
            rows.append(_LoggedTest.model_validate(replace_surrogates(json.loads(line))))
    return tuple(
        TestOutcome(name=row.test, outcome=row.outcome, seconds=row.seconds, message=row.message, cpu_s=row.cpu_s)
        for row in rows
    )


class _LoggedTest(FrozenModel):
    test: str
    outcome: Literal["passed", "failed", "error"]
    message: str
    seconds: float = 0.0
    cpu_s: float = 0.0


def with_slow_tests_named(request: WorkspaceRequest) -> WorkspaceRequest:
    """Return the request that names tests on standard error that run for long, for :func:`slow_test`.

    In Java the file of a test class is named.
    """
    variables = {"CARETBENCH_SLOW": str(_SLOW_S)}
    if runs_java_tests(request.command):
        return request.model_copy(update={"environment": {**request.environment, **variables}})
    return with_plugin_settings(request, variables, {}) or request


def slow_test(result: WorkspaceResult) -> str:
    """Return the last test that ran for long, by its name on standard error; empty if there is none.

    CTest names every test when it starts and when it ends: the last one that did not end counts.
    """
    slow: list[str] = _SLOW.findall(result.stderr.text)
    if slow:
        return slow[-1]
    begun: list[tuple[str, str]] = _CTEST_STARTS.findall(result.stdout.text)
    ended = set(_CTEST_ENDS.findall(result.stdout.text))
    return next((name for number, name in reversed(begun) if number not in ended), "")


def has_selected_tests(request: WorkspaceRequest) -> bool:
    """Return whether a request runs only selected tests."""
    return SELECTED_TESTS in request.patch


def with_reach_recording(request: WorkspaceRequest, path: str) -> WorkspaceRequest:
    """Return a pytest request that records in the project's file ``path`` the marks that each test executes."""
    return with_plugin(request, {"CARETBENCH_REACH": f"{WORK}/{path}"})


def with_line_tracing(request: WorkspaceRequest, paths: Sequence[str], log: str) -> WorkspaceRequest:
    """Return the request that records in the project's file ``log`` the lines that Python executes of some files.

    A line of the log holds the position of a file in ``paths``, and a line of it.
    """
    lines = (f"{WORK}/{path}" for path in (log, *paths))
    patch = {_TRACED: "\0".join(lines).encode("utf-8", "surrogateescape"), log: b""}
    traced = with_tools(request, UNITTEST_PLUGIN, {"CARETBENCH_TRACE": f"{WORK}/{_TRACED}"}, patch)
    for module in _TRACER:
        traced = with_tools(traced, module, {}, {})
    return traced


def with_reversed_order(request: WorkspaceRequest) -> WorkspaceRequest | None:
    """Return the request with its tests in another order: reversed (pytest, unittest) or shuffled (CTest).

    None if the runner has no such option.
    """
    line = " ".join(request.command)
    return next((turn(request) for starts, turn in _TURNING.items() if starts(line)), None)


_REVERSED: Final = {"CARETBENCH_ORDER": "reversed"}


def _turn_ctest(request: WorkspaceRequest) -> WorkspaceRequest | None:
    words, option = request.command, "--schedule-random"
    by_shell = len(words) == 3 and words[1] == "-c"
    command = (*words[:2], f"{words[2]} {option}") if by_shell else (*words, option)
    return request.model_copy(update={"command": command})


_TURNING: Mapping[Callable[[str], object], Callable[[WorkspaceRequest], WorkspaceRequest | None]] = {
    STARTS_PYTEST.search: lambda request: with_plugin(request, _REVERSED),
    _STARTS_UNITTEST.search: lambda request: with_tools(request, UNITTEST_PLUGIN, _REVERSED, {}),
    re.compile(r"(?:^|&&\s*|/|-c )ctest\b[^&|;]*$").search: _turn_ctest,
}
"""Pattern of a runner's command, and the function that changes the order; the first match is used."""


def without_bail(line: str) -> str:
    """Return a shell command whose runners do not stop at the first failure, so that all failing tests are named."""
    return change_parts(line, _without_bail) or line


def _without_bail(part: str) -> str:
    name = runner_name(part)
    bail = script_rules().runners[name].bail if name else ""
    return part.replace(f" {bail}", "", 1) if bail else part
