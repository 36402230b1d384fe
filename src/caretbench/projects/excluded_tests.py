"""Exclusion of single tests from a test command, and names of failed tests in a runner's output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from caretbench.projects.setup.script_runners import runner_name, without_bail, without_named_tests

_SHELL: Final = ("/bin/sh", "-c")
_PARAMETERS = re.compile(r"[\[(].*", re.DOTALL)
_FAILED = re.compile(
    r"^(?:not ok \d+ (?:- )?|✖ (?!failing tests)|\s*✘ \[fail\]: |\s*FAIL\s+)"
    r"(?!.*# (?:TODO|SKIP)\b)(\S.*?)(?: [#(].*)?$",
    re.MULTILINE | re.IGNORECASE,
)
"""Failed tests in the output of runners: TAP, node, ava, uvu."""
_MOCHA = re.compile(r"^ +\d+ failing\n(?P<list>.*)", re.MULTILINE | re.DOTALL)
_MOCHA_TEST = re.compile(r"^  \d+\) ((?:.*\n){0,20}?.*?):$", re.MULTILINE)
"""Failed tests at the end of mocha's output: the titles of suites and test on lines of their own, then a colon."""


def failing_names(stdout: str) -> tuple[str, ...]:
    """Return the names of failed tests in the output of a runner without a report."""
    mocha = _MOCHA.search(stdout)
    if mocha is not None:
        return tuple(dict.fromkeys(" ".join(one.split()) for one in _MOCHA_TEST.findall(mocha["list"])))
    return tuple(dict.fromkeys(_FAILED.findall(stdout)))


def is_shell_command(command: Sequence[str]) -> bool:
    """Return whether a command is a line for the shell."""
    return len(command) == 3 and tuple(command[:2]) == _SHELL


def with_all_failures(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command that does not stop at the first failure, as far as its runner has an option to stop."""
    if is_shell_command(command):
        return (*command[:2], without_bail(command[2]))
    return tuple(word for word in command if word not in {"-x", "--exitfirst", "-f", "--failfast"})


def without_tests(command: Sequence[str], names: Sequence[str]) -> tuple[str, ...] | None:
    """Return a command that excludes tests (``CLASS::NAME``); None if its runner has no such option.

    Of pytest and CTest only the last part of the name counts: a test of the same name in another class is excluded too.
    """
    if is_shell_command(command):
        line = without_named_tests(command[2], names)
        return None if line is None else (*command[:2], line)
    short = sorted({_PARAMETERS.sub("", name.rpartition("::")[2]) for name in names})
    if not all(short):
        return None
    if runner_name(shlex.join(command)):
        line = without_named_tests(shlex.join(command), names)
        return None if line is None else (*_SHELL, line)
    for runner, option in _LEAVING_OUT.items():
        if any(PurePosixPath(word).name == runner for word in command):
            return option(tuple(command), short)
    return None


def _pytest(command: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...] | None:
    if any(word.startswith("-k") for word in command):
        return None
    return (*command, "-k", f"not ({' or '.join(names)})")


def _ctest(command: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...] | None:
    if "-E" in command or "--exclude-regex" in command:
        return None
    return (*command, "-E", f"^({'|'.join(map(re.escape, names))})$")


_LEAVING_OUT: Mapping[str, Callable[[tuple[str, ...], Sequence[str]], tuple[str, ...] | None]] = {
    "pytest": _pytest,
    "ctest": _ctest,
}
