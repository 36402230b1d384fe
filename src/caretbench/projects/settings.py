"""Settings of a project (``caretbench.toml``): test commands, files to mine; rules for files (``projects.toml``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, JsonValue

from caretbench.files import read_packaged_toml, read_toml, validated
from caretbench.problem import Provenance, Row


class SnapshotRules(Row):
    """Patterns of files that are not in the snapshot; build files that make a folder of such a name a part of it."""

    ignored: tuple[str, ...]
    source_files: tuple[str, ...]


class FileRules(Row):
    """Files that are not mined: names of folders, patterns, and limits on lines and their length in bytes."""

    folders: frozenset[str]
    patterns: tuple[str, ...]
    max_lines: int
    max_line_bytes: int


class ProjectRules(Row):
    """All rules for a project's files."""

    snapshot: SnapshotRules
    files: FileRules


@cache
def project_rules() -> ProjectRules:
    """Return the rules."""
    return ProjectRules.model_validate(read_packaged_toml("caretbench.projects", "projects.toml"))


SETTINGS_FILE: Final = "caretbench.toml"
Comparison = Literal["exact", "whitespace", "last_line", "numeric", "contest"]


class OutputSettings(Row):
    """Expected output of a command: the text of ``file``; see :class:`~caretbench.problem.ExpectedOutput`."""

    file: str
    comparison: Comparison = "exact"
    relative: float = Field(default=1e-6, ge=0)
    absolute: float = Field(default=1e-9, ge=0)


class CheckSettings(Row):
    """One check of a project: a test command (a line for ``/bin/sh``), and the files whose tasks it tests.

    ``files`` are patterns of paths (``*``, ``?``, ``[…]``; ``*`` also matches ``/``). A file belongs to the first check
    with a matching pattern.
    """

    name: str = "tests"
    command: str
    files: tuple[str, ...] = ("*",)
    prepare: str | None = None
    """Optional command that saves time, such as a full build: it runs once on the unchanged project, and every test
    run starts from its files. It must not change verdicts."""
    prepare_files: tuple[str, ...] = ("*",)
    """Patterns of the files for whose changes the preparation is valid, such as sources, but not headers."""
    directory: str = "."
    junit: tuple[str, ...] = ()
    minimum_tests: int = Field(default=0, ge=0)
    output: OutputSettings | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    needs: tuple[str, ...] = ()
    bundle: str | None = None
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of tasks of this check; by default the build's."""


class ProjectSettings(Row):
    """A project's own settings for mining."""

    name: str | None = None
    licence: str | None = None
    source: str | None = None
    revision: str | None = None
    date: str | None = None
    exclude: tuple[str, ...] = ()
    """Patterns of paths that are not mined."""
    most_lines: int | None = Field(default=None, ge=1)
    """Maximum number of lines of mined files; by default that of ``projects.toml``."""
    ignore: tuple[str, ...] = ()
    """Patterns of names or paths that are not part of the snapshot."""
    setup: str | None = None
    checks: tuple[CheckSettings, ...] = ()
    bench: Mapping[str, JsonValue] = Field(default_factory=dict, exclude=True)
    """Settings of ``caretbench bench``; no part of a build."""

    def provenance(self, name: str) -> Provenance:
        """Return the provenance of the project's tasks; ``name`` is the project's name."""
        return Provenance(source=self.source or name, revision=self.revision, licence=self.licence, date=self.date)


def read_settings(root: Path) -> ProjectSettings:
    """Return the settings of a project; the defaults if it has no such file.

    Raises:
        DataError: the file is malformed.
    """
    path = root / SETTINGS_FILE
    return validated(ProjectSettings, read_toml(path), path) if path.exists() else ProjectSettings()
