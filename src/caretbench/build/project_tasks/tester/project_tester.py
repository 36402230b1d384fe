"""Step of a build: a prepared project joined by the tests that a model writes, run as all its tests are."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from string import Template
from typing import Final, NamedTuple

from pydantic import JsonValue

from caretbench.build.build_models import BuildModels, BuildRequest
from caretbench.build.project_tasks.block_miner import MinedBlock
from caretbench.build.project_tasks.project_preparation import PreparedProject, ProjectPreparation
from caretbench.build.project_tasks.tester.answer_tests import (
    MAX_TESTS,
    WRITTEN_FOLDER,
    Framework,
    WrittenTest,
    answer_tests,
)
from caretbench.build.project_tasks.tester.examination import NOT_RUN, TestExaminer
from caretbench.build.project_tasks.tester.test_workspace import (
    OwnReach,
    TogetherRuns,
    WrittenRuns,
    framework_of,
    with_files,
    written_folder,
)
from caretbench.build.project_tasks.tester.untested_functions import (
    MAX_FUNCTIONS,
    FunctionGroup,
    function_groups,
    import_path,
    shown_code,
)
from caretbench.build.project_tasks.tester.written_store import TesterRecord, WrittenTestRow, WrittenTestStore
from caretbench.build.projects.build_steps import StoringEngine
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.projects.setup.command_detection import NamedCheck, project_checks
from caretbench.build.projects.setup.project_setup import SetupError
from caretbench.build.projects.setup.pytest_settings import pytest_options
from caretbench.build.projects.setup.python_packages import import_folders, is_importable
from caretbench.errors import DataError
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_request import WORKSPACE_LIMITS
from caretbench.files import read_packaged_toml, sha256_text
from caretbench.models import ChatPrompt, Message, Sampling
from caretbench.problem import Row
from caretbench.progress import Progress
from caretbench.projects.answer_requests import check_request
from caretbench.projects.settings import CheckSettings
from caretbench.syntax import Span
from caretbench.syntax.analysis import ProjectAnalysis
from caretbench.text_tables import counted

TESTER_ROLE: Final = "tester"
TESTER_PURPOSE: Final = "writes tests: reads the code of functions that no test reaches, and answers with a test file"
# Temperature 0: the same question has one answer, so that a build can be repeated.
SAMPLING: Final = Sampling(max_tokens=4096, temperature=0.0, top_p=None)
_NAMED_FILES: Final = 12


class TesterPrompts(Row):
    """Content of ``test_prompts.toml``."""

    version: int
    system: str
    styles: Mapping[str, str]
    user: Mapping[str, str]


@cache
def tester_prompts() -> TesterPrompts:
    """Return the prompts."""
    return TesterPrompts.model_validate(read_packaged_toml(__package__, "test_prompts.toml"))


class TesterCase(NamedTuple):
    """A project for which tests are written.

    Args:
        preparation: Its preparation.
        snapshot: Its files after set-up.
        check: The check that written tests join.
        any_order: The project's own tests pass in another order.
        own_reach: Reach of the project's own tests; None: it has none.
        analysis: Analysis of its files.
        blocks: Blocks by file for which tests are written.
        engine: Runs commands, and stores their results.
    """

    preparation: ProjectPreparation
    snapshot: Snapshot
    check: NamedCheck
    any_order: bool
    own_reach: OwnReach | None
    analysis: ProjectAnalysis
    blocks: Mapping[str, Sequence[MinedBlock]]
    engine: WorkspaceEngine

    @property
    def name(self) -> str:
        """Name of the project, for messages."""
        return self.preparation.name.rstrip("/").rpartition("/")[2]

    def is_reached(self, path: str, span: Span) -> bool:
        """Return whether the project's own tests reach a block."""
        return self.own_reach is not None and self.own_reach.before.reaches(path, *span)


class WrittenTests(NamedTuple):
    """Result of a tester: the project with the tests that stay, their reach, and the record."""

    snapshot: Snapshot
    reach: StatementReach | None
    record: TesterRecord


