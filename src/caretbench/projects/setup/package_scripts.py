"""Test script of ``package.json``, without parts that check style or types, or that publish.

Parts that start other scripts are resolved. The rules are in ``package_scripts.toml``.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.files import read_packaged_toml
from caretbench.problem import Row

PACKAGE_JSON: Final = "package.json"
_SYSTEM: Final = "/usr/local/bin:/usr/bin:/bin"
"""Folders of programs that exist in a sandbox."""
_ASSIGNS = re.compile(r"\w+=")
_AND = re.compile(r"\s*&&\s*")
_RUNS = re.compile(r"^(?:npm|yarn|pnpm|bun)\s+(?:run(?:-script)?\s+)?((?:-\S+\s+)*)([\w:@./-]+)$")
_FIELDS: Final = ("dependencies", "devDependencies")
_NOT_WRITTEN = re.compile(r"^echo\b|no test specified")


class ScriptRunner(Row):
    """Options added to a test runner's command, and ``junit``, the options to write a report."""

    options: str = ""
    options_before_version: Mapping[int, str] = {}
    """Options for major versions below a number."""
    junit: str | None = None


class ScriptRules(Row):
    """The rules of ``package_scripts.toml``."""

    check_commands: tuple[str, ...]
    wrapper_commands: frozenset[str]
    builtin_commands: frozenset[str]
    other_script_names: str
    unneeded_packages: tuple[str, ...]
    runners: Mapping[str, ScriptRunner]


@cache
def script_rules() -> ScriptRules:
    """Return the rules for scripts."""
    return ScriptRules.model_validate(read_packaged_toml("caretbench.projects.setup", "package_scripts.toml"))


class PackageScript(NamedTuple):
    """A shell command that tests a project, the programs that it starts, and the reports that it writes."""

    line: str
    programs: tuple[str, ...]
    junit: tuple[str, ...]


