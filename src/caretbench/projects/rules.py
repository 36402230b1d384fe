"""Rules for the selection of a project's files, read from ``projects.toml``."""

from __future__ import annotations

from functools import cache

from caretbench.files import read_packaged_toml
from caretbench.problem import Row


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
