"""Choice of a project's test command: the user's, the one in ``caretbench.toml``, or one found from its files."""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from caretbench.build.projects.language_tables import TestCommand, language_commands
from caretbench.build.projects.setup.cmake_project import fetched_libraries_options
from caretbench.build.projects.setup.debian_packages import with_libraries
from caretbench.build.projects.setup.java_project import java_folders
from caretbench.build.projects.setup.package_json import missing_programs, test_script
from caretbench.build.projects.setup.pytest_settings import pytest_options, without_installed_tests
from caretbench.build.projects.setup.python_packages import is_importable, with_python_path
from caretbench.errors import DataError
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.workspaces.project_tools import is_installed
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.warm.warm_python import PACKAGES_FOLDER
from caretbench.files import read_packaged_toml
from caretbench.problem import ExpectedOutput, TestsCheck
from caretbench.projects.settings import CheckSettings

_CLASS = re.compile(r"\{class:([^}]+)\}")
_JAVA = re.compile(r"\{java:(sources|resources|jars)\}")
_COMMON = re.compile(r"\{common:([^}]+)\}")
_SWITCHES = re.compile(r"\{switches:([^}]+)\}")
_SWITCH = re.compile(
    r"^[ \t]*(?:cmake_dependent_)?option[ \t]*\(\s*"
    r"(\w*?(?:BUILD|ENABLE|WITH|MAKE|RUN)_?(?:UNIT_?)?TESTS?(?:ING)?|[A-Z0-9]+_(?:UNIT)?TESTS?)\b",
    re.MULTILINE | re.IGNORECASE,
)
"""Name of a CMake option that enables a project's tests."""
_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]#~{}!\n]|^\s*\w+=")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)


@cache
def _table() -> Mapping[str, Any]:
    return read_packaged_toml("caretbench.build.projects.setup", "commands.toml")


@cache
def known_commands() -> tuple[TestCommand, ...]:
    """Return all known test commands in the order of trial."""
    of_all = (TestCommand.model_validate(row) for row in _table()["commands"])
    return (*language_commands(fallback=False), *of_all, *language_commands(fallback=True))


class NamedCheck(NamedTuple):
    """A check, the patterns of the files whose tasks it tests, and ``source``, a description of its origin.

    ``limit`` is the maximum number of its tasks. The preparing command is valid only for changes of ``prepare_files``.
    """

    name: str
    check: TestsCheck
    files: tuple[str, ...]
    limit: int | None
    source: str
    prepare_files: tuple[str, ...] = ("*",)

    def applies_to(self, path: str) -> bool:
        """Return whether the check is for this file."""
        return _is_named(path, self.files)

    def check_for(self, *paths: str) -> TestsCheck:
        """Return the check for a change of these files: without preparation if that is not valid for one of them."""
        holds = all(_is_named(path, self.prepare_files) for path in paths)
        return self.check if holds else self.check.model_copy(update={"prepare": ()})

    def excluding(self, names: Sequence[str]) -> NamedCheck:
        """Return the check without the tests of these names."""
        excluded = (*self.check.excluded_tests, *names)
        return self._replace(check=self.check.model_copy(update={"excluded_tests": excluded})) if names else self

    def with_hint(self, fault: str) -> str:
        """Return a fault (``kind: explanation``) with advice from the table of commands, if there is any."""
        kind = fault.partition(":")[0]
        named = (self.name, self.source)
        rows = (row.hints for row in known_commands() if (row.name, "the project's files") == named)
        hints_of_kind = (hints.get(kind) or hints.get("*") for hints in (*rows, _table()["hints"]))
        hint = next(filter(None, hints_of_kind), "")
        return f"{fault} ({hint})" if hint else fault


