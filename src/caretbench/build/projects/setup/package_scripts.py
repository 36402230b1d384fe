"""Test script of ``package.json``, without parts that check style or types, or that publish.

Parts that start other scripts are resolved. The rules are in ``package_scripts.toml``.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.script_runners import (
    AND,
    SEARCH_PATH,
    RunnerCommand,
    program_words,
    runner_command,
    runner_name,
    script_rules,
    without_bail,
)

PACKAGE_JSON: Final = "package.json"
DEPENDENCY_FIELDS: Final = ("dependencies", "devDependencies")
_SYSTEM: Final = "/usr/local/bin:/usr/bin:/bin"
"""Folders of programs that exist in a sandbox."""
_RUNS = re.compile(
    r"^(?:npm|yarn|pnpm|bun)\s+(?:(?:run|run-script)\s+)?(?:-\S+\s+)*['\"]?([\w:@./-]+|/\S+/)['\"]?"
    r"(?:\s+(?:--\s+)?(?P<arguments>[^|;<>]*))?$"
)
_RUNS_SEVERAL = re.compile(r"^(?:npm-run-all|run-s|run-p)\s+(.*)$")
_RUNS_PROGRAM = re.compile(r"^(?:yarn|pnpm|bun)\s+(?:(?:run|exec)\s+)?(?=(?!install\b|add\b|ci\b|dlx\b|x\b)[\w@.])")
_PATTERN = re.compile(r"/(.+)/")
_NOT_WRITTEN = re.compile(r"^echo\b|no test specified")


_MARK: Final = "/tmp/caretbench-mark"  # noqa: S108  a path inside the sandbox


class PackageScript(NamedTuple):
    """A shell command that tests a project, the programs that it starts, and the reports that it writes.

    ``prepare`` is a command that fills the runner's cache, if it has one; empty otherwise.
    """

    line: str
    programs: tuple[str, ...]
    junit: tuple[str, ...]
    prepare: str = ""


class _Called(NamedTuple):
    """Scripts that a part starts, and arguments that they get."""

    names: tuple[str, ...]
    arguments: str = ""


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
    package = read_package_json(snapshot)
    known = dict(listed_texts(package, "scripts"))
    if "test" not in known or _NOT_WRITTEN.search(known["test"]):
        return None
    before = _parts("pretest", known, ()) if "pretest" in known else []
    parts = _first_tests([part for part in [*before, *_parts("test", known, ())] if part])
    if not parts:
        return None
    programs = tuple(dict.fromkeys(name for part in parts for name in _programs(part, known, ())))
    versions = dict(listed_texts(package, "devDependencies"))
    commands = [runner_command(part, versions) for part in parts]
    reports = [command.report for command in commands if command.report]
    if len(set(reports)) != sum(runs is not None for runs in map(runner_name, parts)):
        reports = []  # one of several runners writes no report of its own: the last words of all are counted
        commands = [runner_command(part, versions, report=False) for part in parts]
    line = SEARCH_PATH + " && ".join(command.line for command in commands)
    prepare = _filling(runner_command(part, versions, report=False) for part in parts)
    return PackageScript(line, programs, tuple(reports), prepare)


def _filling(commands: Iterable[RunnerCommand]) -> str:
    """Return a command that runs all tests, and keeps of the files that they leave only those in caches, if any.

    Other files would be there before an answer is tested, as if it had written them. Tests may fail.
    """
    listed = tuple(commands)
    folders = sorted({command.cache for command in listed if command.cache})
    if not folders:
        return ""
    line = without_bail(SEARCH_PATH + " && ".join(command.line for command in listed))
    kept = " ".join(f"! -path './{folder}/*'" for folder in folders)
    return rf"touch {_MARK}; {line}; find . -newer {_MARK} \( -type f -o -type l \) {kept} -delete"


def missing_programs(snapshot: Snapshot, script: PackageScript) -> tuple[str, ...]:
    """Return the programs of a script that are missing in ``node_modules`` and on this machine."""
    return tuple(
        name
        for name in script.programs
        if f"node_modules/.bin/{name}" not in snapshot.entries and shutil.which(name, path=_SYSTEM) is None
    )


def _first_tests(parts: list[str]) -> list[str]:
    """Return the parts up to the first tests; later ones build and test the published package."""
    tests = [runner_name(part) is not None for part in parts]
    if True not in tests:
        return parts
    first = tests.index(True)
    behind = next((n for n in range(first, len(parts)) if not tests[n]), len(parts))
    return parts[:behind]


def _parts(name: str, scripts: Mapping[str, str], above: Collection[str]) -> list[str]:
    """Return the parts of a script that test or build, without those that only check style or types."""
    found: list[str] = []
    above = {*above, name}
    for part in AND.split(scripts[name].strip()):
        called = _called(part, scripts, above)
        if called is None:
            if not _checks(part):
                found.append(_unwrapped(_RUNS_PROGRAM.sub("", part)))
            continue
        for inner in called.names:
            if _is_other(inner) and not _called(scripts[inner].strip(), scripts, above):
                continue
            own = _parts(inner, scripts, above)
            if own == [scripts[inner].strip()] and runner_name(own[0]) is None:
                own = [f"npm run --silent {inner}{' --' if called.arguments else ''}"]
            if own and called.arguments:
                own[-1] = f"{own[-1]} {called.arguments}"
            found += own
    return found


def _is_other(name: str) -> bool:
    return re.search(script_rules().other_script_names, name) is not None


def _called(part: str, scripts: Mapping[str, str], above: Collection[str]) -> _Called | None:
    """Return the scripts that a part starts, if it does nothing else."""
    known = [name for name in scripts if name not in above]
    several = _RUNS_SEVERAL.match(part)
    if several:
        return _Called(_matching_scripts(several[1], known))
    match = _RUNS.match(part)
    if match is None:
        return None
    pattern = _PATTERN.fullmatch(match[1])
    names = _searched_scripts(pattern[1], known) if pattern else (match[1],) if match[1] in known else ()
    return _Called(names, match["arguments"] or "") if names else None


def _matching_scripts(words: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the scripts that the words of ``npm-run-all`` name; ``*`` is within a part of a name, ``**`` anything."""
    wanted = [word for word in shlex.split(words) if not word.startswith("-")]
    patterns = [re.escape(word).replace(r"\*\*", ".*").replace(r"\*", "[^:]*") for word in wanted]
    return tuple(name for one in patterns for name in known if re.fullmatch(one, name))