def read_package_json(snapshot: Snapshot) -> Mapping[str, object]:
    """Return the contents of ``package.json``; empty if it is missing or malformed."""
    if PACKAGE_JSON not in snapshot.entries:
        return {}
    try:
        found = json.loads(snapshot.read(PACKAGE_JSON).decode("utf-8-sig"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def test_script(snapshot: Snapshot) -> PackageScript | None:
    """Return the test script of a project, including ``pretest``; None if there is none."""
    known = dict(_listed(read_package_json(snapshot), "scripts"))
    if "test" not in known or _NOT_WRITTEN.search(known["test"]):
        return None
    before = _parts("pretest", known, ()) if "pretest" in known else []
    parts = _first_tests([part for part in [*before, *_parts("test", known, ())] if part])
    if not parts:
        return None
    package = read_package_json(snapshot)
    programs = tuple(dict.fromkeys(name for part in parts for name in _programs(part, known, ())))
    commands = [_with_runner_options(part, package) for part in parts]
    junit = tuple(dict.fromkeys(report for _, report in commands if report))
    if len(junit) != sum(runs is not None for runs in map(_runner, parts)):
        junit = ()  # one of several runners writes no report: the last words of all are counted
        commands = [_with_runner_options(part, package, report=False) for part in parts]
    line = " && ".join(text for text, _ in commands)
    return PackageScript(f'export PATH="$PWD/node_modules/.bin:$PATH"; {line}', programs, junit)


def missing_programs(snapshot: Snapshot, script: PackageScript) -> tuple[str, ...]:
    """Return the programs of a script that are missing in ``node_modules`` and on this machine."""
    return tuple(
        name
        for name in script.programs
        if f"node_modules/.bin/{name}" not in snapshot.entries and shutil.which(name, path=_SYSTEM) is None
    )


def _first_tests(parts: list[str]) -> list[str]:
    """Return the parts up to the first tests; later ones build and test the published package."""
    tests = [_runner(part) is not None for part in parts]
    if True not in tests:
        return parts
    first = tests.index(True)
    behind = next((n for n in range(first, len(parts)) if not tests[n]), len(parts))
    return parts[:behind]


def _parts(name: str, scripts: Mapping[str, str], above: Collection[str]) -> list[str]:
    """Return the parts of a script that test or build, without those that only check style or types."""
    found: list[str] = []
    for part in _AND.split(scripts[name].strip()):
        inner = _called(part, scripts, above)
        if inner is None:
            if not _checks(part):
                found.append(_unwrapped(part))
        elif re.search(script_rules().other_script_names, inner) and not _calls(inner, scripts):
            continue
        elif _AND.search(scripts[inner].strip()) or _checks(scripts[inner]) or _runner(scripts[inner]):
            found += _parts(inner, scripts, {*above, name})
        else:
            found.append(f"npm run --silent {inner}")
    return found


def _calls(name: str, scripts: Mapping[str, str]) -> bool:
    return any(_called(part, scripts, ()) for part in _AND.split(scripts[name].strip()))


def _called(part: str, scripts: Mapping[str, str], above: Collection[str]) -> str | None:
    """Return the name of the script that a part starts, if it does nothing else."""
    match = _RUNS.match(part)
    return match[2] if match and match[2] in scripts and match[2] not in above else None


def _words(part: str) -> list[str]:
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
    return words[at:]


def _unwrapped(part: str) -> str:
    """Return a part without its coverage tool: low coverage is no failing test."""
    words = _words(part)
    first = part.split(maxsplit=1)[0] if part else ""
    return shlex.join(words) if first in {"c8", "nyc"} and _runner(shlex.join(words)) else part


def _checks(part: str) -> bool:
    line = " ".join(_words(part))
    return any(re.match(pattern, line) for pattern in script_rules().check_commands)


def _runner(part: str) -> str | None:
    """Return the runner that a part starts."""
    words = _words(part)
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    if name in {"node", "tsx"}:
        return "node" if "--test" in words else None
    return name if name in script_rules().runners else None


def _with_runner_options(part: str, package: Mapping[str, object], *, report: bool = True) -> tuple[str, str | None]:
    """Return a part with the options of its runner, and the report that it writes."""
    name = _runner(part)
    if name is None or re.search(r"[|;<>]", part):
        return part, None
    runner = script_rules().runners[name]
    report = report and "reporter" not in part
    version = _version(package, name)
    plain = next(
        (text for below, text in sorted(runner.options_before_version.items()) if version < below), runner.options
    )
    options = " ".join(filter(None, (plain, runner.junit if report else None)))
    if not options:
        return part, None
    if name == "node":  # arguments after a file belong to the file
        text = re.sub(r"(?<=\s)--test(?=\s|$)", f"--test {options}", part, count=1)
    else:
        text = f"{part} {options}"
    return text, ".caretbench-junit.xml" if runner.junit and report else None


def _version(package: Mapping[str, object], name: str) -> int:
    """Return the first number of the required version of a package; ``sys.maxsize`` if unknown."""
    number = re.search(r"\d+", dict(_listed(package, "devDependencies")).get(name, ""))
    return int(number[0]) if number else sys.maxsize


def _programs(part: str, scripts: Mapping[str, str], above: tuple[str, ...]) -> Iterator[str]:
    """Yield the programs that a part starts, and the scripts that it calls."""
    inner = _called(part, scripts, above)
    if inner is not None:
        for one in _AND.split(scripts[inner]):
            yield from _programs(one, scripts, (*above, inner))
        return
    words = _words(part)
    first = words[0] if words else ""
    if first and first not in script_rules().builtin_commands and "/" not in first and not first.startswith("$"):
        yield first


def install_command(snapshot: Snapshot) -> str | None:
    """Return the command that installs the packages of a project's tests; None if there are none.

    Packages that no test needs would take most of the space: they are removed from ``package.json`` for the
    installation, and the file is restored afterwards.
    """
    package = read_package_json(snapshot)
    named = [(field, name, version) for field in _FIELDS for name, version in _listed(package, field)]
    left_out = [f"{field}[{name}]" for field, name, version in named if _is_unneeded(field, name, version)]
    if len(left_out) == len(named):
        return None
    fetch = "npm install --no-save --ignore-scripts --no-audit --no-fund --legacy-peer-deps"
    if not left_out:
        return fetch
    return f"cp {PACKAGE_JSON} /tmp/ && npm pkg delete {shlex.join(left_out)} && {fetch} && cp /tmp/{PACKAGE_JSON} ."


def _is_unneeded(field: str, name: str, version: str) -> bool:
    """Return whether tests run without a package, or it is in the same repository and cannot be installed."""
    if version.startswith(("workspace:", "link:", "portal:")):
        return True
    patterns = script_rules().unneeded_packages if field == "devDependencies" else ()
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _listed(package: Mapping[str, object], field: str) -> list[tuple[str, str]]:
    listed = package.get(field)
    return [(n, v) for n, v in listed.items() if isinstance(v, str)] if isinstance(listed, dict) else []
