"""Build of tasks from one project, or from several, each into its own folder."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from caretbench.build.build_models import NO_MODELS, BuildModels
from caretbench.build.package_index.configured_indexes import configured_index_policy
from caretbench.build.package_index.index_policy import IndexPolicy
from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.build.project_sources import find_sources, source_limits
from caretbench.build.project_tasks.added_tests import project_with_tests
from caretbench.build.project_tasks.block_miner import ProjectOptions
from caretbench.build.project_tasks.build_options import named_values
from caretbench.build.project_tasks.build_types import BuiltTasks, build_result
from caretbench.build.project_tasks.setup_agent import AGENT_ROLE, SetupAgent
from caretbench.build.project_tasks.source_builds import BuildClock, build_sources, crawl_result, sources_result
from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import TaskFolder, folder_lock
from caretbench.build.project_tasks.tester.project_tester import TESTER_ROLE, ProjectTester
from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import BoundedExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.progress import Progress
from caretbench.suites.suite_types import BuildResult


def build_projects(
    sources: Sequence[str],
    output: Path,
    values: Mapping[str, Any],
    options: ProjectOptions,
    progress: Progress,
    models: BuildModels = NO_MODELS,
) -> BuildResult:
    """Build a folder of tasks from one project, or a folder of such folders from several, or resume a build.

    Args:
        sources: Projects, in addition to those of a file or a crawl.
        output: The folder of tasks, or of such folders.
        values: Values of the command's options by name.
        options: The build's options.
        progress: Receiver of steps and notes.
        models: Models of the build; the one in the role ``agent`` repairs set-ups, ``tester`` writes tests.

    Raises:
        ValueError: an option is wrong, or there is no project.
        DataError: the project or the folder cannot be used; of several projects that is a row.
    """
    found = find_sources(sources, output, values, options.languages, progress)
    if values["crawl_only"]:
        return crawl_result(found.specs, output, found.refused)
    folders = ProjectFolders(limits=source_limits(values))
    candidates_only = values["candidates_only"]

    def chosen(project: ProjectFolder) -> ProjectOptions:
        return options.for_project(project, folders, SnapshotStore())

    if not found.several:
        started = time.monotonic()
        [spec] = found.specs.values()
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
        several = build_sources(found.specs, output, folders, build_one, progress, max_s=60 * values["source_minutes"])
    return sources_result(options.suite, several, output, found.refused)


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
    if AGENT_ROLE in models.roles:
        tries, max_s = values["agent_tries"], 60.0 * values["agent_minutes"]
        builder.repair = SetupAgent(models, tries=tries, max_s=max_s, note=clock.note)
    if TESTER_ROLE in models.roles:
        tries, max_s = values["tester_tries"], 60.0 * values["tester_minutes"]
        builder.tester = ProjectTester(models, tries, max_s, clock.note, clock)
    try:
        with project_with_tests(root, values["tests"]) as place, _named_in_errors(place, project):
            builder.added_tests = values["tests"].resolve().name if values["tests"] is not None else ""
            return builder.build(place, TaskFolder(output), options)
    finally:
        clock.cpu_s = engine.cpu_s
        engine.close()


@contextmanager
def _named_in_errors(place: Path, project: ProjectFolder) -> Iterator[None]:
    """Name the project as the user does in errors, not the folder in the cache or the copy that is built."""
    shown = project.path if project.kind == "folder" else f"{project.origin} {project.revision}".strip()
    try:
        yield
    except DataError as error:
        error.args = (str(error).replace(str(place), shown),)
        raise


def _unstated_settings(project: ProjectFolder) -> Mapping[str, str]:
    """Return name, source, revision and licence of a fetched project, for settings that it does not state itself."""
    if project.kind == "folder":
        return {}
    values = {"name": project.name, "source": project.origin, "revision": project.revision, "licence": project.licence}
    return {name: value for name, value in values.items() if value}


def _indexes(values: Sequence[str] | None, project: Path) -> IndexPolicy:
    hosts = [one for one in values or () if one.startswith(("https://", "http://"))]
    named = [one for one in values or () if one not in hosts]
    return configured_index_policy(named_values("--index [NAME=]ADDRESS", named), tuple(hosts), project=project)
