"""Build of tasks from one project, or from several, each into its own folder."""

from __future__ import annotations

import logging
import math
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from caretbench.build.build_models import AnswersMissingError, BuildJob, BuildModels
from caretbench.build.package_index.configured_indexes import configured_index_policy
from caretbench.build.package_index.index_policy import IndexPolicy
from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.build.project_sources import find_sources, source_limits
from caretbench.build.project_tasks.block_miner import ProjectOptions, named_values
from caretbench.build.project_tasks.project_preparation import project_with_tests
from caretbench.build.project_tasks.setup_agent import AGENT_ROLE, SetupAgent
from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import BuiltTasks, TaskFolder, build_result, folder_lock
from caretbench.build.project_tasks.tester.project_tester import TESTER_ROLE, ProjectTester
from caretbench.build.projects.build_steps import BoundedExecutor
from caretbench.build.projects.kept_results import kept_results
from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.build.sources.fetching.source_spec import SourceSpec
from caretbench.errors import CaretBenchError, DataError, MachineError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.files import write_rows
from caretbench.progress import Progress
from caretbench.suites.stored_tasks import SOURCES_FILE, SourceOutcome
from caretbench.suites.suite_types import BuildResult
from caretbench.text_tables import align_columns, counted


@dataclass
class BuildClock(Progress):
    """Time of one source, and its progress: a step after the end raises DataError.

    Args:
        progress: Receiver of steps and notes.
        max_s: Maximum time in seconds.
        source: Name of the source, in front of each step; empty if there is only one.
        cpu_s: CPU seconds of the source's commands, set by the builder.
        started: Time at which it began, in seconds of the monotonic clock.
    """

    progress: Progress
    max_s: float
    source: str = ""
    cpu_s: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise DataError if the time is over."""
        if time.monotonic() - self.started > self.max_s:
            raise DataError(f"takes longer than {self.max_s / 60:g} min (--source-minutes)")

    def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
        """Count ``added`` more of a step."""
        self.check()
        self.progress(f"{self.source}: {step}" if self.source else step, added, total, detail)

    def note(self, line: str) -> None:
        """Report one line that is not the result."""
        self.progress.note(line)


class BuiltSource(NamedTuple):
    """The end of a source, and its wall and CPU seconds in this run."""

    outcome: SourceOutcome
    wall_s: float
    cpu_s: float


BuildOne = Callable[[ProjectFolder, Path, BuildClock], int]
"""Builds the problems of a project into a folder, and returns their number; DataError has the reason for none."""


def build_sources(
    specs: Mapping[str, SourceSpec],
    output: Path,
    folders: ProjectFolders,
    build_one: BuildOne,
    progress: Progress,
    *,
    max_s: float,
) -> list[BuiltSource]:
    """Build each source into its folder below ``output``, and write ``sources.jsonl``.

    Args:
        specs: Sources by the names of their folders.
        output: The folder of all.
        folders: Fetches projects.
        build_one: Builds one project.
        progress: Receiver of steps and notes.
        max_s: Maximum time of each source in seconds.

    Raises:
        MachineError: this machine lacks something, which no other source changes.
    """
    progress("sources", 0, len(specs))
    built: list[BuiltSource] = []
    for name, spec in specs.items():
        clock = BuildClock(progress, max_s, spec.shown)
        started = time.monotonic()
        outcome = _build(name, spec, output / name, folders, build_one, clock)
        built.append(BuiltSource(outcome, time.monotonic() - started, clock.cpu_s))
        progress("sources", 1, None)
        if outcome.reason:
            progress.note(f"{outcome.source}: {outcome.reason}")
    write_rows(output / SOURCES_FILE, (source.outcome for source in built))
    return built


def _build(
    name: str, spec: SourceSpec, folder: Path, folders: ProjectFolders, build_one: BuildOne, clock: BuildClock
) -> SourceOutcome:
    outcome = SourceOutcome(source=spec.shown, folder=name)
    try:
        project = folders.open(spec)
        outcome = outcome.model_copy(update=project.model_dump(include={"origin", "revision", "sha256", "licence"}))
        clock.check()
        problems = build_one(project, folder, clock)
    # No sandbox can be built: all other sources would fail the same way, each after its fetch.
    except MachineError:
        raise
    except (AnswersMissingError, CaretBenchError, OSError) as error:
        return outcome.model_copy(update={"reason": str(error).removeprefix(f"{spec.shown}: ")})
    except Exception as error:  # an unknown project may show a mistake of this program; the others go on
        logging.getLogger("caretbench").debug("%s", spec.shown, exc_info=True)
        reason = f"a fault of CaretBench, {type(error).__name__}: {error}; --debug prints where"
        return outcome.model_copy(update={"reason": reason})
    return outcome.model_copy(update={"problems": problems, "reason": "" if problems else "no valid task"})


def sources_result(suite: str, built: Sequence[BuiltSource], output: Path) -> BuildResult:
    """Return the printed result of a build of several sources; not usable if there is no problem."""
    total = sum(outcome.problems for outcome, _, _ in built)
    good = sum(bool(outcome.problems) for outcome, _, _ in built)
    rows = [
        [outcome.source, str(outcome.problems), f"{wall_s / 60:.1f}", f"{cpu_s / 60:.1f}", outcome.reason]
        for outcome, wall_s, cpu_s in built
    ]
    return BuildResult(
        lines=(
            *align_columns(rows, ("source", "tasks", "minutes", "CPU minutes", "reason")),
            f"\n{output}: {counted(total, 'task')} of {good} of {len(built)} sources; "
            f"caretbench run {suite} --data {shlex.quote(str(output))} -m …",
        ),
        numbers={
            "tasks": total,
            "sources": [
                outcome.model_dump(mode="json", exclude={"schema_version"})
                | {"wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1)}
                for outcome, wall_s, cpu_s in built
            ],
        },
        usable=bool(total),
    )


def build_projects(job: BuildJob, options: ProjectOptions) -> BuildResult:
    """Build a folder of tasks from one project, or a folder of such folders from several, or resume a build.

    A model in the role ``agent`` repairs set-ups, one in the role ``tester`` writes tests.

    Raises:
        ValueError: an option is wrong, or there is no project.
        DataError: the project or the folder cannot be used; of several projects that is a row.
    """
    sources, output, values, progress, models = job
    listed = find_sources(sources, values)
    folders = ProjectFolders(limits=source_limits(values))
    candidates_only = values["candidates_only"]

    def chosen(project: ProjectFolder) -> ProjectOptions:
        return options.for_project(project, folders, SnapshotStore())

    if not listed.several:
        started = time.monotonic()
        [spec] = listed.specs.values()
        project = folders.open(spec)
        built = _build_project(project, output, values, chosen(project), BuildClock(progress, math.inf), models)
        return build_result(built, output, time.monotonic() - started, candidates_only=candidates_only)

    def build_one(project: ProjectFolder, folder: Path, clock: BuildClock) -> int:
        named = project.model_copy(update={"name": folder.name})
        made = _build_project(named, folder, values, chosen(project), clock, models)
        return len(made.candidates) if candidates_only else made.task_count

    if TaskFolder(output).manifest_path.exists():
        raise DataError(f"{output}: contains the tasks of one project; give another folder with -o")
    with folder_lock(output):
        several = build_sources(listed.specs, output, folders, build_one, progress, max_s=60 * values["source_minutes"])
    return sources_result(options.suite, several, output)


def _build_project(
    project: ProjectFolder,
    output: Path,
    values: Mapping[str, Any],
    options: ProjectOptions,
    clock: BuildClock,
    models: BuildModels,
) -> BuiltTasks:
    root = Path(project.path)
    runner = WorkspaceRunner(index=partial(IndexProxy, _indexes(values["index"], root)))
    engine = BoundedExecutor(values["jobs"], workspace_runner=runner, check=clock.check)
    builder = TaskBuilder(engine, validate=not values["candidates_only"], unstated=_unstated_settings(project))
    builder.progress = clock
    if values["kept"] is not None:
        builder.kept = kept_results(values["kept"], options.suite, project.name)
    if AGENT_ROLE in models.roles:
        tries, max_s = values["agent_tries"], 60.0 * values["agent_minutes"]
        builder.repair = SetupAgent(models, tries=tries, max_s=max_s, note=clock.note)
    if TESTER_ROLE in models.roles:
        tries, max_s = values["tester_tries"], 60.0 * values["tester_minutes"]
        builder.tester = ProjectTester(models, tries, max_s, clock)
    try:
        with project_with_tests(root, values["tests"]) as folder, _named_in_errors(folder, project):
            builder.added_tests = values["tests"].resolve().name if values["tests"] is not None else ""
            return builder.build(folder, TaskFolder(output), options)
    finally:
        # Also for a source that failed: its commands took the time all the same.
        clock.cpu_s = engine.cpu_s
        engine.close()


@contextmanager
def _named_in_errors(folder: Path, project: ProjectFolder) -> Iterator[None]:
    """Name the project as the user does in errors, not the folder in the cache or the copy that is built."""
    shown = project.path if project.kind == "folder" else f"{project.origin} {project.revision}".strip()
    try:
        yield
    except DataError as error:
        error.args = (str(error).replace(str(folder), shown),)
        raise


def _unstated_settings(project: ProjectFolder) -> Mapping[str, str]:
    """Return name, source, revision and licence of a fetched project, for settings that it does not state itself."""
    if project.kind == "folder":
        return {}
    values = {"name": project.name, "source": project.origin, "revision": project.revision, "licence": project.licence}
    return {name: value for name, value in values.items() if value}


def _indexes(values: Sequence[str] | None, project: Path) -> IndexPolicy:
    hosts = [value for value in values or () if value.startswith(("https://", "http://"))]
    named = [value for value in values or () if value not in hosts]
    return configured_index_policy(named_values("--index [NAME=]ADDRESS", named), tuple(hosts), project=project)