def _is_named(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def project_checks(
    snapshot: Snapshot,
    languages: Collection[str],
    *,
    from_user: CheckSettings | None = None,
    settings: Sequence[CheckSettings] = (),
) -> tuple[NamedCheck, ...]:
    """Return the checks of a project: from the user's options, else from its ``settings``, else detected.

    Raises:
        DataError: no test command is found, or the file with the expected output is missing.
    """
    if from_user is not None:
        return (_project_check(snapshot, from_user, "--test-command"),)
    if settings:
        return tuple(_project_check(snapshot, entry, "caretbench.toml") for entry in settings)
    detected, lacking = detect_command(snapshot, languages)
    if detected is None:
        names = dict.fromkeys(row.name for row in known_commands() if set(row.languages) & set(languages))
        hint = lacking or f"no file in its root belongs to {', '.join(names)}"
        raise DataError(f"no tests found ({hint}): give a test command with --test-command or in caretbench.toml")
    return (_project_check(snapshot, detected, "the project's files"),)


def detect_command(snapshot: Snapshot, languages: Collection[str]) -> tuple[CheckSettings | None, str]:
    """Return the first known command that fits a project (or None), and a message about a missing tool (or "").

    The message is about an earlier command that would fit if the tool was installed.
    """
    lacking = ""
    for row in known_commands():
        if not set(row.languages) & set(languages) or not _fits(snapshot, row):
            continue
        missing = [tool for tool in row.required_tools if not is_installed(tool)]
        if missing:
            lacking = lacking or f"{row.name} would be the command, but {_not_installed(row, missing)}"
            continue
        script = test_script(snapshot) if row.package_script else None
        if script is not None:
            absent = missing_programs(snapshot, script)
            if absent:
                return None, f"package.json tests with {', '.join(absent)}, which is not in node_modules"
            check = CheckSettings(
                name=row.name, command=script.line, junit=script.junit, prepare=script.prepare or None
            )
            return check, lacking
        return CheckSettings(
            name=row.name,
            command=_filled(snapshot, row.command),
            prepare=_filled(snapshot, row.prepare) if row.prepare else None,
            prepare_files=row.prepare_files,
            environment={name: _filled(snapshot, value, ":") for name, value in row.environment.items()},
            bundle=row.bundle if row.python_module is None else None,
            junit=row.junit,
            minimum_tests=row.minimum_tests,
        ), lacking
    return None, lacking


def _not_installed(row: TestCommand, tools: Sequence[str]) -> str:
    packages = dict.fromkeys(_table()["packages"].get(tool, tool) for tool in tools)
    remedy = row.hints.get("not_installed") or f"apt-get install {' '.join(packages)}"
    return f"{', '.join(tools)} is not installed: {remedy}"


def _fits(snapshot: Snapshot, row: TestCommand) -> bool:
    return (
        snapshot.entries.keys() >= {*row.required_files}
        and snapshot.entries.keys().isdisjoint(row.absent_files)
        and bool(not row.package_script or test_script(snapshot))
        and bool(not row.java_tests or java_folders(snapshot).tests)
        and _matches_files(snapshot, row)
        and all(_holds(snapshot, name, pattern) for name, pattern in row.required_text.items())
        and _has_target(snapshot, row)
    )


def _matches_files(snapshot: Snapshot, row: TestCommand) -> bool:
    """Return whether one of the alternative files of a row exists or matches, or the row has none."""
    if any(_holds(snapshot, name, pattern) for name, pattern in row.any_text.items()):
        return True
    return not (row.any_file or row.any_text) or any(_matching(snapshot, name) for name in row.any_file)


def _has_target(snapshot: Snapshot, row: TestCommand) -> bool:
    """Return whether the Makefile has a row's target, if it names one."""
    if row.make_target is None:
        return True
    path = next(makefile for pattern in row.any_file for makefile in _matching(snapshot, pattern))
    text = snapshot.read(path).decode("utf-8", "replace")
    return re.search(rf"^{re.escape(row.make_target)}\s*:", text, re.MULTILINE) is not None


def _holds(snapshot: Snapshot, name: str, pattern: str) -> bool:
    texts = (snapshot.read(path).decode("utf-8", "replace") for path in _matching(snapshot, name))
    return any(re.search(pattern, text, re.MULTILINE) for text in texts)


def _filled(snapshot: Snapshot, template: str, between: str = " ") -> str:
    """Return a row's text with its placeholders replaced: name of a class, Java folders, CMake options."""
    if "{pytest}" in template:
        template = template.replace("{pytest}", pytest_options(snapshot))
    text = _CLASS.sub(lambda match: _class_name(snapshot, match[1]), template)
    text = _JAVA.sub(lambda match: between.join(getattr(java_folders(snapshot), match[1])), text)
    text = _COMMON.sub(lambda match: _common_folder(_matching(snapshot, match[1])), text)
    return _SWITCHES.sub(lambda match: _switches(snapshot, match[1]), text)


def _common_folder(paths: Sequence[str]) -> str:
    return posixpath.commonpath([posixpath.dirname(path) for path in paths])


def _switches(snapshot: Snapshot, path: str) -> str:
    names = dict.fromkeys(_SWITCH.findall(snapshot.read(path).decode("utf-8", "replace")))
    return " ".join((*(f"-D{name}=ON" for name in names), *fetched_libraries_options(snapshot)))


def _matching(snapshot: Snapshot, pattern: str) -> list[str]:
    """Return the paths of files that match a pattern: ``*`` is within a folder, ``**/`` is any number of folders."""
    parts = [
        "(?:.*/)?" if part == "**/" else "[^/]*" if part == "*" else re.escape(part)
        for part in re.split(r"(\*\*/|\*)", pattern)
    ]
    compiled = re.compile("".join(parts))
    return sorted(
        path
        for path, entry in snapshot.entries.items()
        if entry.kind == "file"
        and compiled.fullmatch(path)
        and "node_modules/" not in path
        and not path.startswith(f"{PACKAGES_FOLDER}/")
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
            raise DataError(f"{entry.output.file}: expected output must be a text file of the project") from None
        output = ExpectedOutput(text=text, **entry.output.model_dump(exclude={"file"}))
    bundle = entry.bundle or _runners_bundle(snapshot, entry.command)
    check = TestsCheck(
        command=_words(entry.command),
        prepare=_words(entry.prepare) if entry.prepare else (),
        directory=entry.directory,
        environment=without_installed_tests(
            snapshot, entry.command, with_libraries(snapshot, with_python_path(snapshot, entry.environment, bundle))
        ),
        needs=entry.needs,
        junit=entry.junit,
        minimum_tests=entry.minimum_tests,
        output=output,
        bundle=bundle,
    )
    return NamedCheck(entry.name, check, entry.files, entry.limit, said_by, entry.prepare_files)


def _runners_bundle(snapshot: Snapshot, command: str) -> str | None:
    """Return the bundle of the module that a command starts, if it is built and the module is not importable."""
    rows = (row for row in known_commands() if row.python_module and f"-m {row.python_module}" in command)
    needed = next(((row.python_module, row.bundle) for row in rows if row.python_module and row.bundle), None)
    if needed is None or is_importable(snapshot, needed[0]):
        return None
    return needed[1] if installed_bundle(needed[1]) is not None else None


def _words(command: str) -> tuple[str, ...]:
    """Return a command line as program and arguments; a call of ``/bin/sh`` if it uses shell syntax."""
    if not command.strip():
        raise DataError("an empty test command")
    try:
        plain = None if _SHELL.search(command) else tuple(shlex.split(command))
    except ValueError:
        plain = None
    return plain or ("/bin/sh", "-c", command)
