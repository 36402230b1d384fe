"""Rules for the files of a project, read from ``projects.toml``."""

from __future__ import annotations

from functools import cache

from caretbench.files import read_packaged_toml
from caretbench.problem import Row


class SnapshotRules(Row):
    """Files that are no part of the project."""

    ignored: tuple[str, ...]


class FileRules(Row):
    """Files that are not read as the project's own code."""

    folders: frozenset[str]
    patterns: tuple[str, ...]
    most_lines: int
    longest_line: int


class ProjectRules(Row):
    """All rules."""

    snapshot: SnapshotRules
    files: FileRules


@cache
def project_rules() -> ProjectRules:
    """Return the rules."""
    return ProjectRules.model_validate(read_packaged_toml("caretbench.projects", "projects.toml"))