@dataclass(frozen=True)
class ProjectTester:
    """Tester of projects by a model.

    Args:
        models: Models of the build.
        tries: Maximum number of requests for one project.
        max_s: Maximum time of all examinations of one project in seconds, checked before each.
        progress: Receiver of the list of what is sent, and of steps.
    """

    models: BuildModels
    tries: int
    max_s: float
    progress: Progress

    def to_manifest(self) -> dict[str, JsonValue]:
        """Return what determines the tests, as stored in the manifest."""
        names: list[JsonValue] = [*self.models.names(TESTER_ROLE)]
        return {"models": names, "tries": self.tries, "prompt_version": tester_prompts().version}

    def write(self, case: TesterCase) -> WrittenTests:
        """Return the project with the written tests that stay.

        The outcome of each test is stored at once, so that a stopped build asks and examines nothing twice.

        Raises:
            DataError: the project has a folder of that name, or this machine cannot run the tests.
            AnswersMissingError: the model did not answer, or may not be asked.
        """
        framework = framework_of(case.check.check)
        record = TesterRecord(models=self.models.names(TESTER_ROLE), prompt_version=tester_prompts().version)
        if framework is None:
            self.progress.note(
                f"-m {TESTER_ROLE}: {case.check.name}: the command runs neither pytest nor unittest: no tests"
            )
            return WrittenTests(case.snapshot, None, record)
        folder = written_folder(case.snapshot, case.check.check.directory)
        if any(f"/{WRITTEN_FOLDER}/" in f"/{path}/" for path in case.snapshot.entries):
            raise DataError(f"-m {TESTER_ROLE}: the project has a folder {WRITTEN_FOLDER}/; rename it")
        runs = WrittenRuns(case.check.check, case.snapshot, folder, framework)
        seed, store = case.preparation.options.seed, case.preparation.store
        groups = function_groups(case.analysis, case.blocks, case.is_reached, seed=seed, limit=self.tries)
        requests = {f"{case.snapshot.id[:16]}/{n}": group for n, group in enumerate(groups, 1)}
        answers = self._answers(case, requests, framework)
        malformed: dict[str, str] = {}
        tests: dict[str, tuple[str, WrittenTest]] = {}
        for key, group in requests.items():
            number = key.rpartition("/")[2]
            try:
                for test in answer_tests(answers[key], group.path, framework):
                    # Two answers may contain the same test; it is examined once.
                    tests.setdefault(test.key, (number, test))
            except ValueError as error:
                malformed[f"{number} ({group.path})"] = f"malformed_answer: {error}"
        kept, dropped = self._chosen(case, runs, [test for _, test in tests.values()])
        named = {
            f"{number}: {test.shown_name}": dropped[test.key] for number, test in tests.values() if test.key in dropped
        }
        outcomes = {
            "requests": len(requests), "malformed": malformed, "tests": len(tests), "dropped": named,
            "kept": {f"{folder}/{test.stem}.py": count for test, count in kept},
        }  # fmt: skip
        record = record.model_copy(update=outcomes)
        if not kept:
            return WrittenTests(case.snapshot, None, record)
        kept_tests = [test for test, _ in kept]
        # All tests in one run: the limits of a single written test would end it.
        request = runs.plain_request(kept_tests).model_copy(update={"limits": WORKSPACE_LIMITS})
        reach = measure_reach(case.engine, request, case.blocks, store=store)
        return WrittenTests(with_files(store, case.snapshot, runs.files(kept_tests)), reach, record)

    def _answers(
        self, case: TesterCase, groups: Mapping[str, FunctionGroup], framework: Framework
    ) -> Mapping[str, str]:
        if not groups:
            self.progress.note(f"-m {TESTER_ROLE}: its own tests reach all blocks of {case.name}: nothing is sent")
            return {}
        paths = sorted({group.path for group in groups.values()})
        more = f" and {len(paths) - _NAMED_FILES} more" if len(paths) > _NAMED_FILES else ""
        prompts = [_prompt(case, group, framework) for group in groups.values()]
        size = sum(len(prompt.messages[-1].text) for prompt in prompts)
        self.progress.note(
            f"-m {TESTER_ROLE}={', '.join(self.models.names(TESTER_ROLE))} is sent for {case.name}: code of "
            f"{', '.join(paths[:_NAMED_FILES])}{more}, without keys and passwords in its literals, and the names of "
            f"{sum(len(group.functions) for group in groups.values())} functions that no test reaches whole "
            f"({counted(len(groups), 'request')}, {size:,} characters)"
        )
        requests = (
            BuildRequest(key, prompt, SAMPLING, f"tests of {group.path} in {case.name}")
            for (key, group), prompt in zip(groups.items(), prompts, strict=True)
        )
        return self.models.ask(TESTER_ROLE, requests)

    def _chosen(
        self, case: TesterCase, runs: WrittenRuns, tests: Sequence[WrittenTest]
    ) -> tuple[list[tuple[WrittenTest, int]], dict[str, str]]:
        """Return the tests that stay, with the number of their blocks, and the reasons of the others by key."""
        # A measured time differs between two runs, and would make stored outcomes those of another project.
        check = case.check.check.model_copy(update={"reference_s": None})
        name = sha256_text(case.snapshot.id, check.model_dump_json(), str(tester_prompts().version))
        store = WrittenTestStore(case.preparation.folder)
        examiner = TestExaminer(case.engine, case.preparation.store, runs, case.analysis)
        taken: dict[str, set[Span]] = defaultdict(set)
        kept: list[tuple[WrittenTest, int]] = []
        dropped: dict[str, str] = {}
        after = name
        self.progress("written tests", 0, len(tests))
        started = time.monotonic()
        for test in tests:
            row = store.get(name, after, test.key)
            if row is None and time.monotonic() - started > self.max_s:  # not stored: a resumed build examines it
                dropped[test.key] = f"not_examined: {self.max_s / 60:g} min were over (--tester-minutes)"
                continue
            if row is None:
                new = [
                    block.span
                    for block in case.blocks[test.target]
                    if block.span not in taken[test.target] and not case.is_reached(test.target, block.span)
                ]
                examined = examiner.examine(test, new)
                row = WrittenTestRow(
                    case=name, after=after, test=test.key, name=test.shown_name, target=test.target,
                    reason=examined.reason, blocks=examined.blocks,
                )  # fmt: skip
                # Not stored, as the machine may be the reason: the next call examines it again.
                if not row.reason.startswith(NOT_RUN):
                    store.add(row)
            self.progress("written tests", 1, None)
            if row.reason:
                dropped[test.key] = row.reason
                continue
            taken[test.target].update(Span(*block) for block in row.blocks)
            kept.append((test, len(row.blocks)))
            # An outcome depends on the tests kept before it, as only new blocks count.
            after = sha256_text(after, test.key)
        together = store.get(name, after)
        if together is None:
            runner = TogetherRuns(case.engine, runs, case.check.check, case.any_order, case.own_reach)
            runner.undisturbing([test for test, _ in kept])
            together = store.add(WrittenTestRow(case=name, after=after, dropped=tuple(sorted(runner.dropped.items()))))
        dropped |= dict(together.dropped)
        return [(test, count) for test, count in kept if test.key not in dropped], dropped


