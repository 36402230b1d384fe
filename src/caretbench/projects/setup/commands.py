"""Choice of a project's test command: the user's, the one in ``caretbench.toml``, or one found from its files."""

from __future__ import annotations

import fnmatch
import re
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from caretbench.errors import DataError
from caretbench.execution.bundles import installed_bundle
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.files import read_packaged_toml
from caretbench.problem import ExpectedOutput, TestsCheck
from caretbench.projects.language_tables import TestCommand, language_commands
from caretbench.projects.setup.package_scripts import lacking_programs, test_script
from caretbench.projects.setup.python_needs import is_here, pytest_options, with_python_path
from caretbench.projects.setup.settings import CheckSettings

_CLASS = re.compile(r"\{class:([^}]+)\}")
_FOLDERS = re.compile(r"\{folders:([^}]+)\}")
_SWITCHES = re.compile(r"\{switches:([^}]+)\}")
_SWITCH = re.compile(
    r"^[ \t]*(?:cmake_dependent_)?option[ \t]*\(\s*"
    r"(\w*?(?:BUILD|ENABLE|WITH|MAKE|RUN)_?(?:UNIT_?)?TESTS?(?:ING)?|[A-Z0-9]+_(?:UNIT)?TESTS?)\b",
    re.MULTILINE | re.IGNORECASE,
)
"""An option of CMake that switches a project's tests on, by its name."""
_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]#~{}!\n]|^\s*\w+=")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)


@cache
def _table() -> Mapping[str, Any]:
    return read_packaged_toml("caretbench.projects.setup", "commands.toml")


@cache
def commands() -> tuple[TestCommand, ...]:
    """Return the commands of all languages' folders and of this one's table, in the order in which they are tried."""
    of_all = (TestCommand.model_validate(row) for row in _table()["commands"])
    return (*language_commands(last=False), *of_all, *language_commands(last=True))


class NamedCheck(NamedTuple):
    """A check and the files whose tasks it decides; ``said_by`` is where it comes from, in words."""

    name: str
    check: TestsCheck
    files: tuple[str, ...]
    limit: int | None
    said_by: str
    prepare_files: tuple[str, ...] = ("*",)

    def decides(self, path: str) -> bool:
        """Return whether it names this file."""
        return _is_named(path, self.files)

    def check_for(self, *paths: str) -> TestsCheck:
        """Return the check where these files change: what is prepared holds for some files only."""
        holds = all(_is_named(path, self.prepare_files) for path in paths)
        return self.check if holds else self.check.model_copy(update={"prepare": ()})

    def advised(self, fault: str) -> str:
        """Why its tests do not pass (``kind: words``), and what to do about it, where the table knows."""
        kind = fault.partition(":")[0]
        named = (self.name, self.said_by)
        rows = (row.hints for row in commands() if (row.name, "the project's files") == named)
        found = (hints.get(kind) or hints.get("*") for hints in (*rows, _table()["hints"]))
        hint = next((one for one in found if one), "")
        return f"{fault} ({hint})" if hint else fault


