"""Static analysis of a project, from which problems are made, and the copy of its files in a folder of tasks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from caretbench.build.projects.language_tables import project_languages, project_tables
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.languages import get_language
from caretbench.projects.project import StoredProject, line_count, project_sources
from caretbench.syntax import is_test_path
from caretbench.syntax.analysis import ProjectAnalysis, analyse


@dataclass(frozen=True)
class AnalysedProject:
    """Analysis of a project's files in some languages, with the files to mine, and skipped files with reasons."""

    analysis: ProjectAnalysis
    mined: Mapping[str, tuple[str, ...]]
    """Sorted paths of the files to mine, by language."""
    skipped: Mapping[str, str]
    line_counts: Mapping[str, int]
    """Number of lines of the files to mine, by language."""


def chosen_languages(project: StoredProject, chosen: Collection[str]) -> tuple[str, ...]:
    """Return the languages to mine: ``chosen``, or all of the project.

    Raises:
        DataError: a language cannot be mined, or the project has none.
    """
    tables = project_tables()
    names = tuple(dict.fromkeys(get_language(name).name for name in chosen)) or project_languages(project)
    for name in names:
        if name not in tables:
            raise DataError(f"{name} is not mined; known: {', '.join(tables)}")
    if not names:
        raise DataError(f"no file in the project of a language that is mined ({', '.join(tables)})")
    return names


def analyse_project(
    project: StoredProject, languages: Collection[str], exclude: Collection[str] = (), *, max_lines: int | None = None
) -> AnalysedProject:
    """Return the analysis of a project's files in some languages, including test files.

    Files that match ``exclude`` or have more than ``max_lines`` lines are not mined.

    Raises:
        DataError: there is no file in these languages.
    """
    sources, passed_over = project_sources(project, languages, exclude, max_lines=max_lines)
    if not sources and not passed_over:
        raise DataError(f"no file of {' or '.join(sorted(languages))} in the project")
    analysis = analyse(sources)
    mined: dict[str, list[str]] = {language: [] for language in languages}
    lines = dict.fromkeys(languages, 0)
    for source in sources:
        if is_test_path(source.path, source.language):
            continue
        faults = analysis[source.path].faults
        if faults and not get_language(source.language).preprocessed:
            passed_over[source.path] = f"does not parse: line {faults[0].line}"
            continue
        mined[source.language].append(source.path)
        lines[source.language] += line_count(source)
    by_language = {name: tuple(paths) for name, paths in mined.items()}
    return AnalysedProject(analysis, by_language, dict(sorted(passed_over.items())), lines)


def export_snapshot(snapshot: Snapshot, folder: Path) -> None:
    """Write a snapshot as plain files to ``folder``, atomically; do nothing if the folder exists."""
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{folder.name}.*"):  # by a build that was killed here
        shutil.rmtree(left, ignore_errors=True)
    aside = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.copytree(snapshot.tree, aside, symlinks=True)
    try:
        aside.rename(folder)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        if not folder.is_dir():
            raise
