"""Options of ``caretbench build simcopilot``, and the builder that they describe."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from caretbench.errors import DataError
from caretbench.execution.sandbox.package_index.configured_indexes import configured_index_policy
from caretbench.execution.sandbox.package_index.index_policy import IndexPolicy
from caretbench.execution.workspaces.bounded_executor import BoundedExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.options import Option, StringList
from caretbench.progress import Progress
from caretbench.projects.setup.settings import CheckSettings, Comparison, OutputSettings
from caretbench.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.suites.project_sources import SOURCE_OPTIONS, find_sources, source_limits
from caretbench.suites.simcopilot.build_types import BuiltTasks, SimCopilotOptions, build_result
from caretbench.suites.simcopilot.mining.tasks import MODES, TaskSampling
from caretbench.suites.simcopilot.task_builder import TaskBuilder
from caretbench.suites.simcopilot.task_folder import TaskFolder, folder_lock
from caretbench.suites.source_builds import BuildClock, build_sources, crawl_result, sources_result
from caretbench.suites.suite_types import BuildResult

_PER_1000: Final = 30
"""Default number of candidates for each 1,000 lines that the tests reach."""

_PROJECT, _TESTS, _TASKS = "Project", "Tests", "Tasks"

OPTIONS: Final = (
    *SOURCE_OPTIONS,
    Option("language", StringList, "Language to mine; may be repeated. Default: all.", "build",
           flags=("--language", "-l"), help_group=_PROJECT),
    Option("exclude", StringList, "Pattern of paths that are not mined; may be repeated.", "build", metavar="PATTERN",
           help_group=_PROJECT),
    Option("setup", str, "Command that installs dependencies, run once with access to package indexes. auto: from the "
           "project's files (Python, JavaScript, TypeScript, Java).", "build", help_group=_PROJECT),
    Option("index", StringList, "Package index for --setup: a variable (PIP_INDEX_URL, npm_config_registry, …) or a "
           "host; may be repeated.", "build", metavar="[NAME=]ADDRESS", help_group=_PROJECT),
    Option("test_command", str, "Command that runs the tests. Default: from caretbench.toml or the project's files.",
           "build", help_group=_TESTS),
    Option("junit", StringList, "JUnit reports that the test command writes; may be repeated.", "build",
           metavar="GLOB", help_group=_TESTS),
    Option("expect_output", str, "File of the project with the expected output, and its comparison: exact, "
           "whitespace, last_line or numeric.", "build", metavar="FILE[:HOW]", help_group=_TESTS),
    Option("directory", str, "Working folder of the test command, in the project.", "build", default=".",
           help_group=_TESTS),
    Option("env", StringList, "Environment variable of the test command; may be repeated.", "build",
           metavar="NAME=VALUE", help_group=_TESTS),
    Option("bundle", str, "Bundle of packages that the tests need (`caretbench deps`).", "build", help_group=_TESTS),
    Option("exclude_test", StringList, "Test that does not run, by its name in the messages; may be repeated.", "build",
           metavar="NAME", help_group=_TESTS),
    Option("all_tests", bool, "Refuse a project with a test that fails. Default: such tests are excluded and listed.",
           "build", flags=("--all-tests",), default=False, help_group=_TESTS),
    Option("modes", str, "Kinds of tasks: infill, suffix_hidden, or both.", "build", default="infill,suffix_hidden",
           help_group=_TASKS),
    Option("max_candidates", int, "Maximum number of candidates of each test command; 0: all. Default: 240, or 30 per "
           "1,000 covered lines if that is more.", "build", minimum=0, metavar="N", help_group=_TASKS),
    Option("limit", int, "", "build", field="max_candidates", minimum=0, replacement="--max-candidates"),
    Option("per_file", int, "Maximum number of candidates of one file. Default: no limit.", "build", minimum=1,
           help_group=_TASKS),
    Option("seed", int, "Random seed of the choice of candidates.", "build", default=0, help_group=_TASKS),
    Option("unverified", bool, "Also keep tasks for which no failing wrong answer was found.", "build",
           flags=("--unverified",), default=False, help_group=_TASKS),
    Option("candidates_only", bool, "Stop before validation: write candidates.jsonl, and no tasks.", "build",
           flags=("--candidates-only",), default=False, help_group=_TASKS),
    Option("jobs", int, "Maximum number of commands that run at the same time. Default: the number of processors.",
           "build", flags=("--jobs", "-j"), minimum=1, help_group="Execution"),
)  # fmt: skip
"""Options of ``caretbench build simcopilot``."""


def build(sources: Sequence[str], output: Path, options: Mapping[str, Any], progress: Progress) -> BuildResult:
    """Build a folder of tasks from one project, or a folder of such folders from several, or resume a build.

    Raises:
        ValueError: an option is wrong, or there is no project.
        DataError: the project or the folder cannot be used; of several projects that is a row.
    """
    build_options = _options(options)
    found = find_sources(sources, output, options, build_options.languages, progress)
    if options["crawl_only"]:
        return crawl_result(found.specs, output, found.refused)
    folders = ProjectFolders(limits=source_limits(options))
    candidates_only = options["candidates_only"]
    if not found.several:
        started = time.monotonic()
        [spec] = found.specs.values()
        project = folders.open(spec)
        built = _build_project(project, output, options, progress, lambda: None)
        return build_result(built, output, time.monotonic() - started, candidates_only=candidates_only)

    def build_one(project: ProjectFolder, folder: Path, clock: BuildClock) -> int:
        named = project.model_copy(update={"name": folder.name})
        made = _build_project(named, folder, options, clock, clock.check)
        return len(made.candidates) if candidates_only else made.task_count

    if TaskFolder(output).manifest_path.exists():
        raise DataError(f"{output}: contains the tasks of one project; give another folder with -o")
    with folder_lock(output):
        several = build_sources(found.specs, output, folders, build_one, progress, max_s=60 * options["source_minutes"])
    return sources_result("simcopilot", several, output, found.refused)


def _build_project(
    project: ProjectFolder, output: Path, options: Mapping[str, Any], progress: Progress, check: Callable[[], None]
) -> BuiltTasks:
    root = Path(project.path)
    runner = WorkspaceRunner(index=_indexes(options["index"], root))
    engine = BoundedExecutor(options["jobs"], workspace_runner=runner, check=check)
    builder = TaskBuilder(engine, validate=not options["candidates_only"], unstated=_unstated_settings(project))
    builder.progress = progress
    try:
        return builder.build(root, TaskFolder(output), _options(options))
    finally:
        engine.close()


def _unstated_settings(project: ProjectFolder) -> Mapping[str, str]:
    """Return name, source, revision and licence of a fetched project, for settings that it does not state itself."""
    if project.kind == "folder":
        return {}
    values = {"name": project.name, "source": project.origin, "revision": project.revision, "licence": project.licence}
    return {name: value for name, value in values.items() if value}


def _options(options: Mapping[str, Any]) -> SimCopilotOptions:
    named = [mode.strip() for mode in options["modes"].split(",")]
    unknown = next((mode for mode in named if mode not in MODES), None)
    if unknown is not None:
        raise ValueError(f"--modes {unknown!r}: expected {', '.join(MODES)}")
    limit = options["max_candidates"]
    return SimCopilotOptions(
        languages=tuple(options["language"] or ()),
        sampling=TaskSampling(
            tuple(mode for mode in MODES if mode in named),
            TaskSampling.limit if limit is None else limit or None,
            options["per_file"],
            options["seed"],
            _PER_1000 if limit is None else 0,
        ),
        check=_check(options),
        setup=options["setup"],
        exclude=tuple(options["exclude"] or ()),
        unverified=options["unverified"],
        exclude_tests=tuple(options["exclude_test"] or ()),
        all_tests=options["all_tests"],
    )


def _check(options: Mapping[str, Any]) -> CheckSettings | None:
    command, junit, expected = options["test_command"], options["junit"], options["expect_output"]
    directory, bundle = options["directory"], options["bundle"]
    if command is None:
        if junit or expected or directory != "." or options["env"] or bundle:
            raise ValueError("--junit, --expect-output, --directory, --env and --bundle need --test-command")
        return None
    output = None
    if expected is not None:
        file, colon, how = expected.rpartition(":")
        known = get_args(Comparison)
        if colon and how not in known:
            raise ValueError(f"--expect-output {expected!r}: expected FILE[:HOW], with HOW one of {', '.join(known)}")
        output = OutputSettings.model_validate({"file": file, "comparison": how} if colon else {"file": expected})
    return CheckSettings(
        command=command,
        junit=tuple(junit or ()),
        minimum_tests=1 if junit else 0,
        output=output,
        directory=directory,
        environment=_pairs("--env NAME=VALUE", options["env"]),
        bundle=bundle,
    )


def _pairs(option: str, values: Sequence[str] | None) -> dict[str, str]:
    name, _, form = option.partition(" ")
    wrong = next((pair for pair in values or () if "=" not in pair), None)
    if wrong is not None:
        raise ValueError(f"{name} {wrong!r}: expected {form}")
    return dict(pair.partition("=")[::2] for pair in values or ())


def _indexes(values: Sequence[str] | None, project: Path) -> IndexPolicy:
    hosts = [one for one in values or () if one.startswith(("https://", "http://"))]
    named = [one for one in values or () if one not in hosts]
    return configured_index_policy(_pairs("--index [NAME=]ADDRESS", named), tuple(hosts), project=project)
