"""Set-up of a project and runs of its tests on the unchanged project; recipes where these fail."""

from __future__ import annotations

import contextlib
import math
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.build.project_tasks.block_miner import ProjectOptions
from caretbench.build.project_tasks.setup_agent import SetupAgent
from caretbench.build.projects.agent.recipe import Recipe, RecipeStore, RepairCase
from caretbench.build.projects.agent.recipe_trial import result_log, run_recipe
from caretbench.build.projects.build_steps import BuildSteps, StoringEngine
from caretbench.build.projects.kept_results import kept_setup
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reference_runs import ReferenceRuns, no_runs, run_checks
from caretbench.build.projects.setup.command_detection import NamedCheck, detect_command, project_checks
from caretbench.build.projects.setup.project_setup import (
    AUTO,
    SetupError,
    SetupStep,
    may_help,
    next_setup,
    reaches_nothing_message,
    resolve_setup,
    run_setup,
    with_setup_hint,
)
from caretbench.build.projects.setup.python_packages import is_importable
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine, WorkspaceExecutor
from caretbench.file_locks import temporary_folder
from caretbench.progress import Progress
from caretbench.projects.answer_requests import check_request
from caretbench.projects.project import StoredProject
from caretbench.projects.runner_options import SEARCH_PATH
from caretbench.projects.settings import CheckSettings, ProjectSettings
from caretbench.redaction import redact

_SHOWN_COMMAND: Final = 72
"""Characters of a command in a line of progress."""


def added_command(snapshot: Snapshot, folder: str) -> str:
    """Return the command that runs only the tests of a folder, for a project without tests of its own."""
    runs_pytest = is_importable(snapshot, "pytest")
    return f"python3 -m pytest -q {folder}" if runs_pytest else f"python3 -m unittest discover -f -s {folder}"


def _shown_command(command: str) -> str:
    """Return the beginning of a command for a line of progress, without its passwords."""
    # An `npm install` of a foreign project takes minutes; "setup: 0 of 1" did not say what went on.
    words = " ".join(redact(command).split())
    return words if len(words) <= _SHOWN_COMMAND else f"{words[: _SHOWN_COMMAND - 1]}…"


def added_tests_fault(folder: str, command: Sequence[str], has_package: bool, tests: Collection[str]) -> str:
    """Return the reason why a command does not run the tests of a folder in the project's root; empty if it may.

    Args:
        folder: The folder.
        command: The test command.
        has_package: The folder has a file ``__init__.py``.
        tests: Tests that the command runs, by pytest's ids; empty if they are not known.
    """
    words = " ".join(command).split()
    if tests:
        runs = any(name.startswith(f"{folder}/") for name in tests)
    elif "discover" in words:
        start = next((after for before, after in pairwise(words) if before in ("-s", "--start-directory")), ".")
        runs = start.rstrip("/") == folder or (start == "." and has_package)
    else:
        runs = True
    if runs:
        return ""
    return (
        f"--tests: `{' '.join(words)}` runs no test of {folder}/, which is in the root of the copied project: name a "
        "command that runs them and the project's own with --test-command"
    )


@contextmanager
def project_with_tests(root: Path, tests: Path | None) -> Iterator[Path]:
    """Yield the project's folder, or for ``tests`` a copy of it with that folder in it, which is removed at the end.

    The project itself is not changed.

    Raises:
        DataError: ``tests`` is no folder, or the project has a file or folder of its name.
    """
    if tests is None:
        yield root
        return
    name = tests.resolve().name
    if not tests.is_dir():
        raise DataError(f"--tests {tests}: no such folder")
    if (root / name).exists():
        raise DataError(f"--tests {tests}: the project has {name}/ already; give the folder another name")
    # A copy: the project's own folder may be under version control, and is only read.
    with temporary_folder("tests") as folder:
        copy = folder / root.resolve().name
        shutil.copytree(root, copy, symlinks=True)
        shutil.copytree(tests, copy / name, symlinks=True)
        yield copy


_NAMED: Final = 3


class PreparedProject(NamedTuple):
    """A project after its set-up, the set-up command if one ran, and the results of its checks."""

    project: StoredProject
    command: str | None
    runs: ReferenceRuns
    setup_steps: Mapping[str, str] = {}
    """Ways to set it up that were tried, by name: the fault, or ``used``."""


