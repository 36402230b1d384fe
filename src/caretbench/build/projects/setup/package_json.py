"""Test script of ``package.json``, without parts that check style or types, and installation of its packages."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from caretbench.build.projects.failure_reasons import npm_errors
from caretbench.build.projects.setup.project_tables import strings
from caretbench.build.projects.test_outcomes import without_bail
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.runner_options import (
    AND,
    SEARCH_PATH,
    SHELL_JOINS,
    add_runner_options,
    program_words,
    runner_name,
    script_rules,
)
from caretbench.projects.settings import project_rules

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
_RUNS_MEMBERS = re.compile(
    r"^(?:(?:npm|pnpm)\s+(?=(?:.*\s)?(?:--workspaces|-ws|-r|--recursive)(?!\S))|yarn\s+workspaces\s+|(?:npx\s+)?(?:lerna|turbo)\s+)"
    r"(?:(?:foreach|run|run-script|-\S+)\s+)*(?P<name>[\w:-]+)(?=\s+-|\s*$)"
)
"""Part of a script that runs another script in each package of a workspace."""
_PACKAGE_MANAGERS: Final = frozenset({"npm", "yarn", "pnpm", "bun"})
_PATTERN = re.compile(r"/(.+)/")
_NOT_WRITTEN = re.compile(r"^echo\b|no test specified")


_MARK: Final = "/tmp/caretbench-mark"  # noqa: S108  a path inside the sandbox


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
    if name is None or SHELL_JOINS.search(part):
        return RunnerCommand(part, None)
    runner = script_rules().runners[name]
    version = _version(required_versions.get(name, ""))
    before = sorted(runner.options_before_version.items())
    options = next((text for below, text in before if version < below), runner.options)
    added = (text for package, text in runner.options_with_package.items() if package in required_versions)
    for pattern in runner.dropped:
        part = re.sub(rf"(?<=\s){pattern}(?=\s|$)\s*", "", part).rstrip()
    report = report and bool(runner.report)
    text = " ".join(filter(None, (options, *added, runner.bail, runner.cache, runner.report if report else "")))
    cache = runner.cache.partition("=")[2] or None
    return RunnerCommand(add_runner_options(name, part, text), runner.report_file if report else None, cache)


def _version(required: str) -> int:
    """Return the first number of a required version; ``sys.maxsize`` if unknown."""
    number = re.search(r"\d+", required)
    return int(number[0]) if number else sys.maxsize


class PackageScript(NamedTuple):
    """A shell command that tests a project, the programs that it starts, and the reports that it writes.

    ``prepare`` is a command that fills the runner's cache, if it has one; empty otherwise.
    """

    line: str
    programs: tuple[str, ...]
    junit: tuple[str, ...]
    prepare: str = ""


class _Step(NamedTuple):
    """A command of a script, the programs that it starts, and whether it tests."""

    command: RunnerCommand
    programs: tuple[str, ...]
    is_test: bool


class _Called(NamedTuple):
    """Scripts that a part starts, and arguments that they get."""

    names: tuple[str, ...]
    arguments: str = ""


def read_package_json(snapshot: Snapshot, path: str = PACKAGE_JSON) -> Mapping[str, object]:
    """Return the contents of ``package.json``; empty if it is missing or malformed."""
    try:
        contents = json.loads(snapshot.read(path).decode("utf-8-sig")) if path in snapshot.entries else {}
    except ValueError:
        return {}
    return contents if isinstance(contents, dict) else {}


def test_script(snapshot: Snapshot) -> PackageScript | None:
    """Return the test script of a project, including ``pretest``; None if there is none.

    Where it runs a script of each package of a workspace, those scripts stand in its place, each in its folder.
    """
    members = {posixpath.dirname(path): _with_own_globals(path, snapshot) for path in _members(snapshot)}
    return _script(_with_own_globals(PACKAGE_JSON, snapshot), "test", members)


def _with_own_globals(path: str, snapshot: Snapshot) -> Mapping[str, object]:
    """Return ``package.json`` without ts-jest where jest has globals, which those of our command would replace."""
    package = read_package_json(snapshot, path)
    settings = f"{posixpath.dirname(path)}/jest.config.".lstrip("/")
    jest = package.get("jest")
    has_globals = isinstance(jest, dict) and "globals" in jest
    if has_globals or any(b"globals" in snapshot.read(name) for name in snapshot.entries if name.startswith(settings)):
        kept = {name: version for name, version in listed_texts(package, "devDependencies") if name != "ts-jest"}
        return {**package, "devDependencies": kept}
    return package


def _script(
    package: Mapping[str, object], name: str, members: Mapping[str, Mapping[str, object]], *, report: bool = True
) -> PackageScript | None:
    """Return a script of a package; without ``report`` its runners write none."""
    scripts = {script: _without_coverage(text) for script, text in listed_texts(package, "scripts")}
    if name not in scripts or _NOT_WRITTEN.search(scripts[name]):
        return None
    before = _parts(f"pre{name}", scripts, ()) if f"pre{name}" in scripts else []
    parts = _first_tests(list(filter(None, [*before, *_parts(name, scripts, ())])))
    versions = dict(listed_texts(package, "devDependencies"))
    steps: list[_Step] = []
    for part in parts:
        called = _RUNS_MEMBERS.match(part)
        if called is None:
            command = runner_command(part, versions, report=report)
            steps.append(_Step(command, tuple(_programs(part, scripts, ())), runner_name(part) is not None))
        else:
            steps += _member_steps(members, called["name"], report=report)
    if not steps:
        return None
    reports = tuple(step.command.report for step in steps if step.command.report)
    if report and len(set(reports)) != sum(step.is_test for step in steps):
        # One of several runners writes no report of its own: the last words of all are counted.
        return _script(package, name, members, report=False)
    line = SEARCH_PATH + " && ".join(step.command.line for step in steps)
    programs = dict.fromkeys(program for step in steps for program in step.programs)
    prepare = _filling(runner_command(part, versions, report=False) for part in parts)
    return PackageScript(line, tuple(programs), reports, prepare)


def _member_steps(members: Mapping[str, Mapping[str, object]], name: str, *, report: bool) -> Iterator[_Step]:
    """Yield a step for each package of a workspace that has this script, in its folder."""
    for folder, member in members.items():
        script = _script(member, name, {}, report=report)
        if script is not None:
            written = f"{folder}/{script.junit[0]}" if len(script.junit) == 1 else None
            line = f"(cd {shlex.quote(folder)} && {script.line})"
            yield _Step(RunnerCommand(line, written), script.programs, is_test=True)


def _without_coverage(script: str) -> str:
    """Return a script whose parts start other scripts without a coverage tool: ``c8 --reporter lcov npm run unit``."""
    parts = []
    for part in AND.split(script.strip()):
        words = part.split()
        covered = words[:1] and words[0] in script_rules().coverage_commands
        at = next((n for n, word in enumerate(words) if covered and word in _PACKAGE_MANAGERS), 0)
        parts.append(" ".join(words[at:]) if at else part)
    return " && ".join(parts)


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
    installed = {PurePosixPath(path).name for path in snapshot.entries if "node_modules/.bin/" in path}
    return tuple(name for name in script.programs if name not in installed and shutil.which(name, path=_SYSTEM) is None)


def _first_tests(parts: list[str]) -> list[str]:
    """Return the parts up to the first tests; later ones build and test the published package."""
    tests = [runner_name(part) is not None for part in parts]
    end = next((n for n, (before, here) in enumerate(pairwise(tests), 1) if before and not here), len(parts))
    return parts[:end]


def _parts(name: str, scripts: Mapping[str, str], above: Collection[str]) -> list[str]:
    """Return the parts of a script that test or build, without those that only check style or types."""
    parts: list[str] = []
    above = {*above, name}
    for part in AND.split(scripts[name].strip()):
        if _RUNS_MEMBERS.match(part):
            parts.append(part)
            continue
        called = _called(part, scripts, above)
        if called is None:
            if not _checks(part):
                parts.append(_unwrapped(_RUNS_PROGRAM.sub("", part)))
            continue
        for inner in called.names:
            is_other = re.search(script_rules().other_script_names, inner) is not None
            if is_other and not _called(scripts[inner].strip(), scripts, above):
                continue
            inner_parts = _parts(inner, scripts, above)
            if inner_parts == [scripts[inner].strip()] and runner_name(inner_parts[0]) is None:
                inner_parts = [f"npm run --silent {inner}{' --' if called.arguments else ''}"]
            if inner_parts and called.arguments:
                inner_parts[-1] = f"{inner_parts[-1]} {called.arguments}"
            parts += inner_parts
    return parts


def _called(part: str, scripts: Mapping[str, str], above: Collection[str]) -> _Called | None:
    """Return the scripts that a part starts, if it does nothing else."""
    others = [name for name in scripts if name not in above]
    several = _RUNS_SEVERAL.match(part)
    if several:
        return _Called(_matching_scripts(several[1], others))
    match = _RUNS.match(part)
    if match is None:
        return None
    pattern = _PATTERN.fullmatch(match[1])
    names = _searched_scripts(pattern[1], others) if pattern else (match[1],) if match[1] in others else ()
    return _Called(names, match["arguments"] or "") if names else None


def _matching_scripts(words: str, scripts: Collection[str]) -> tuple[str, ...]:
    """Return the scripts that the words of ``npm-run-all`` name; ``*`` is within a part of a name, ``**`` anything."""
    named = [word for word in shlex.split(words) if not word.startswith("-")]
    patterns = [re.escape(word).replace(r"\*\*", ".*").replace(r"\*", "[^:]*") for word in named]
    return tuple(name for pattern in patterns for name in scripts if re.fullmatch(pattern, name))


def _searched_scripts(pattern: str, scripts: Collection[str]) -> tuple[str, ...]:
    """Return the scripts that a regular expression of pnpm matches."""
    try:
        return tuple(name for name in scripts if re.search(pattern, name))
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
            for command in AND.split(scripts[inner]):
                yield from _programs(command, scripts, (*above, inner))
        return
    words = program_words(part)
    first = words[0] if words else ""
    if first and first not in script_rules().builtin_commands and "/" not in first and not first.startswith("$"):
        yield first


def listed_texts(package: Mapping[str, object], field: str) -> list[tuple[str, str]]:
    """Return the names and texts in a table of ``package.json``, such as its scripts or dependencies."""
    listed = package.get(field)
    return [(name, text) for name, text in listed.items() if isinstance(text, str)] if isinstance(listed, dict) else []


# Scripts of packages would run code that no test needs; strict peer versions refuse what works.
_FETCH: Final = "npm install --no-save --ignore-scripts --no-audit --no-fund --legacy-peer-deps"
_RANGE: Final = re.compile(r"(?:workspace:|catalog:|patch:)(?P<range>[\^~]?\d+\.\S*)?")
"""Version in the syntax of pnpm or yarn, with the range that npm understands, if it has one."""
_FOREIGN: Final = re.compile(rb'"(?:workspace|catalog):')
_AS_NPM: Final = r's/"(workspace|catalog):[^"]*"/"*"/'
"""Change of a workspace's packages: any version is met by the folder, which npm links, or by the index's newest."""
_PNPM: Final = "pnpm-workspace.yaml"
_LISTED: Final = re.compile(r"^\s*-\s*['\"]?([^'\"\s#]+)", re.MULTILINE)
_MISSING: Final = re.compile(
    r"'(@?[^'@\s]+)@[^']*' (?:is not in this registry|could not be found)|No matching version found for (@?[^@\s]+)@"
)
_INSTALLED: Final = "node_modules/.package-lock.json"
"""List of what npm installed."""
_ABSENT: Final = re.compile(r"; where no test needs ([^:;]+): ")
_REPOSITORY: Final = re.compile(r"\bls-remote \S*?[:/]([\w.-]+/[\w.-]+?)(?:\.git)?$")
_MAX_LINES: Final = 3
_PACKAGE_WORD: Final = re.compile(r"(?:@[\w.-]+/)?[\w.-]*\w")
_OF_COMPILERS: Final = re.compile(r"typescript|tslib|@types/.*|@babel/.*|core-js")
_SOURCES: Final = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"})


def install_command(snapshot: Snapshot, excluded: Collection[str] = (), *, unneeded: bool = False) -> str | None:
    """Return the command that installs the packages of a project's tests without ``excluded``; None if there are none.

    With ``unneeded``, linters and tools for releases are installed too: some builds need one (superstruct). Else
    packages that no test needs would take most of the space: they are removed from ``package.json`` for the
    installation, and the file is restored afterwards. Packages of the same repository come from the index.
    """
    deleted: list[str] = []
    changed: list[str] = []
    members = _members(snapshot)
    kept = len(members)
    for field, name, version in _dependencies(snapshot):
        foreign = _RANGE.match(version)
        of_index = not version.startswith(("link:", "portal:", "workspace:", "file:"))
        # Linters and tools for releases take most of the space of many projects, and tests say nothing about them.
        if name in excluded or (_is_unneeded(field, name, version) and not (unneeded and of_index)):
            deleted.append(f"{field}[{name}]")
            continue
        kept += 1
        if foreign:
            changed.append(f"{field}[{name}]={foreign['range'] or '*'}")
    if not kept:
        return None
    steps = [f"npm pkg delete {shlex.join(deleted)}"] if deleted else []
    steps += [f"npm pkg set {shlex.join(changed)}"] if changed else []
    steps += _workspace_steps(snapshot, members)
    if not steps:
        return _FETCH
    files = shlex.join([PACKAGE_JSON, *members])
    return " && ".join([f"tar cf /tmp/kept.tar {files}", *steps, _FETCH, "tar xf /tmp/kept.tar"])


def _workspace_steps(snapshot: Snapshot, members: Sequence[str]) -> Iterator[str]:
    """Yield the commands that make a workspace of pnpm or yarn one that npm understands."""
    if members and "workspaces" not in read_package_json(snapshot):
        yield f"npm pkg set {shlex.join(f'workspaces[]={PurePosixPath(path).parent}' for path in members)}"
    foreign = [path for path in members if _FOREIGN.search(snapshot.read(path))]
    if foreign:
        yield f"sed -i -E {shlex.quote(_AS_NPM)} {shlex.join(foreign)}"


def _members(snapshot: Snapshot) -> list[str]:
    """Return the ``package.json`` of each package of a workspace: of npm and yarn, or of ``pnpm-workspace.yaml``."""
    named = read_package_json(snapshot).get("workspaces")
    named = named.get("packages") if isinstance(named, dict) else named
    if named is None and _PNPM in snapshot.entries:
        _, _, text = snapshot.read(_PNPM).decode("utf-8", "replace").partition("packages:")
        named = _LISTED.findall(re.split(r"^\w", text, maxsplit=1, flags=re.MULTILINE)[0])
    patterns = [pattern.strip("./").rstrip("/") for pattern in strings(named)]
    return sorted(
        path
        for path, entry in snapshot.entries.items()
        if entry.kind == "file"
        and path.endswith(f"/{PACKAGE_JSON}")
        and "node_modules/" not in path
        and any(PurePosixPath(path).parent.match(name) for name in patterns if name and not name.startswith("!"))
    )


def npm_packages(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the packages that npm installed, sorted, each as ``NAME@VERSION HASH``."""
    if _INSTALLED not in snapshot.entries:
        return ()
    listed = json.loads(snapshot.read(_INSTALLED))["packages"]
    named = ((path.rpartition("node_modules/")[2], row) for path, row in listed.items())
    return tuple(sorted(f"{name}@{row.get('version')} {row.get('integrity', '')}".strip() for name, row in named))


