"""Test runners of scripts in ``package.json``: recognition, options, reports, and selection of tests by name.

The rules are in ``package_scripts.toml``.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

_ASSIGNS = re.compile(r"\w+=")
_SHELL_JOINS = re.compile(r"[|;<>]")
SEARCH_PATH: Final = 'export PATH="$PWD/node_modules/.bin:$PATH"; '
"""Beginning of a script's command: programs of installed packages are found."""
AND: Final = re.compile(r"\s*&&\s*")
_INSTALLED = re.compile(r"node_modules/(?:\.bin/)?([\w-]+)")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_NO_WORD: Final = "[^A-Za-z0-9_]"
_FILE: Final = re.compile(r"^\S*\.[cm]?[jt]sx?::")
_MOST_PATTERN: Final = 60_000
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
        return None if len(options) > _MOST_PATTERN else _with_options(name, part, options)
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
    return None if len(text) > _MOST_PATTERN else _with_options(name, part, text)


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
