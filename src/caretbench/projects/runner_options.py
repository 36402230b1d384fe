"""Options of test runners, also those of scripts in ``package.json``: selection, order, outcomes and reach of tests."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from importlib import resources
from typing import Final, Literal, NamedTuple

from caretbench.execution.execution_types import FrozenModel
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.project_tools import runs_java_tests
from caretbench.execution.workspaces.runner_reports import TestOutcome
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.files import read_packaged_toml
from caretbench.problem import Row

TOOLS_FOLDER: Final = ".caretbench-tools"
"""Folder of the plugin files, in the sandbox's copy of the project."""
TEST_LOG: Final = ".caretbench-tests.jsonl"
"""Path of the log of outcomes in the project."""
_TESTS: Final = f"{TOOLS_FOLDER}/tests.json"
_EXCLUDED: Final = f"{TOOLS_FOLDER}/excluded.json"
_PYTEST: Final = "caretbench_tests"
_UNITTEST: Final = "sitecustomize"
_TRACER: Final = ("caretbench_trace", "caretbench_monitor", "caretbench_record")
_TRACED: Final = f"{TOOLS_FOLDER}/traced-files"
_STARTS_PYTEST = re.compile(r"(?:^|[\s/;&])(?:pytest|py\.test)(?=$|[\s;&])")
_STARTS_UNITTEST = re.compile(r"-m\s+unittest\b")
_STARTS_PYTHON = re.compile(r"(?:^|[\s/;&])python[\d.]*(?=\s)")
_LOG_BYTES: Final = 16 << 20
_SLOW_S: Final = 10
"""Seconds after which a running test is named on standard error."""
_SLOW = re.compile(r"^caretbench: a test runs for more than \d+ s: (.+)$", re.MULTILINE)

_CTEST_STARTS = re.compile(r"^ *Start +(\d+): (.+?) *$", re.MULTILINE)
_CTEST_ENDS = re.compile(r"^ *\d+/\d+ Test +#(\d+): ", re.MULTILINE)


def runs_pytest(command: Sequence[str]) -> bool:
    """Return whether a command starts pytest, directly or by a shell."""
    return _STARTS_PYTEST.search(" ".join(command)) is not None


def without_shuffling(request: WorkspaceRequest) -> WorkspaceRequest:
    """Return the request with pytest's random order plugin disabled."""
    if not runs_pytest(request.command):
        return request
    options = _and_option(request, "-p no:randomly")
    return request.model_copy(update={"environment": {**request.environment, "PYTEST_ADDOPTS": options}})


def with_selected_tests(request: WorkspaceRequest, tests: Sequence[str]) -> WorkspaceRequest:
    """Return a pytest request that runs only some tests, by their ids, in pytest's order.

    A missing test is an error, so that an answer cannot remove tests.
    """
    patch = {_TESTS: json.dumps(list(tests)).encode()}
    return _with_plugin(request, {"CARETBENCH_TESTS": f"{WORK}/{_TESTS}"}, patch)


def with_test_log(request: WorkspaceRequest) -> WorkspaceRequest | None:
    """Return the request that logs the outcome of every test, and does not stop at a failure; None if that is unknown.

    :func:`logged_tests` reads the log of its result.
    """
    found = _with_settings(request, {"CARETBENCH_LOG": f"{WORK}/{TEST_LOG}"}, {TEST_LOG: b""})
    return found and found.model_copy(update={"results": (*found.results, TEST_LOG), "result_bytes": _LOG_BYTES})


def logged_tests(result: WorkspaceResult) -> tuple[TestOutcome, ...]:
    """Return the outcomes of a run with :func:`with_test_log`; empty if it logged none."""
    lines = (result.file(TEST_LOG) or b"").splitlines()
    found = [_LoggedTest.model_validate_json(line) for line in lines]
    return tuple(
        TestOutcome(name=one.test, outcome=one.outcome, seconds=one.seconds, message=one.message, cpu_s=one.cpu_s)
        for one in found
    )


class _LoggedTest(FrozenModel):
    test: str
    outcome: Literal["passed", "failed", "error"]
    message: str
    seconds: float = 0.0
    cpu_s: float = 0.0