def smaller_install_command(snapshot: Snapshot) -> str | None:
    """Return the command without development packages that neither tests nor sources name; None if all are named.

    Packages of TypeScript and Babel are kept: compilers find them without a name.
    """
    script = test_script(snapshot)
    # deepmerge's tests run `npm run build`, which starts rollup.
    texts = [script.line, *script.programs] if script is not None else []
    texts += [
        snapshot.read(path).decode("utf-8", "replace") for path in snapshot.entries if _names_packages(path, snapshot)
    ]
    words = {word for text in texts for word in _PACKAGE_WORD.findall(text)}
    unnamed = [
        name
        for field, name, version in _dependencies(snapshot)
        if field == "devDependencies"
        and not _is_unneeded(field, name, version)
        and not _OF_COMPILERS.fullmatch(name)
        and name not in words
    ]
    return install_command(snapshot, unnamed) if unnamed else None


def _names_packages(path: str, snapshot: Snapshot) -> bool:
    """Return whether a file names the packages that it needs: a source or a tool's settings, not ``package.json``."""
    file = PurePosixPath(path)
    if snapshot.entries[path].kind != "file" or not project_rules().files.folders.isdisjoint(file.parts[:-1]):
        return False
    return file.suffix in _SOURCES or (len(file.parts) == 1 and file.name.startswith("."))