def _prompt(case: TesterCase, group: FunctionGroup, framework: Framework) -> ChatPrompt:
    prompts = tester_prompts()
    words = {
        "path": group.path,
        "functions": "\n".join(f"- {function.name} (line {function.line})" for function in group.functions),
        "module": import_path(group.path, import_folders(case.snapshot)),
        "code": shown_code(case.analysis, group),
        "count": str(min(MAX_TESTS, 3 * max(len(group.functions), MAX_FUNCTIONS // 2))),
    }
    system = Template(prompts.system).substitute(style=prompts.styles[framework]).strip()
    user = Template(prompts.user["first"]).substitute(words).strip()
    return ChatPrompt(messages=(Message(role="system", text=system), Message(role="user", text=user)))


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
) -> ProjectWithTests:
    """Return a project with the tests that a model writes for blocks that none of its own tests reaches.

    A project without tests gets a command of its own, which runs only the written ones.

    Raises:
        SetupError: the project has no tests, and no written one stays.
        DataError: the project has a folder of the written tests' name, or this machine cannot run them.
        AnswersMissingError: the model did not answer, or may not be asked.
    """
    snapshot, runs = prepared.project.snapshot, prepared.runs
    entry = runs.checks[0] if runs.checks else _check_without_tests(preparation, snapshot)
    blocks = {
        path: mined
        for path, mined in blocks.items()
        if mined and analysis[path].source.language == "python" and entry.applies_to(path)
    }
    engine = StoringEngine(preparation.engine, preparation.steps)
    own_reach = None
    if runs.checks and blocks:
        request, store = check_request(entry.check_for(*blocks), snapshot.id), preparation.store
        own_reach = OwnReach(measure_reach(engine, request, blocks, store=store), request, engine, store, analysis)
    any_order = entry.name not in runs.order_dependent
    written = tester.write(TesterCase(preparation, snapshot, entry, any_order, own_reach, analysis, blocks, engine))
    if not written.record.kept:
        if not runs.checks:
            raise _without_any_test(preparation, prepared, written)
        return ProjectWithTests(prepared, None, written.record)
    return _joined(preparation, prepared, entry, written)


def _joined(
    preparation: ProjectPreparation, prepared: PreparedProject, entry: NamedCheck, written: WrittenTests
) -> ProjectWithTests:
    """Return the project with the written tests, after three runs of all tests and one in another order."""
    project = replace(prepared.project, snapshot=written.snapshot)
    runs = preparation.reference_runs(written.snapshot.id, (entry, *prepared.runs.checks[1:]))
    if entry.name not in {check.name for check in runs.checks}:
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


def _check_without_tests(preparation: ProjectPreparation, snapshot: Snapshot) -> NamedCheck:
    """Return the check of a project without tests, which runs only the written ones, from the root."""
    if is_importable(snapshot, "pytest") or installed_bundle(_PYTEST_BUNDLE) is not None:
        options = f"-p no:cacheprovider --junitxml={_REPORT}{pytest_options(snapshot)}"
        command, junit = f"python3 -m pytest -q -x {options} {WRITTEN_FOLDER}", [_REPORT]
    else:
        command, junit = f"python3 -m unittest discover -f -s {WRITTEN_FOLDER}", []
    settings = CheckSettings(name="written tests", command=command, junit=tuple(junit), minimum_tests=1)
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