def _is_named(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def checks_of(
    snapshot: Snapshot,
    languages: Collection[str],
    *,
    given: CheckSettings | None = None,
    settings: Sequence[CheckSettings] = (),
) -> tuple[NamedCheck, ...]:
    """Return the checks of a project; ``given`` is the user's word, which goes before the project's own ``settings``.

    Raises:
        DataError: nothing tells how the project is tested, or expected output is missing.
    """
    if given is not None:
        return (_project_check(snapshot, given, "--test-command"),)
    if settings:
        return tuple(_project_check(snapshot, entry, "caretbench.toml") for entry in settings)
    found, lacking = detect(snapshot, languages)
    if found is None:
        names = dict.fromkeys(row.name for row in commands() if set(row.languages) & set(languages))
        hint = lacking or f"nothing in its root tells of {', '.join(names)}"
        raise DataError(
            f"no tests found ({hint}): say how the project is tested with --test-command, or in its caretbench.toml"
        )
    return (_project_check(snapshot, found, "the project's files"),)


def detect(snapshot: Snapshot, languages: Collection[str]) -> tuple[CheckSettings | None, str]:
    """The first command of the table that fits, or None; and what another one that fits lacks on this machine."""
    lacking = ""
    for row in commands():
        if not set(row.languages) & set(languages) or not _fits(snapshot, row):
            continue
        missing = [tool for tool in row.tools if shutil.which(tool) is None]
        if missing:
            lacking = lacking or f"{row.name} would be the command, but {', '.join(missing)} is not installed"
            continue
        script = test_script(snapshot) if row.script else None
        if script is not None:
            absent = lacking_programs(snapshot, script)
            if absent:
                return None, f"package.json tests with {', '.join(absent)}, which node_modules does not hold"
            return CheckSettings(name=row.name, command=script.line, junit=script.junit), lacking
        return CheckSettings(
            name=row.name,
            command=_filled(snapshot, row.command),
            prepare=_filled(snapshot, row.prepare) if row.prepare else None,
            prepare_files=row.prepare_files,
            environment={name: _filled(snapshot, value, ":") for name, value in row.environment.items()},
            bundle=row.bundle if row.module is None else None,
            junit=row.junit,
            minimum_tests=row.minimum_tests,
        ), lacking
    return None, lacking


def _fits(snapshot: Snapshot, row: TestCommand) -> bool:
    return (
        snapshot.entries.keys() >= {*row.files}
        and snapshot.entries.keys().isdisjoint(row.absent)
        and bool(not row.script or test_script(snapshot))
        and _is_told(snapshot, row)
        and all(_holds(snapshot, name, pattern) for name, pattern in row.holds.items())
        and _has_target(snapshot, row)
    )


def _is_told(snapshot: Snapshot, row: TestCommand) -> bool:
    """Return whether one of a row's files or patterns is there, or it names none."""
    told = any(_holds(snapshot, name, pattern) for name, pattern in row.tells.items())
    return told or not (row.any or row.tells) or any(_matching(snapshot, pattern) for pattern in row.any)


def _has_target(snapshot: Snapshot, row: TestCommand) -> bool:
    """Return whether the Makefile has a row's target, if it names one."""
    if row.target is None:
        return True
    path = next(found for pattern in row.any for found in _matching(snapshot, pattern))
    text = snapshot.read(path).decode("utf-8", "replace")
    return re.search(rf"^{re.escape(row.target)}\s*:", text, re.MULTILINE) is not None


def _holds(snapshot: Snapshot, name: str, pattern: str) -> bool:
    texts = (snapshot.read(path).decode("utf-8", "replace") for path in _matching(snapshot, name))
    return any(re.search(pattern, text, re.MULTILINE) for text in texts)


def _filled(snapshot: Snapshot, template: str, between: str = " ") -> str:
    """Return a row's text with what it asks of the project: the name of a class, folders, switches."""
    if "{pytest}" in template:
        template = template.replace("{pytest}", pytest_options(snapshot))
    text = _CLASS.sub(lambda match: _class_name(snapshot, match[1]), template)
    text = _FOLDERS.sub(lambda match: between.join(_matching(snapshot, match[1], "folder")), text)
    return _SWITCHES.sub(lambda match: _switches(snapshot, match[1]), text)


def _switches(snapshot: Snapshot, path: str) -> str:
    names = dict.fromkeys(_SWITCH.findall(snapshot.read(path).decode("utf-8", "replace")))
    return " ".join(f"-D{name}=ON" for name in names)


def _matching(snapshot: Snapshot, pattern: str, kind: str = "file") -> list[str]:
    """Files by pattern: a star stays within a folder, two stars stand for any number of folders."""
    parts = [
        ".*" if part == "**/" else "[^/]*" if part == "*" else re.escape(part)
        for part in re.split(r"(\*\*/|\*)", pattern)
    ]
    compiled = re.compile("".join(parts))
    return sorted(
        path
        for path, entry in snapshot.entries.items()
        if entry.kind == kind and compiled.fullmatch(path) and "node_modules/" not in path
    )


def _class_name(snapshot: Snapshot, pattern: str) -> str:
    path = _matching(snapshot, pattern)[0]
    package = _PACKAGE.search(snapshot.read(path).decode("utf-8", "replace"))
    name = PurePosixPath(path).stem
    return f"{package[1]}.{name}" if package else name


def _project_check(snapshot: Snapshot, entry: CheckSettings, said_by: str) -> NamedCheck:
    output = None
    if entry.output is not None:
        try:
            text = snapshot.read(entry.output.file).decode("utf-8")
        except (DataError, UnicodeDecodeError):
            raise DataError(
                f"{entry.output.file}: expected output must be a text file of the project"
            ) from None
        output = ExpectedOutput(text=text, **entry.output.model_dump(exclude={"file"}))
    bundle = entry.bundle or _runners_bundle(snapshot, entry.command)
    check = TestsCheck(
        command=_words(entry.command),
        prepare=_words(entry.prepare) if entry.prepare else (),
        directory=entry.directory,
        environment=with_python_path(snapshot, entry.environment, bundle),
        needs=entry.needs,
        junit=entry.junit,
        minimum_tests=entry.minimum_tests,
        output=output,
        bundle=bundle,
    )
    return NamedCheck(entry.name, check, entry.files, entry.limit, said_by, entry.prepare_files)


def _runners_bundle(snapshot: Snapshot, command: str) -> str | None:
    """Return the bundle of the module that a command starts, where that is built and the module not here without it."""
    rows = (row for row in commands() if row.module and f"-m {row.module}" in command)
    wanted = next(((row.module, row.bundle) for row in rows if row.module and row.bundle), None)
    if wanted is None or is_here(snapshot, wanted[0]):
        return None
    return wanted[1] if installed_bundle(wanted[1]) is not None else None


def _words(command: str) -> tuple[str, ...]:
    """Return a command line as program and arguments; by the shell where only a shell understands it."""
    if not command.strip():
        raise DataError("an empty test command")
    try:
        plain = None if _SHELL.search(command) else tuple(shlex.split(command))
    except ValueError:
        plain = None
    return plain or ("/bin/sh", "-c", command)