def _searched_scripts(pattern: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the scripts that a regular expression of pnpm matches."""
    try:
        return tuple(name for name in known if re.search(pattern, name))
    except re.error:
        return ()


def _unwrapped(part: str) -> str:
    """Return a part without its coverage tool: low coverage is no failing test."""
    words = program_words(part)
    first = part.split(maxsplit=1)[0] if part else ""
    tool = first in script_rules().coverage_commands
    return shlex.join(words) if tool and runner_name(shlex.join(words)) else part


def _checks(part: str) -> bool:
    line = " ".join(program_words(_RUNS_PROGRAM.sub("", part)))
    return any(re.match(pattern, line) for pattern in script_rules().check_commands)


def _programs(part: str, scripts: Mapping[str, str], above: tuple[str, ...]) -> Iterator[str]:
    """Yield the programs that a part starts, and the scripts that it calls."""
    called = _called(part, scripts, above)
    if called is not None:
        for inner in called.names:
            for one in AND.split(scripts[inner]):
                yield from _programs(one, scripts, (*above, inner))
        return
    words = program_words(part)
    first = words[0] if words else ""
    if first and first not in script_rules().builtin_commands and "/" not in first and not first.startswith("$"):
        yield first


def listed_texts(package: Mapping[str, object], field: str) -> list[tuple[str, str]]:
    """Return the names and texts in a table of ``package.json``, such as its scripts or dependencies."""
    listed = package.get(field)
    return [(n, v) for n, v in listed.items() if isinstance(v, str)] if isinstance(listed, dict) else []