@dataclass(frozen=True)
class ProjectPreparation:
    """Preparation of one project for a build.

    Args:
        engine: Runs commands.
        steps: Results of earlier attempts of the build.
        name: The project, in messages.
        languages: Languages of the build.
        options: Options of the build.
        settings: Settings of the project.
        project: The project before any set-up.
        mined: Files of which tasks are made.
        folder: Folder of the build, with its recipes.
        progress: Called with the name of a step, the number of newly finished items, and the total.
        repair: Finds a recipe for a project that cannot be prepared; None: its fault ends the build.
        added_tests: Folder of the user's tests in the project's root; a project without tests runs these alone.
        kept: Results of earlier builds of the project, if they are kept.
        may_lack_tests: A project without tests is prepared as well; its runs have no check.
        tests_engine: Runs the tests on the unchanged project, by default once a command, stored in ``steps``.
    """

    engine: WorkspaceExecutor
    steps: BuildSteps
    name: str
    languages: Collection[str]
    options: ProjectOptions
    settings: ProjectSettings
    project: StoredProject
    mined: frozenset[str]
    folder: Path
    progress: Progress
    repair: SetupAgent | None = None
    may_lack_tests: bool = False
    added_tests: str = ""
    kept: BuildSteps | None = None
    tests_engine: WorkspaceEngine | None = None

    @property
    def _stated(self) -> tuple[CheckSettings, ...]:
        """Checks of the user's options, else of the project's settings."""
        return (self.options.check,) if self.options.check else self.settings.checks

    @property
    def _bundle(self) -> str | None:
        return next((check.bundle for check in self._stated if check.bundle), None)

    @property
    def store(self) -> SnapshotStore:
        """The store of snapshots."""
        return self.engine.workspace_runner.store

    def prepared(self) -> PreparedProject:
        """Return the prepared project: by a stored recipe, by its own files and options, or by a repair.

        Raises:
            SetupError: it cannot be set up, has no tests, or they do not pass three times.
            DataError: a repair found no recipe.
        """
        case = self._case()
        recipe = case.store.working(case.key)
        if recipe is not None:
            # The recipe worked once; where the index or the machine has changed since, the usual way is tried.
            with contextlib.suppress(SetupError):
                return self._by_recipe(recipe)
        try:
            return self._by_files()
        except SetupError as fault:
            if self.repair is None:
                raise
            return self.repair.repair(case, fault, self._by_recipe)

    def _case(self) -> RepairCase:
        project = self.project.snapshot
        setup = self.options.setup or self.settings.setup
        stated = [check.model_dump_json() for check in self._stated]
        told = (setup, sorted(self.languages), stated, self.options.exclude_tests, self.options.all_tests)
        return RepairCase(
            name=self.settings.name or self.name.rstrip("/").rpartition("/")[2],
            project=project,
            setup=resolve_setup(setup, project, self.languages, self._stated) or "",
            test_command="; ".join(check.command for check in self._stated),
            options=repr(told),
            store=RecipeStore(self.folder),
        )

    def _by_files(self) -> PreparedProject:
        """Return the project set up by the user's command, or by its files: the next way as long as one fails."""
        requested = self.options.setup or self.settings.setup
        if requested is None or requested.strip() != AUTO:
            done = self._set_up(requested, creates_files=True) if requested else self.project
            return self._prepare_tests(done, requested or None, self.options.check, self.settings.checks)
        tried: list[SetupStep] = []
        errors: list[SetupError] = []
        while (step := next_setup(tried, self.project.snapshot, self.languages, self._stated)) is not None:
            if errors:
                self.progress(f"setup again: {step.name}", 0, None)
            try:
                # A command that was derived may find nothing to do.
                done = self._set_up(step.command, creates_files=False) if step.command else self.project
                prepared = self._prepare_tests(done, step.command, self.options.check, self.settings.checks)
                return prepared._replace(setup_steps={way.name: way.fault or "used" for way in (*tried, step)})
            except SetupError as error:
                errors.append(error)
                tried.append(step._replace(fault=str(error)))
                if not may_help(str(error)):
                    break
        # The first way is the one that a user would repair; the others say no more than that they failed as well.
        errors[0].args = (f"{errors[0]}{''.join(f'; also failed: {step.name}' for step in tried[1:])}",)
        raise errors[0]

    def _set_up(self, command: str, *, creates_files: bool) -> StoredProject:
        self.progress("setup", 0, 1, _shown_command(command))
        project = self.project.snapshot
        run = partial(run_setup, self.engine, project, command, self._bundle, creates_files=creates_files)
        if self.kept is not None:
            run = partial(kept_setup, self.kept, self.store, project, command, run)
        snapshot = self.steps.set_up(self.store, (project.id, command, self._bundle or ""), run)
        self.progress("setup", 1, None)
        return replace(self.project, snapshot=snapshot)

    def _by_recipe(self, recipe: Recipe) -> PreparedProject:
        self.progress("recipes", 0, None)
        project = self.project.snapshot
        inputs = (project.id, "recipe", recipe.model_dump_json(), self._bundle or "")
        run = partial(run_recipe, self.engine, project, recipe, self._bundle)
        snapshot = self.steps.set_up(self.store, inputs, run)
        done = replace(self.project, snapshot=snapshot)
        stated = [self._with_variables(check, recipe) for check in self._stated]
        if not stated:
            stated_check = CheckSettings(name="recipe", command=recipe.test_command) if recipe.test_command else None
            settings = stated_check or detect_command(snapshot, self.languages)[0]
            stated = [self._with_variables(settings, recipe)] if settings else []
        prepared = self._prepare_tests(done, recipe.shown or None, None, stated)
        # A recipe with the test command `true` would pass three times, and check no answer.
        if not any(map(partial(self._reaches, snapshot.id), prepared.runs.checks)):
            raise SetupError("; ".join(map(reaches_nothing_message, prepared.runs.checks)))
        self.progress("recipes", 1, None)
        return prepared

    def _with_variables(self, check: CheckSettings, recipe: Recipe) -> CheckSettings:
        """Return a check with the environment variables of a recipe; its own take precedence."""
        return check.model_copy(update={"environment": {**recipe.environment, **check.environment}})

    def _reaches(self, snapshot: str, entry: NamedCheck) -> bool:
        paths = {path for path in self.mined if entry.applies_to(path)}
        request = check_request(entry.check_for(*paths), snapshot)
        engine = StoringEngine(self.engine, self.steps)
        return bool(paths) and not measure_reach(engine, request, paths, store=self.store).reaches_nothing

    def _prepare_tests(
        self,
        project: StoredProject,
        command: str | None,
        from_user: CheckSettings | None,
        settings: Sequence[CheckSettings],
    ) -> PreparedProject:
        snapshot = project.snapshot
        hint = partial(with_setup_hint, snapshot=snapshot, languages=self.languages, checks=self._stated, setup=command)
        try:
            checks = project_checks(snapshot, self.languages, from_user=from_user, settings=settings)
        except DataError as error:
            if self.added_tests and "python" in self.languages and not (from_user or settings):
                added = CheckSettings(name="added tests", command=added_command(snapshot, self.added_tests))
                return self._prepare_tests(project, command, added, ())
            if self.may_lack_tests and not (from_user or settings):
                return PreparedProject(project, command, no_runs()._replace(excluded_checks={"": str(error)}))
            raise SetupError(hint({"": str(error)})) from None
        checks = tuple(entry.excluding(self.options.exclude_tests) for entry in checks)
        runs = self.reference_runs(snapshot.id, checks, project.test_files(self.languages))
        if not runs.checks:
            if self.may_lack_tests and all(fault.startswith("no_tests") for fault in runs.excluded_checks.values()):
                return PreparedProject(project, command, runs)
            message = f"{self.name}: its tests do not pass three times: {hint(runs.excluded_checks)}"
            # One more run only for the log, and only where a model will read it.
            raise SetupError(message, self._log(snapshot.id, checks) if self.repair else "")
        return PreparedProject(project, command, runs)

    def reference_runs(
        self, snapshot: str, checks: Sequence[NamedCheck], test_files: Sequence[str] = ()
    ) -> ReferenceRuns:
        """Return the results of checks on the unchanged project."""
        title = "tests as they are"
        lines = (" ".join(entry.check.command).removeprefix(f"/bin/sh -c {SEARCH_PATH}") for entry in checks)
        self.progress(title, 0, len(checks), _shown_command("; ".join(lines)))
        runs = run_checks(
            self.tests_engine or StoringEngine(self.engine, self.steps),
            snapshot,
            checks,
            lambda done: self.progress(title, done, None),
            exclude_failing=not self.options.all_tests,
            test_files=test_files,
        )
        for check in runs.project_checks.values():
            slow = f" (mostly {', '.join(check.slow_tests[:_NAMED])})" if check.slow_tests else ""
            self.progress(f"seconds of a run of the tests{slow}", math.ceil(check.wall_s), None)
        return runs

    def _log(self, snapshot: str, checks: Sequence[NamedCheck]) -> str:
        """Return the log of one more run of the first check."""
        [result] = self.engine.submit([check_request(checks[0].check, snapshot, identity="log")])
        return result_log(result)