def with_plugin_exclusion(request: WorkspaceRequest, names: Sequence[str]) -> WorkspaceRequest | None:
    """Return the request without these tests, by pytest's ids or unittest's names; None if the runner is another."""
    all_names = {*names, *json.loads(request.patch.get(_EXCLUDED) or b"[]")}
    patch = {_EXCLUDED: json.dumps(sorted(all_names)).encode()}
    return _with_settings(request, {"CARETBENCH_EXCLUDED": f"{WORK}/{_EXCLUDED}"}, patch)


def with_slow_tests_named(request: WorkspaceRequest) -> WorkspaceRequest:
    """Return the request that names tests on standard error that run for long, for :func:`slow_test`.

    In Java the file of a test class is named.
    """
    variables = {"CARETBENCH_SLOW": str(_SLOW_S)}
    if runs_java_tests(request.command):
        return request.model_copy(update={"environment": {**request.environment, **variables}})
    return _with_settings(request, variables, {}) or request


def slow_test(result: WorkspaceResult) -> str:
    """Return the last test that ran for long, by its name on standard error; empty if there is none.

    CTest names every test when it starts and when it ends: the last one that did not end counts.
    """
    found: list[str] = _SLOW.findall(result.stderr.text)
    if found:
        return found[-1]
    begun: list[tuple[str, str]] = _CTEST_STARTS.findall(result.stdout.text)
    ended = set(_CTEST_ENDS.findall(result.stdout.text))
    return next((name for number, name in reversed(begun) if number not in ended), "")


def has_selected_tests(request: WorkspaceRequest) -> bool:
    """Return whether a request runs only selected tests."""
    return _TESTS in request.patch


def with_reach_recording(request: WorkspaceRequest, path: str) -> WorkspaceRequest:
    """Return a pytest request that records in the project's file ``path`` the marks that each test executes."""
    return _with_plugin(request, {"CARETBENCH_REACH": f"{WORK}/{path}"})


def with_line_tracing(request: WorkspaceRequest, paths: Sequence[str], log: str) -> WorkspaceRequest:
    """Return the request that records in the project's file ``log`` the lines that Python executes of some files.

    A line of the log holds the position of a file in ``paths``, and a line of it.
    """
    lines = (f"{WORK}/{path}" for path in (log, *paths))
    patch = {_TRACED: "\0".join(lines).encode("utf-8", "surrogateescape"), log: b""}
    traced = _with_tools(request, _UNITTEST, {"CARETBENCH_TRACE": f"{WORK}/{_TRACED}"}, patch)
    return reduce(lambda one, module: _with_tools(one, module, {}, {}), _TRACER, traced)


def with_reversed_order(request: WorkspaceRequest) -> WorkspaceRequest | None:
    """Return the request with its tests in another order: reversed (pytest, unittest) or shuffled (CTest).

    None if the runner has no such option.
    """
    line = " ".join(request.command)
    return next((turn(request) for starts, turn in _TURNING.items() if starts(line)), None)


def _with_settings(
    request: WorkspaceRequest, variables: Mapping[str, str], patch: Mapping[str, bytes]
) -> WorkspaceRequest | None:
    """Return the request with settings of the plugin for its runner, pytest or unittest; None for another runner."""
    if runs_pytest(request.command):
        return _with_plugin(request, variables, patch)
    if _STARTS_PYTHON.search(" ".join(request.command)):
        return _with_tools(request, _UNITTEST, variables, patch)
    return None


def _with_plugin(
    request: WorkspaceRequest, variables: Mapping[str, str], patch: Mapping[str, bytes] | None = None
) -> WorkspaceRequest:
    variables = {**variables, "PYTEST_ADDOPTS": _and_option(request, f"-p {_PYTEST}")}
    return _with_tools(request, _PYTEST, variables, patch or {})


def _and_option(request: WorkspaceRequest, option: str) -> str:
    options = request.environment.get("PYTEST_ADDOPTS", "")
    return options if f" {options} ".find(f" {option} ") >= 0 else f"{options} {option}".strip()


def _with_tools(
    request: WorkspaceRequest, module: str, variables: Mapping[str, str], patch: Mapping[str, bytes]
) -> WorkspaceRequest:
    return request.model_copy(
        update={
            "environment": {**request.environment, **variables},
            "patch": {**request.patch, f"{TOOLS_FOLDER}/{module}.py": _text(module), **patch},
            "python_path": tuple(dict.fromkeys((TOOLS_FOLDER, *request.python_path))),
        }
    )


@cache
def _text(module: str) -> bytes:
    return resources.files("caretbench.projects").joinpath(f"inside/{module}.py").read_bytes()


