"""Test commands of ``package.json``, without scripts that only check style or types, or that publish.

A script's parts stay as they are; parts that start other scripts are looked into. What decides is a table, in
``package_scripts.toml``.
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

MANIFEST: Final = "package.json"
_SYSTEM: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where a program has to lie to be found behind walls."""
_ASSIGNS = re.compile(r"\w+=")
_AND = re.compile(r"\s*&&\s*")
_RUNS = re.compile(r"^(?:npm|yarn|pnpm|bun)\s+(?:run(?:-script)?\s+)?((?:-\S+\s+)*)([\w:@./-]+)$")
_FIELDS: Final = ("dependencies", "devDependencies")
_NOT_WRITTEN = re.compile(r"^echo\b|no test specified")


class ScriptRunner(Row):
    """What is added to a runner's words: to stop at the first failure, to leave what is no test, to write reports."""

    options: str = ""
    older: Mapping[int, str] = {}
    """Options of versions below a number."""
    junit: str | None = None


class ScriptRules(Row):
    """The table."""

    checks: tuple[str, ...]
    wrappers: frozenset[str]
    builtin: frozenset[str]
    other_purposes: str
    unneeded: tuple[str, ...]
    runners: Mapping[str, ScriptRunner]


@cache
def script_rules() -> ScriptRules:
    """Return the table of words in scripts."""
    return ScriptRules.model_validate(read_packaged_toml("caretbench.projects.setup", "package_scripts.toml"))


class Script(NamedTuple):
    """A shell line that tests a project, the programs that it starts itself, and the report that it writes."""

    line: str
    programs: tuple[str, ...]
    junit: tuple[str, ...]


