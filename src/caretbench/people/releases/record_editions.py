"""Editions of the record as releases: differences between two, and the layout for a data set hub."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.files import read_rows, write_atomically, write_rows
from caretbench.people.releases.difference import ProblemVersion, SetDifference, version_difference
from caretbench.people.releases.release_files import write_checksums, write_croissant
from caretbench.suites.record.build.figures import edition_tables
from caretbench.suites.record.build.recipe import EditionRecipe, LockedPackage, read_recipe
from caretbench.suites.record.edition import (
    LOCKS_FILE,
    PROJECTS_FILE,
    RECIPE_FILE,
    TASKS_FILE,
    Edition,
    RecordTask,
    edition_file,
    edition_folder,
    read_edition,
)
from caretbench.suites.suite_types import Table

_PARTS: Final = {
    "file": ("path", "sha256", "start", "end", "suffix", "newline"),
    "block": ("block",),
    "checks": ("check", "tests", "minimum_tests", "reference_s"),
    "labels": ("labels",),
    "group": ("group",),
}


def is_edition(source: str) -> bool:
    """Return whether a source is an edition of the record, by name or folder."""
    try:
        edition_folder(source)
    except DataError:
        return False
    return True


def edition_difference(old: str, new: str) -> SetDifference:
    """Return the differences between two editions; a block with another id is renamed.

    Raises:
        DataError: one is no edition, or malformed.
    """
    first, second = read_edition(old), read_edition(new)
    before, after = ({task.id: _version(task) for task in edition.tasks} for edition in (first, second))
    return version_difference(before, after, {"version": (first.name, second.name)})


def _version(task: RecordTask) -> ProblemVersion:
    parts = {part: tuple(getattr(task, name) for name in names) for part, names in _PARTS.items()}
    return ProblemVersion((task.project, task.path, task.block, task.labels.get("scenario")), parts)


def export_edition(source: str, output: Path) -> tuple[str, ...]:
    """Write an edition in the layout of a hub, and return the lines about it; two exports have the same bytes.

    Raises:
        DataError: there is no such edition, or the folder is not empty.
    """
    edition = read_edition(source)
    recipe = read_recipe(edition.folder / RECIPE_FILE)
    if output.exists() and any(output.iterdir()):
        raise DataError(f"{output}: not empty; give a new folder")
    (output / "data").mkdir(parents=True)
    write_rows(output / "data" / TASKS_FILE, edition.tasks)
    write_rows(output / "data" / PROJECTS_FILE, edition.projects.values())
    write_rows(output / "data" / LOCKS_FILE, read_rows(edition_file(edition.folder, LOCKS_FILE), LockedPackage))
    shutil.copyfile(edition.folder / RECIPE_FILE, output / RECIPE_FILE)
    tables = edition_tables(edition)
    write_atomically(output / "README.md", "\n".join(_card(edition, recipe, tables)) + "\n")
    write_atomically(output / "DATASHEET.md", "\n".join(_datasheet(edition, recipe, tables)) + "\n")
    facts = (f"CaretBench record {edition.name}", f"{tables[0].title}. Canary: {recipe.canary}", edition.name, "MIT",
             "record")  # fmt: skip
    write_croissant(output, facts, f"data/{TASKS_FILE}")
    return tables[0].title, f"{output}: {write_checksums(output)} files, no text of a project"


def _card(edition: Edition, recipe: EditionRecipe, tables: tuple[Table, Table]) -> Iterator[str]:
    yield "---"
    yield f"pretty_name: CaretBench record {edition.name}"
    yield "license: mit"
    yield "task_categories:\n- text-generation\ntags:\n- code\n- code-completion\n- benchmark"
    yield f"configs:\n- config_name: problems\n  data_files: data/{TASKS_FILE}"
    yield f"- config_name: projects\n  data_files: data/{PROJECTS_FILE}\n---\n"
    yield f"# CaretBench record {edition.name}\n"
    yield (
        f"{tables[0].title}. A row has the place of a block in a file of a released project, hashes of both, and the "
        "tests that decide about an answer. The projects' texts are not here: `caretbench pull record` fetches the "
        "archives that the recipe names by hash, and `caretbench run record` asks a model.\n"
    )
    yield from _markdown(tables[0])
    yield from _markdown(tables[1])
    yield f"Cite as: CaretBench record, edition {edition.name}.\n\nCanary: {recipe.canary}"


def _datasheet(edition: Edition, recipe: EditionRecipe, tables: tuple[Table, Table]) -> Iterator[str]:
    held = sum(project.held_out for project in recipe.projects)
    languages = ", ".join(sorted({project.language for project in edition.projects.values() if project.snapshot}))
    yield f"# Datasheet of the CaretBench record {edition.name}\n"
    yield f"**Composition.** {tables[0].title}; {languages}. {held} projects are held out.\n"
    yield (
        f"**Collection.** The recipe pins each project by hash. At most {recipe.spans} spans of a project are drawn by "
        f"the weights `{recipe.weights}` and seed {recipe.seed}. Valid ones give at most {recipe.problems} problems, "
        f"{recipe.group_problems} of an overlap group. The gate runs each reference three times, deletes the block, "
        f"and tries wrong answers. The deciding tests fail at least {100 * recipe.kills_kept:g} % of the wrong "
        "answers that all tests fail.\n"
    )
    yield "**Licences.** Rows have no text of a project. Each project's licence is in its row; all are permissive.\n"
    yield (
        "**Age.** Each row has the day of its release. All projects are public, and most are older than most models: "
        "a model may have seen them. `caretbench memory` compares dates and changed names.\n"
    )
    yield (
        "**Maintenance.** An edition is never edited. A correction is a new one with its reasons "
        f"({edition.name}.1); `caretbench dataset diff` lists what differs.\n"
    )
    yield "**Projects and reasons**\n"
    for project in recipe.projects:
        reason = edition.projects[project.name].reason if project.name in edition.projects else ""
        yield f"* {project.name}: {project.why}. {reason}"
    yield f"\nCanary: {recipe.canary}"


def _markdown(table: Table) -> Iterator[str]:
    yield f"{table.title}\n"
    yield f"| {' | '.join(table.columns)} |"
    yield f"|{' --- |' * len(table.columns)}"
    for row in table.rows:
        yield f"| {' | '.join(row)} |"
    yield ""