_REVERSED: Final = {"CARETBENCH_ORDER": "reversed"}


def _turn_ctest(request: WorkspaceRequest) -> WorkspaceRequest | None:
    words, option = request.command, "--schedule-random"
    by_shell = len(words) == 3 and words[1] == "-c"
    command = (*words[:2], f"{words[2]} {option}") if by_shell else (*words, option)
    return request.model_copy(update={"command": command})


_TURNING: Mapping[Callable[[str], object], Callable[[WorkspaceRequest], WorkspaceRequest | None]] = {
    _STARTS_PYTEST.search: lambda request: _with_plugin(request, _REVERSED),
    _STARTS_UNITTEST.search: lambda request: _with_tools(request, _UNITTEST, _REVERSED, {}),
    re.compile(r"(?:^|&&\s*|/|-c )ctest\b[^&|;]*$").search: _turn_ctest,
}
"""Pattern of a runner's command, and the function that changes the order; the first match is used."""


_ASSIGNS = re.compile(r"\w+=")
_SHELL_JOINS = re.compile(r"[|;<>]")
SEARCH_PATH: Final = 'export PATH="$PWD/node_modules/.bin:$PATH"; '
"""Beginning of a script's command: programs of installed packages are found."""
AND: Final = re.compile(r"\s*&&\s*")
_INSTALLED = re.compile(r"node_modules/(?:\.bin/)?([\w-]+)")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_NO_WORD: Final = "[^A-Za-z0-9_]"
_FILE: Final = re.compile(r"^\S*\.[cm]?[jt]sx?::")
_MAX_PATTERN: Final = 60_000
"""Maximum length of a pattern of names; the kernel accepts arguments of twice that."""


class ScriptRunner(Row):
    """Test runner of scripts; ``package_scripts.toml`` explains the fields."""

    options: str = ""
    options_before_version: Mapping[int, str] = {}
    bail: str = ""
    dropped: tuple[str, ...] = ()
    report: str = ""
    report_file: str = ".caretbench-junit.xml"
    cache: str = ""
    without: str = ""
    without_each: str = ""
    without_suites: bool = False


class ScriptRules(Row):
    """The rules of ``package_scripts.toml``."""

    check_commands: tuple[str, ...]
    wrapper_commands: frozenset[str]
    coverage_commands: frozenset[str]
    builtin_commands: frozenset[str]
    other_script_names: str
    unneeded_packages: tuple[str, ...]
    unpublished_packages: tuple[str, ...]
    tap_printers: str
    aliases: Mapping[str, str]
    runners: Mapping[str, ScriptRunner]


@cache
def script_rules() -> ScriptRules:
    """Return the rules for scripts."""
    return ScriptRules.model_validate(read_packaged_toml("caretbench.projects", "package_scripts.toml"))


def program_words(part: str) -> list[str]:
    """Return the words of a command from its actual program on, without programs that start it and assignments."""
    try:
        words = shlex.split(part)
    except ValueError:
        words = part.split()
    rules = script_rules()
    at = 0
    while at < len(words) - 1 and (
        words[at] in rules.wrapper_commands
        or _ASSIGNS.match(words[at])
        or (at and words[at].startswith("-") and words[0] in rules.wrapper_commands)
    ):
        at += 1
    if words and words[0] in rules.coverage_commands:  # its options may have values
        at = next((n for n in range(at, len(words)) if _known_name(words[n:])), at)
    return words[at:]


def runner_name(part: str) -> str | None:
    """Return the name of the runner that a command starts; None if it starts no known one."""
    return _known_name(program_words(part))


def _known_name(words: Sequence[str]) -> str | None:
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    if name in {"node", "tsx", "ts-node"}:
        if name != "ts-node" and "--test" in words:
            return "node"
        name = next((match[1] for match in map(_INSTALLED.search, words[1:]) if match), "")
    name = script_rules().aliases.get(name, name)
    return name if name in script_rules().runners else None


class RunnerCommand(NamedTuple):
    """A command with the options of its runner, the report that it writes, and the folder that keeps its cache."""

    line: str
    report: str | None
    cache: str | None = None


