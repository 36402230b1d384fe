"""Exclusion of single tests from a test command, and names of failed tests in a runner's output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from caretbench.execution.workspaces.project_tools import JAVA_EXCLUDED, runs_java_tests
from caretbench.execution.workspaces.runner_reports import TestCounts, TestOutcome
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.projects.runner_options import (
    logged_tests,
    with_plugin_exclusion,
    with_test_log,
    without_bail,
    without_named_tests,
)

_PARAMETERS = re.compile(r"[\[(].*", re.DOTALL)
_MIN_BEGINNING = 6
_MIN_WORD = 4
_FAILED = re.compile(
    r"^(?:not ok \d+ (?:- )?|✖ (?!failing tests)|\s*✘ \[fail\]: |\s*FAIL\s+)"
    r"(?!.*# (?:TODO|SKIP)\b)(\S.*?)(?: [#(].*)?$",
    re.MULTILINE | re.IGNORECASE,
)
"""Failed tests in the output of runners: TAP, node, ava, uvu, and vitest on standard error."""
_MOCHA = re.compile(r"^ +\d+ failing\n(?P<list>.*)", re.MULTILINE | re.DOTALL)
_MOCHA_TEST = re.compile(r"^  \d+\) ((?:.*\n){0,20}?.*?):$", re.MULTILINE)
"""Failed tests at the end of mocha's output: the titles of suites and test on lines of their own, then a colon."""
_FAILED_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S+) \((?:unittest\.loader\._FailedTest\.)?([\w.]+)\)", re.MULTILINE)


def with_excluded_tests(request: WorkspaceRequest, names: Sequence[str]) -> WorkspaceRequest | None:
    """Return the request without the tests of these names; None if its runner has no such option."""
    if not names:
        return request
    by_plugin = with_plugin_exclusion(request, names)
    if by_plugin is not None:
        return by_plugin
    if runs_java_tests(request.command):
        # A variable, so that the preparing command leaves out the same files.
        plain = sorted({_PARAMETERS.sub("", name) for name in names})
        environment = {**request.environment, JAVA_EXCLUDED: "\n".join(plain)}
        return request.model_copy(update={"environment": environment})
    command = without_tests(request.command, names)
    return None if command is None else request.model_copy(update={"command": command})


def unknown_tests(names: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names of tests of which no word occurs in these texts of a project, not even its beginning.

    A test's name may be composed when it runs, so a name counts as known if the texts contain a beginning of six or
    more characters that ends before an underscore.
    """
    missing = dict.fromkeys(names)
    for text in texts:
        for name in tuple(missing):
            if any(re.search(rf"(?<!\w){re.escape(one)}(?![A-Za-z0-9])", text) for one in _beginnings(name)):
                del missing[name]
        if not missing:
            break
    return tuple(missing)


def _beginnings(name: str) -> Iterator[str]:
    plain = _PARAMETERS.sub("", name).strip()
    last = re.split(r"::|[./](?=\S)", plain)[-1] or plain
    words = re.findall(r"\w+", last) or [last]
    for word in [one for one in words if len(one) >= _MIN_WORD] or words:
        yield word
        parts = word.split("_")
        begun = ("_".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
        yield from (one for one in begun if len(one) >= _MIN_BEGINNING)


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
        return tuple(dict.fromkeys(" ".join(one.split()) for one in _MOCHA_TEST.findall(mocha["list"])))
    printed = _FAILED.findall(result.stdout.text) or _FAILED.findall(result.stderr.text)
    for output in (result.stderr.text, result.stdout.text):
        found = _FAILED_UNITTEST.findall(output)
        printed += [owner if f".{owner}".endswith(f".{name}") else f"{owner}.{name}" for name, owner in found]
    return tuple(dict.fromkeys(printed))


def with_all_failures(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command that does not stop at the first failure, as far as its runner has an option for that."""
    if runs_java_tests(command):
        return (*command, "--all-failures")
    words = [_STOPS.sub("", word) for word in command if not _STOPS.fullmatch(word)]
    by_shell = len(words) == 3 and words[1] == "-c"
    return (*words[:2], without_bail(words[2])) if by_shell else tuple(words)


def without_tests(command: Sequence[str], names: Sequence[str]) -> tuple[str, ...] | None:
    """Return a command that excludes tests (``CLASS::NAME``); None if its runner has no such option.

    Under CTest only the last part of the name counts: a test of the same name in another class is excluded too.
    """
    plain = sorted({_PARAMETERS.sub("", name) for name in names})
    line = without_named_tests(command[2] if len(command) == 3 and command[1] == "-c" else shlex.join(command), names)
    if line is not None:
        return ("/bin/sh", "-c", line)
    short = sorted({name.rpartition("::")[2] for name in plain})
    if not all(short):
        return None
    last = _LAST_COMMAND.split(" ".join(command))[-1].split()
    runner = PurePosixPath(last[0]).name if last else ""
    options = _EXCLUDING[runner](last, short) if runner in _EXCLUDING else None
    if options is None:
        return None
    by_shell = len(command) == 3 and command[1] == "-c"
    return (*command[:2], f"{command[2]} {shlex.join(options)}") if by_shell else (*command, *options)


def _ctest(words: Sequence[str], names: Sequence[str]) -> Sequence[str] | None:
    if not {"-E", "--exclude-regex"}.isdisjoint(words):
        return None
    return ("-E", f"^({'|'.join(map(re.escape, names))})$")


_STOPS = re.compile(r"\s?--stop-on-failure\b")
"""Options of runners to stop at the first failure."""
_LAST_COMMAND = re.compile(r"&&|\|\||;|-c ")
_EXCLUDING: Mapping[str, Callable[[Sequence[str], Sequence[str]], Sequence[str] | None]] = {"ctest": _ctest}
"""From the words of a runner's command, and names, to options that exclude them. pytest and unittest have plugins."""