def manifest(snapshot: Snapshot) -> Mapping[str, object]:
    """What ``package.json`` holds; empty where it is not there or malformed."""
    if MANIFEST not in snapshot.entries:
        return {}
    try:
        found = json.loads(snapshot.read(MANIFEST).decode("utf-8-sig"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def test_script(snapshot: Snapshot) -> Script | None:
    """Return the test script of a project, and the one before it; None where there is none."""
    known = dict(_listed(manifest(snapshot), "scripts"))
    if "test" not in known or _NOT_WRITTEN.search(known["test"]):
        return None
    before = _parts("pretest", known, ()) if "pretest" in known else []
    parts = _first_tests([part for part in [*before, *_parts("test", known, ())] if part])
    if not parts:
        return None
    held = manifest(snapshot)
    programs = tuple(dict.fromkeys(name for part in parts for name in _programs(part, known, ())))
    said = [_said(part, held) for part in parts]
    junit = tuple(dict.fromkeys(report for _, report in said if report))
    if len(junit) != sum(runs is not None for runs in map(_runner, parts)):
        junit = ()  # one of several runners writes no report: the last words of all are counted
        said = [_said(part, held, report=False) for part in parts]
    line = " && ".join(text for text, _ in said)
    return Script(f'export PATH="$PWD/node_modules/.bin:$PATH"; {line}', programs, junit)


def lacking_programs(snapshot: Snapshot, script: Script) -> tuple[str, ...]:
    """Return the programs of a script that neither the project's packages nor this machine has."""
    return tuple(
        name
        for name in script.programs
        if f"node_modules/.bin/{name}" not in snapshot.entries and shutil.which(name, path=_SYSTEM) is None
    )


def _first_tests(parts: list[str]) -> list[str]:
    """Up to the first tests: what is built and tested after them is what is published."""
    tests = [_runner(part) is not None for part in parts]
    if True not in tests:
        return parts
    first = tests.index(True)
    behind = next((n for n in range(first, len(parts)) if not tests[n]), len(parts))
    return parts[:behind]


def _parts(name: str, scripts: Mapping[str, str], above: Collection[str]) -> list[str]:
    """Return the parts of a script that test or build; those that only check are left out."""
    found: list[str] = []
    for part in _AND.split(scripts[name].strip()):
        inner = _called(part, scripts, above)
        if inner is None:
            if not _checks(part):
                found.append(_unwrapped(part))
        elif re.search(script_rules().other_purposes, inner) and not _calls(inner, scripts):
            continue
        elif _AND.search(scripts[inner].strip()) or _checks(scripts[inner]) or _runner(scripts[inner]):
            found += _parts(inner, scripts, {*above, name})
        else:
            found.append(f"npm run --silent {inner}")
    return found


def _calls(name: str, scripts: Mapping[str, str]) -> bool:
    return any(_called(part, scripts, ()) for part in _AND.split(scripts[name].strip()))


def _called(part: str, scripts: Mapping[str, str], above: Collection[str]) -> str | None:
    """Return the script that a part starts and does nothing else."""
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
        words[at] in rules.wrappers
        or _ASSIGNS.match(words[at])
        or (at and words[at].startswith("-") and words[0] in rules.wrappers)
    ):
        at += 1
    return words[at:]


def _unwrapped(part: str) -> str:
    """Return a part without what measures coverage around it: a measure that falls is no failing test."""
    words = _words(part)
    first = part.split(maxsplit=1)[0] if part else ""
    return shlex.join(words) if first in {"c8", "nyc"} and _runner(shlex.join(words)) else part


def _checks(part: str) -> bool:
    line = " ".join(_words(part))
    return any(re.match(pattern, line) for pattern in script_rules().checks)


def _runner(part: str) -> str | None:
    """Return the runner that a part starts."""
    words = _words(part)
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    if name in {"node", "tsx"}:
        return "node" if "--test" in words else None
    return name if name in script_rules().runners else None


def _said(part: str, held: Mapping[str, object], *, report: bool = True) -> tuple[str, str | None]:
    """Return a part with the options of its runner, and the report that it writes."""
    name = _runner(part)
    if name is None or re.search(r"[|;<>]", part):
        return part, None
    runner = script_rules().runners[name]
    report = report and "reporter" not in part
    version = _version(held, name)
    plain = next((text for below, text in sorted(runner.older.items()) if version < below), runner.options)
    options = " ".join(filter(None, (plain, runner.junit if report else None)))
    if not options:
        return part, None
    if name == "node":  # what stands behind a file is the file's
        text = re.sub(r"(?<=\s)--test(?=\s|$)", f"--test {options}", part, count=1)
    else:
        text = f"{part} {options}"
    return text, ".caretbench-junit.xml" if runner.junit and report else None


def _version(held: Mapping[str, object], name: str) -> int:
    """Return the first number of the version that is wanted of a package; a large one where nothing tells."""
    number = re.search(r"\d+", dict(_listed(held, "devDependencies")).get(name, ""))
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
    if first and first not in script_rules().builtin and "/" not in first and not first.startswith("$"):
        yield first


# --- what it needs ----------------------------------------------------------------------------------------------


def install(snapshot: Snapshot) -> str | None:
    """Return the command that fetches what a project's tests need; None where it names no package.

    Packages that no test needs would take most of the room. They are no dependencies while the others are fetched, and
    the project's file is put back afterwards.
    """
    held = manifest(snapshot)
    named = [(field, name, version) for field in _FIELDS for name, version in _listed(held, field)]
    left_out = [f"{field}[{name}]" for field, name, version in named if _is_unneeded(field, name, version)]
    if len(left_out) == len(named):
        return None
    fetch = "npm install --no-save --ignore-scripts --no-audit --no-fund --legacy-peer-deps"
    if not left_out:
        return fetch
    return f"cp {MANIFEST} /tmp/ && npm pkg delete {shlex.join(left_out)} && {fetch} && cp /tmp/{MANIFEST} ."


def _is_unneeded(field: str, name: str, version: str) -> bool:
    """Return whether tests run without a package; packages of the same repository are not to be had, either."""
    if version.startswith(("workspace:", "link:", "portal:")):
        return True
    patterns = script_rules().unneeded if field == "devDependencies" else ()
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _listed(held: Mapping[str, object], field: str) -> list[tuple[str, str]]:
    listed = held.get(field)
    return [(n, v) for n, v in listed.items() if isinstance(v, str)] if isinstance(listed, dict) else []
