"""Builder of the record: editions from recipes, and their projects fetched into the cache."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from caretbench.build import load_builder, register_builder
from caretbench.build.build_models import BuildJob
from caretbench.build.builder import Builder
from caretbench.build.project_tasks.task_folder import TaskFolder, folder_lock
from caretbench.build.projects.build_steps import BoundedExecutor
from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.errors import CaretBenchError, DataError, MachineError, UsageError
from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.extraction.policies import get_policy
from caretbench.files import read_rows, write_rows
from caretbench.grouping import grouped
from caretbench.options import Option, StringList
from caretbench.progress import FolderProgress, Progress
from caretbench.suites.record.build.figures import edition_tables
from caretbench.suites.record.build.instructed import instructed_tasks
from caretbench.suites.record.build.layout import laid_out_project, lay_previous, lay_project, place_project
from caretbench.suites.record.build.recipe import EditionRecipe, LockedPackage, RecipeProject, read_recipe, resolve
from caretbench.suites.record.build.renaming import LANGUAGES
from caretbench.suites.record.build.selection import chosen_problems, task_rows
from caretbench.suites.record.build.siblings import Siblings, renamed_siblings
from caretbench.suites.record.build.verification import verify_edition
from caretbench.suites.record.edition import (
    LOCKS_FILE,
    PROJECTS_FILE,
    RECIPE_FILE,
    TASKS_FILE,
    EditionProject,
    RecordTask,
    edition_file,
    read_edition,
    record_cache,
)
from caretbench.suites.suite_types import BuildResult, Table
from caretbench.text_tables import align_columns

_BUILDS: Final = "builds"
"""Folder next to an edition's files with the builds of its projects; they contain texts."""
_TEST_BUDGET_S: Final = 10.0
"""So long that all tests that reach a block decide: a choice by time might differ between two builds."""

OPTIONS: Final = (
    Option("only", StringList, "Project of the recipe to build; may be repeated. Default: all.", "build",
           metavar="NAME"),
    Option("mirror", str, "Folder or address with archives and bare repositories, which is asked first.", "build",
           metavar="FOLDER|URL"),
    Option("jobs", int, "Maximum number of commands that run at the same time. Default: the number of processors.",
           "build", flags=("--jobs", "-j"), minimum=1),
)  # fmt: skip
"""Options of ``caretbench build record``."""


class BuiltProject(NamedTuple):
    """One project of a build, with its rows and the time that it took."""

    project: EditionProject
    tasks: tuple[RecordTask, ...] = ()
    wall_s: float = 0.0


def locked_packages(recipe: EditionRecipe, folders: Sequence[Path]) -> dict[str, tuple[LockedPackage, ...]]:
    """Return the packages of each project, from the first lock that has any for it; the others are resolved.

    Raises:
        DataError: a lock is malformed, or requirements cannot be resolved.
    """
    locks: dict[str, list[LockedPackage]] = {}
    for folder in folders:
        path = edition_file(folder, LOCKS_FILE)
        rows = list(read_rows(path, LockedPackage)) if path.is_file() else []
        locks = grouped((row.project, row) for row in rows) | locks
    return {
        project.name: tuple(locks.get(project.name, ())) or resolve(project.name, project.language, project.packages)
        for project in recipe.projects
        if project.packages
    }