def runner_command(part: str, required_versions: Mapping[str, str], *, report: bool = True) -> RunnerCommand:
    """Return a command with the options of its runner, without options that would conflict with them.

    ``required_versions`` are versions of packages, by name. Without ``report`` the runner writes no report.
    """
    name = runner_name(part)
    part = re.sub(script_rules().tap_printers, "", part) if name else part
    if name is None or _SHELL_JOINS.search(part):
        return RunnerCommand(part, None)
    runner = script_rules().runners[name]
    version = _version(required_versions.get(name, ""))
    before = sorted(runner.options_before_version.items())
    options = next((text for below, text in before if version < below), runner.options)
    for pattern in runner.dropped:
        part = re.sub(rf"(?<=\s){pattern}(?=\s|$)\s*", "", part).rstrip()
    report = report and bool(runner.report)
    text = " ".join(filter(None, (options, runner.bail, runner.cache, runner.report if report else "")))
    cache = runner.cache.partition("=")[2] or None
    return RunnerCommand(_with_options(name, part, text), runner.report_file if report else None, cache)


def _with_options(name: str, part: str, options: str) -> str:
    if not options:
        return part
    if name == "node":  # arguments after a file belong to the file
        return re.sub(r"(?<=\s)--test(?=\s|$)", lambda _: f"--test {options}", part, count=1)
    before, separator, after = part.partition(" -- ")
    return f"{before} {options}{separator}{after}"


def _version(required: str) -> int:
    """Return the first number of a required version; ``sys.maxsize`` if unknown."""
    number = re.search(r"\d+", required)
    return int(number[0]) if number else sys.maxsize


def without_bail(line: str) -> str:
    """Return a shell command whose runners do not stop at the first failure, so that all failing tests are named."""
    return _each_part(line, _without_bail) or line


def _without_bail(part: str) -> str:
    name = runner_name(part)
    bail = script_rules().runners[name].bail if name else ""
    return part.replace(f" {bail}", "", 1) if bail else part


def without_named_tests(line: str, names: Sequence[str]) -> str | None:
    """Return a shell command that excludes tests, named as in reports; None if a runner has no such option.

    Names are compared by their words, so tests whose names differ only in other characters are excluded too.
    """
    found = _each_part(line, lambda part: _without_tests(part, names) if runner_name(part) else part)
    return None if found == line else found


def _each_part(line: str, change: Callable[[str], str | None]) -> str | None:
    """Return a shell command with changed parts; None if one of them cannot be changed."""
    prefix = SEARCH_PATH if line.startswith(SEARCH_PATH) else ""
    found = [change(part) for part in AND.split(line.removeprefix(prefix))]
    return None if None in found else prefix + " && ".join(filter(None, found))


def _without_tests(part: str, names: Sequence[str]) -> str | None:
    name = runner_name(part)
    runner = script_rules().runners[name] if name else None
    if runner is None or name is None or _SHELL_JOINS.search(part):
        return None
    if runner.without_each:
        options = " ".join(runner.without_each.replace("{name}", _wildcards(one)) for one in names)
        return None if len(options) > _MAX_PATTERN else _with_options(name, part, options)
    option = re.match(r"-+[\w-]+", runner.without)
    if option is None or re.search(rf"\s{option[0]}(?=[\s=])", part):
        return None
    own = [_FILE.sub("", one) for one in names]
    if runner.without_suites:
        own = _with_suites(own)
    patterns = [_name_pattern(one) for one in own]
    if not all(patterns):
        return None
    text = runner.without.replace("{pattern}", "|".join(dict.fromkeys(patterns)))
    return None if len(text) > _MAX_PATTERN else _with_options(name, part, text)


def _with_suites(names: Iterable[str]) -> list[str]:
    """Return the names of tests and of the suites around them: a suite that is selected runs all its tests."""
    found: list[str] = []
    for name in names:
        suites, _, own = name.rpartition("::")
        found += [own, *(one for one in suites.split(" > ") if one and one != "test")]
    return found


def _name_pattern(name: str) -> str:
    """Return a regular expression, without quotes, for a name: its words, with any other characters between them."""
    words = _WORD.findall(name)
    return f"{_NO_WORD}*{f'{_NO_WORD}+'.join(words)}{_NO_WORD}*" if words else ""


def _wildcards(name: str) -> str:
    """Return a name as a wildcard pattern without characters of the shell; the file before it may be missing."""
    own = name.partition(" › ")[2] or name  # noqa: RUF001  the separator of ava
    return "*" + re.sub(r"[^A-Za-z0-9_ ]+", "*", own)
