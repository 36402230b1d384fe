"""Rules for the files of a project, read from ``projects.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SnapshotRules(_Entry):
    """Files that are no part of the project."""

    ignored: tuple[str, ...]


class FileRules(_Entry):
    """Files that are not read as the project's own code."""

    folders: frozenset[str]
    patterns: tuple[str, ...]
    most_lines: int
    longest_line: int


class ProjectRules(_Entry):
    """All rules."""

    snapshot: SnapshotRules
    files: FileRules


@cache
def project_rules() -> ProjectRules:
    """The rules."""
    text = resources.files("caretbench.projects").joinpath("projects.toml").read_text("utf-8")
    return ProjectRules.model_validate(tomllib.loads(text))
