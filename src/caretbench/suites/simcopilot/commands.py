"""Which command tests a project: the user's word, the project's ``caretbench.toml``, or what its files tell."""

from __future__ import annotations

import fnmatch
import re
import shlex
import shutil
import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from caretbench.errors import DataError
from caretbench.execution.snapshots import Snapshot
from caretbench.problem import ExpectedOutput, TestsCheck
from caretbench.suites.simcopilot.settings import CheckSettings

_CLASS = re.compile(r"\{class:([^}]+)\}")
_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]#~{}!\n]|^\s*\w+=")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)


class Command(BaseModel):
    """One row of ``commands.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    languages: tuple[str, ...]
    files: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    holds: Mapping[str, str] = {}
    target: str | None = None
    tools: tuple[str, ...] = ()
    module: str | None = None
    """A Python module that the command needs from a bundle or the project's setup."""
    command: str
    prepare: str | None = None
    environment: Mapping[str, str] = {}
    junit: tuple[str, ...] = ()
    minimum_tests: int = 0


@cache
def commands() -> tuple[Command, ...]:
    """The table, in the order in which it is tried."""
    text = resources.files("caretbench.suites.simcopilot").joinpath("commands.toml").read_text("utf-8")
    return tuple(Command.model_validate(row) for row in tomllib.loads(text)["commands"])


class NamedCheck(NamedTuple):
    """A check and the files whose tasks it decides; ``said_by`` is where it comes from, in words."""

    name: str
    check: TestsCheck
    files: tuple[str, ...]
    limit: int | None
    said_by: str

    def decides(self, path: str) -> bool:
        """Whether it names this file."""
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self.files)


def checks_of(
    snapshot: Snapshot,
    languages: Collection[str],
    *,
    given: CheckSettings | None = None,
    settings: Sequence[CheckSettings] = (),
) -> tuple[NamedCheck, ...]:
    """The checks of a project.

    Args:
        snapshot: The project.
        languages: What is mined.
        given: The user's word, which goes before all else.
        settings: The project's own word.

    Raises:
        DataError: nothing tells how the project is tested, or expected output is missing.
    """
    if given is not None:
        return (_project_check(snapshot, given, "--test-command"),)
    if settings:
        return tuple(_project_check(snapshot, entry, "caretbench.toml") for entry in settings)
    found, lacking = detect(snapshot, languages)
    if found is None:
        hint = f" ({lacking})" if lacking else ""
        raise DataError(
            f"no tests found{hint}: say how the project is tested with --test-command, or in its caretbench.toml"
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
        command = _CLASS.sub(lambda match: _class_name(snapshot, match[1]), row.command)
        return CheckSettings(
            name=row.name,
            command=command,
            prepare=row.prepare,
            environment=row.environment,
            junit=row.junit,
            minimum_tests=row.minimum_tests,
        ), lacking
    return None, lacking


def _fits(snapshot: Snapshot, row: Command) -> bool:
    if not all(name in snapshot.entries for name in row.files):
        return False
    if row.any and not any(_matching(snapshot, pattern) for pattern in row.any):
        return False
    for name, pattern in row.holds.items():
        if not re.search(pattern, snapshot.read(name).decode("utf-8", "replace")):
            return False
    if row.target is not None:
        path = next(found for pattern in row.any for found in _matching(snapshot, pattern))
        text = snapshot.read(path).decode("utf-8", "replace")
        return re.search(rf"^{re.escape(row.target)}\s*:", text, re.MULTILINE) is not None
    return True


def _matching(snapshot: Snapshot, pattern: str) -> list[str]:
    """Files by pattern: a star stays within a folder, two stars stand for any number of folders."""
    parts = [
        ".*" if part == "**/" else "[^/]*" if part == "*" else re.escape(part)
        for part in re.split(r"(\*\*/|\*)", pattern)
    ]
    compiled = re.compile("".join(parts))
    return sorted(
        path
        for path, entry in snapshot.entries.items()
        if entry.kind == "file" and compiled.fullmatch(path) and "node_modules/" not in path
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
        output = ExpectedOutput(
            text=text,
            comparison=entry.output.comparison,
            relative=entry.output.relative,
            absolute=entry.output.absolute,
        )
    check = TestsCheck(
        command=_words(entry.command),
        prepare=_words(entry.prepare) if entry.prepare else (),
        directory=entry.directory,
        environment=entry.environment,
        needs=entry.needs,
        junit=entry.junit,
        minimum_tests=entry.minimum_tests,
        output=output,
        bundle=entry.bundle,
    )
    return NamedCheck(entry.name, check, entry.files, entry.limit, said_by)


def _words(command: str) -> tuple[str, ...]:
    """A command line as program and arguments; by the shell where only a shell understands it."""
    if not command.strip():
        raise DataError("an empty test command")
    try:
        plain = None if _SHELL.search(command) else tuple(shlex.split(command))
    except ValueError:
        plain = None
    return plain or ("/bin/sh", "-c", command)
