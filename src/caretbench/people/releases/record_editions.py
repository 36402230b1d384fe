"""Editions of the record as releases: differences between two, and the layout for a data set hub."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.files import read_rows, write_atomically, write_rows
from caretbench.people.releases.difference import SetDifference
from caretbench.people.releases.release_files import CHECKSUMS_FILE, CROISSANT_FILE, croissant_of, file_hashes
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

_CARD: Final = "README.md"
_DATASHEET: Final = "DATASHEET.md"
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
    before = {task.id: task for task in first.tasks}
    after = {task.id: task for task in second.tasks}
    blocks = {_block(task): name for name, task in after.items() if name not in before}
    renamed = {
        name: blocks[_block(task)] for name, task in before.items() if name not in after and _block(task) in blocks
    }
    common = before.keys() & after.keys()
    changed = {name: parts for name in before if name in common and (parts := _changed(before[name], after[name]))}
    return SetDifference(
        same=len(common) - len(changed),
        added=tuple(name for name in after if name not in before and name not in renamed.values()),
        removed=tuple(name for name in before if name not in after and name not in renamed),
        renamed=renamed,
        changed=changed,
        facts={"version": (first.name, second.name)} if first.name != second.name else {},
    )


def _block(task: RecordTask) -> tuple[str, str, str, object]:
    return task.project, task.path, task.block, task.labels.get("scenario")


def _changed(old: RecordTask, new: RecordTask) -> tuple[str, ...]:
    return tuple(
        part for part, names in _PARTS.items() if any(getattr(old, name) != getattr(new, name) for name in names)
    )


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
    write_atomically(output / _CARD, "\n".join(_card(edition, recipe, tables)) + "\n")
    write_atomically(output / _DATASHEET, "\n".join(_datasheet(edition, recipe, tables)) + "\n")
    rows = [json.loads(line) for line in (output / "data" / TASKS_FILE).read_text("utf-8").split("\n") if line]
    facts = (f"CaretBench record {edition.name}", f"{tables[0].title}. Canary: {recipe.canary}", edition.name, "MIT",
             "record")  # fmt: skip
    metadata = croissant_of(facts, f"data/{TASKS_FILE}", rows, file_hashes(output))
    write_atomically(output / CROISSANT_FILE, json.dumps(metadata, indent=2, ensure_ascii=False) + "\n")
    hashes = file_hashes(output)
    # Two blanks between hash and path: the form that `sha256sum -c` reads.
    write_atomically(output / CHECKSUMS_FILE, "".join(f"{digest}  {path}\n" for path, digest in hashes.items()))
    return tables[0].title, f"{output}: {len(hashes)} files, no text of a project"


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
    held = sum(one.held_out for one in recipe.projects)
    languages = ", ".join(sorted({one.language for one in edition.projects.values() if one.snapshot}))
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
    for one in recipe.projects:
        yield f"* {one.name}: {one.why}. {edition.projects[one.name].reason if one.name in edition.projects else ''}"
    yield f"\nCanary: {recipe.canary}"


def _markdown(table: Table) -> Iterator[str]:
    yield f"{table.title}\n"
    yield f"| {' | '.join(table.columns)} |"
    yield f"|{' --- |' * len(table.columns)}"
    for row in table.rows:
        yield f"| {' | '.join(row)} |"
    yield ""