@register_builder
class RecordBuilder(Builder):
    """Builder of the record; see :class:`caretbench.build.builder.Builder`."""

    name = "record"
    about = "the edition: a recipe with projects, RECIPE.toml"
    options = OPTIONS
    pull_about = "the projects of an edition"
    pull_use = "caretbench run record"
    has_editions = True

    def build(self, job: BuildJob) -> BuildResult:
        """Make an edition of the record from a recipe of projects with tests.

        Each project is laid out from its archive and its locked packages, mined and validated as by build codevbench,
        and a balanced part of its valid problems becomes rows without texts. A project that cannot be built ends as a
        row with its reason. Run the same command again to resume.

        Examples:
          caretbench build record recipe.toml -o my-record
          caretbench build record recipe.toml --only toolz -o one
        """
        sources, output, options, progress, _ = job
        if len(sources) != 1:
            raise UsageError("build record: name one recipe, RECIPE.toml")
        path = Path(sources[0])
        recipe = read_recipe(path)
        only = options["only"] or [project.name for project in recipe.projects]
        if unknown := sorted({*only} - {project.name for project in recipe.projects}):
            raise UsageError(f"--only {unknown[0]}: {path} has no such project")
        with folder_lock(output):
            chosen = tuple(project for project in recipe.projects if project.name in only)
            recipe = recipe.model_copy(update={"projects": chosen})
            locks = locked_packages(recipe, (output, path.parent))
            write_rows(output / LOCKS_FILE, [row for name in sorted(locks) for row in locks[name]])
            if path.resolve() != (output / RECIPE_FILE).resolve():
                shutil.copyfile(path, output / RECIPE_FILE)
            progress("projects", 0, len(recipe.projects))
            built = []
            for entry in recipe.projects:
                built.append(_built(recipe, entry, locks.get(entry.name, ()), output, options, progress))
                progress("projects", 1, None)
            write_rows(output / PROJECTS_FILE, [done.project for done in built])
            write_rows(output / TASKS_FILE, [task for done in built for task in done.tasks])
        return _result(built, output)

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the projects of the newest edition and return the folder of all."""
        if models:
            raise UsageError(f"--model {models[0]}: the record has no recorded completions")
        self.pull_edition("starter", None if source is None else str(source), progress, lambda _line: None)
        return record_cache()

    def pull_edition(
        self, edition: str, mirror: str | None, progress: Callable[[int, int], None], note: Callable[[str], None]
    ) -> tuple[int, int]:
        """Fetch the projects of an edition; see :meth:`caretbench.build.builder.Builder.pull_edition`."""
        facts = read_edition(edition)
        recipe = read_recipe(facts.folder / RECIPE_FILE)
        locks = locked_packages(recipe, (facts.folder,))
        built = {name for name, project in facts.projects.items() if project.snapshot}
        entries = [entry for entry in recipe.projects if entry.name in built]
        failed = []
        for entry in entries:
            try:
                renamed = {task.path for task in facts.tasks if task.renamed and task.project == entry.name}
                place_project(facts.projects[entry.name], entry, locks.get(entry.name, ()), renamed, mirror)
            except DataError as error:
                failed.append(str(error))
                note(str(error))
            progress(1, len(entries))
        if failed and len(failed) == len(entries):
            raise DataError(failed[0])
        return len(entries) - len(failed), len(entries)

    def verify(
        self, edition: str, sample: int, seed: int, executor: Callable[[], Dispatcher], progress: Progress
    ) -> BuildResult:
        """Verify an edition; see :meth:`caretbench.build.builder.Builder.verify`."""
        return verify_edition(read_edition(edition), sample, seed, lambda: executor().projects, progress)

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return the yield of each project and the power of an edition, whether its projects are here or not."""
        return edition_tables(read_edition(source))

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> WorkspaceGate:
        """Return the gate for problems that tests of a project check."""
        chosen = get_policy(self.suite.rules("default").policy)
        return WorkspaceGate(executor().projects, chosen, mutates_values=True, progress=progress)