def _dependencies(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    """Return the required packages: field, name, version."""
    package = read_package_json(snapshot)
    return [(field, name, version) for field in DEPENDENCY_FIELDS for name, version in listed_texts(package, field)]


def _is_unneeded(field: str, name: str, version: str) -> bool:
    """Return whether tests run without a package, or it is a folder of the same repository."""
    if version.startswith(("link:", "portal:")):
        return True
    rules = script_rules()
    patterns = rules.unneeded_packages if field == "devDependencies" else ()
    if version.startswith("workspace:") and field == "devDependencies":
        patterns = (*patterns, *rules.unpublished_packages)
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def missing_packages(message: str) -> tuple[str, ...]:
    """Return the packages that npm's message says are missing, which perhaps no test needs (cookie's ``top-sites``)."""
    match = _ABSENT.search(message)
    return tuple(sorted(match[1].split(", "))) if match else ()


def npm_failure(output: str, snapshot: Snapshot) -> str:
    """Return npm's message in the output of a set-up, with a remedy if a package is missing; "" if npm printed none.

    A package that the index lacks may be one that no test needs, so the remedy installs the others.
    """
    told = npm_errors(output)
    if not told:
        return ""
    text = " / ".join(told[:_MAX_LINES])
    required = {name: version for _, name, version in _dependencies(snapshot)}
    missing = sorted(_missing(told, required))
    if not missing:
        return text
    command = install_command(snapshot, missing)
    remedy = f"--setup {shlex.quote(command)}" if command else "the same command without --setup"
    return f"{text}; where no test needs {', '.join(missing)}: {remedy}"


def _missing(lines: Collection[str], required: Mapping[str, str]) -> set[str]:
    """Return the required packages that npm's message names as missing, or whose git repository it cannot reach."""
    named = {match[1] or match[2] for line in lines for match in _MISSING.finditer(line)}
    paths = {match[1].lower() for match in map(_REPOSITORY.search, lines) if match}
    return {
        name for name, version in required.items() if name in named or any(path in version.lower() for path in paths)
    }
