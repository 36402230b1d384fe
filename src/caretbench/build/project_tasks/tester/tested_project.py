"""Step of a build: a prepared project joined by the tests that a model writes, run as all its tests are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.build.project_tasks.block_miner import MinedBlock
from caretbench.build.project_tasks.project_preparation import PreparedProject, ProjectPreparation
from caretbench.build.project_tasks.task_folder import TaskFolder
from caretbench.build.project_tasks.tester.answer_tests import WRITTEN_FOLDER
from caretbench.build.project_tasks.tester.project_tester import TESTER_ROLE, ProjectTester, TesterCase, WrittenTests
from caretbench.build.project_tasks.tester.tester_record import TesterRecord
from caretbench.build.projects.build_steps import StoringEngine
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.projects.setup.command_detection import NamedCheck, project_checks
from caretbench.build.projects.setup.project_setup import SetupError
from caretbench.build.projects.setup.pytest_settings import pytest_options
from caretbench.build.projects.setup.python_packages import is_importable
from caretbench.errors import DataError
from caretbench.execution.bundles import installed_bundle
from caretbench.projects.answer_requests import check_request
from caretbench.projects.project import StoredProject
from caretbench.projects.settings import CheckSettings
from caretbench.syntax import ProjectAnalysis

_PYTEST_BUNDLE: Final = "tools/pytest"
_REPORT: Final = ".caretbench-junit.xml"


class ProjectWithTests(NamedTuple):
    """A project with the tests that stay: its preparation, their reach, and the record for the manifest."""

    prepared: PreparedProject
    written_reach: StatementReach | None = None
    record: TesterRecord | None = None


def with_written_tests(
    tester: ProjectTester,
    preparation: ProjectPreparation,
    prepared: PreparedProject,
    analysis: ProjectAnalysis,
    blocks: Mapping[str, Sequence[MinedBlock]],
    folder: TaskFolder,
) -> ProjectWithTests:
    """Return a project with the tests that a model writes for blocks that none of its own tests reaches.

    A project without tests gets a command of its own, which runs only the written ones.

    Raises:
        SetupError: the project has no tests, and no written one stays.
        DataError: the project has a folder of the written tests' name, or this machine cannot run them.
        AnswersMissingError: the model did not answer, or may not be asked.
    """
    wanted = {path: own for path, own in blocks.items() if analysis[path].source.language == "python" and own}
    project, runs = prepared.project, prepared.runs
    entry = runs.checks[0] if runs.checks else _check_without_tests(preparation, project)
    wanted = {path: own for path, own in wanted.items() if entry.applies_to(path)}
    engine = StoringEngine(preparation.engine, preparation.steps)
    store = preparation.engine.workspace_runner.store
    reach = None
    if runs.checks and wanted:
        request = check_request(entry.check_for(*wanted), project.snapshot.id)
        reach = measure_reach(engine, request, wanted, store=store)
    case = TesterCase(
        name=preparation.name.rstrip("/").rpartition("/")[2],
        snapshot=project.snapshot,
        check=entry,
        any_order=entry.name not in runs.order_dependent,
        own_reach=reach,
        analysis=analysis,
        blocks=wanted,
        engine=engine,
        store=store,
        folder=folder.path,
        seed=preparation.options.seed,
    )
    written = tester.write(case)
    if not written.record.kept:
        if not runs.checks:
            raise _without_any_test(preparation, prepared, written)
        return ProjectWithTests(prepared, None, written.record)
    return _joined(preparation, prepared, entry, written)


def _joined(
    preparation: ProjectPreparation, prepared: PreparedProject, entry: NamedCheck, written: WrittenTests
) -> ProjectWithTests:
    """Return the project with the written tests, after three runs of all tests and one in another order."""
    project = StoredProject(written.snapshot, prepared.project.files, prepared.project.excluded)
    runs = preparation.reference_runs(written.snapshot.id, (entry, *prepared.runs.checks[1:]))
    if entry.name not in {one.name for one in runs.checks}:
        raise DataError(
            f"{preparation.name}: its tests and the written ones do not pass three times together: "
            f"{runs.excluded_checks.get(entry.name)}; build again in another folder"
        )
    merged = runs._replace(
        failing_tests={**prepared.runs.failing_tests, **runs.failing_tests},
        flaky_tests={**prepared.runs.flaky_tests, **runs.flaky_tests},
        order_dependent={**prepared.runs.order_dependent, **runs.order_dependent},
        excluded_checks={**prepared.runs.excluded_checks, **runs.excluded_checks} if prepared.runs.checks else {},
    )
    unsteady = {*runs.flaky_tests.get(entry.name, ()), *runs.failing_tests.get(entry.name, {})}
    record = written.record.without(unsteady)
    return ProjectWithTests(PreparedProject(project, prepared.command, merged), written.reach, record)


def _check_without_tests(preparation: ProjectPreparation, project: StoredProject) -> NamedCheck:
    """Return the check of a project without tests, which runs only the written ones, from the root."""
    snapshot = project.snapshot
    if is_importable(snapshot, "pytest") or installed_bundle(_PYTEST_BUNDLE) is not None:
        options = f"-p no:cacheprovider --junitxml={_REPORT}{pytest_options(snapshot)}"
        command = f"python3 -m pytest -q -x {options} {WRITTEN_FOLDER}"
        settings = CheckSettings(name="written tests", command=command, junit=(_REPORT,), minimum_tests=1)
    else:
        command = f"python3 -m unittest discover -f -s {WRITTEN_FOLDER}"
        settings = CheckSettings(name="written tests", command=command, minimum_tests=1)
    [entry] = project_checks(snapshot, preparation.languages, settings=(settings,))
    return entry


def _without_any_test(preparation: ProjectPreparation, prepared: PreparedProject, written: WrittenTests) -> SetupError:
    why = "; ".join(prepared.runs.excluded_checks.values()) or "no tests found"
    shown = [*written.record.malformed.items(), *written.record.dropped.items()][:5]
    faults = "".join(f"; {name}: {reason}" for name, reason in shown)
    return SetupError(
        f"{preparation.name}: {why}; -m {TESTER_ROLE}: no written test stays ({written.record.summary}){faults}: name "
        "another model, raise --tester-tries or --tester-minutes, or give --tests"
    )