def _built(
    recipe: EditionRecipe,
    entry: RecipeProject,
    packages: Sequence[LockedPackage],
    output: Path,
    options: Mapping[str, Any],
    progress: Progress,
) -> BuiltProject:
    """Return one built project; one that cannot be built has its reason."""
    started = time.monotonic()
    project = EditionProject(
        name=entry.name, language=entry.language, layout=entry.layout(tuple(packages)), source=entry.source,
        date=entry.date, licence=entry.licence,
    )  # fmt: skip
    if entry.held_out:
        return BuiltProject(project.model_copy(update={"reason": "held out"}))
    try:
        root = lay_project(entry, packages, options["mirror"])
        previous = lay_previous(entry, options["mirror"])
        folder = TaskFolder(output / _BUILDS / entry.name)
        values = _codev_options(recipe, entry, previous, options)
        steps = FolderProgress(progress, entry.name)
        load_builder("codevbench").build(BuildJob([str(root)], folder.path, values, steps))
        done = _rows_of(recipe, entry, project, folder, root, options["jobs"], steps)
    # No sandbox can be built: all other projects would fail the same way.
    except MachineError:
        raise
    except (CaretBenchError, OSError) as error:
        progress.note(f"{entry.name}: {error}")
        return BuiltProject(project.model_copy(update={"reason": str(error)}), wall_s=time.monotonic() - started)
    return done._replace(wall_s=time.monotonic() - started)


def _codev_options(
    recipe: EditionRecipe, entry: RecipeProject, previous: Path | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the option values with which Codev-Bench's builder mines a project."""
    return {option.name: option.default for option in load_builder("codevbench").options} | {
        "language": [entry.language],
        "exclude_test": list(entry.exclude_tests),
        "weights": recipe.weights,
        "max_candidates": entry.spans or recipe.spans,
        "seed": recipe.seed,
        "test_budget": _TEST_BUDGET_S,
        "new_since": None if previous is None else str(previous),
        "jobs": options["jobs"],
    }


def _rows_of(
    recipe: EditionRecipe,
    entry: RecipeProject,
    project: EditionProject,
    folder: TaskFolder,
    root: Path,
    jobs: int | None,
    progress: Progress,
) -> BuiltProject:
    """Return a project with the rows of its chosen problems, and of their siblings with changed names."""
    stored = laid_out_project(root)
    rows = task_rows(project.name, chosen_problems(folder.problems(), recipe), stored.snapshot)
    verdicts: Counter[str] = Counter(row.verdict for row in folder.validity().values())
    update = {"checks": rows.checks, "tests": rows.tests, "verdicts": dict(sorted(verdicts.items()))}
    if not rows.tasks:
        return BuiltProject(project.model_copy(update={**update, "reason": "no valid problem"}))
    project = project.model_copy(update={**update, "snapshot": stored.snapshot.id})
    engine = BoundedExecutor(jobs, workspace_runner=WorkspaceRunner(), check=lambda: None)
    try:
        # humanize's took two minutes, in which the last line said "candidates: 40 of 40".
        progress("siblings with changed names, and instructions", 0, None)
        renamed = entry.language in LANGUAGES
        siblings = renamed_siblings(recipe, entry, project, rows.tasks, root, engine) if renamed else Siblings()
        asks = "instructions" in recipe.kinds
        instructed = instructed_tasks(recipe, project, rows.tasks, stored.snapshot, engine) if asks else ()
    finally:
        engine.close()
    project = project.model_copy(update={"renamed": siblings.snapshot})
    return BuiltProject(project, (*rows.tasks, *siblings.tasks, *instructed))


def _result(built: Sequence[BuiltProject], output: Path) -> BuildResult:
    total = sum(len(tasks) for _, tasks, _ in built)
    groups = sum(len({task.group for task in tasks}) for _, tasks, _ in built)
    rows = [
        [project.name, project.language, str(len(tasks)), f"{wall_s / 60:.1f}", project.reason]
        for project, tasks, wall_s in built
    ]
    last = f"\n{output}: {total} problems in {groups} overlap groups; caretbench run record --data {output} -m …"
    return BuildResult(
        lines=(*align_columns(rows, ("project", "language", "problems", "minutes", "reason")), last),
        numbers={"problems": total, "groups": groups, "projects": [done.project.name for done in built if done.tasks]},
        usable=bool(total),
    )
