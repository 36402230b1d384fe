"""Builder of a folder of tasks from a project: snapshot, test runs, mining, reach, gate.

Candidates are written at once, verdicts one by one, results of set-up and test runs as they come. An interrupted build
is resumed from these files.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import JsonValue

from caretbench.build.project_tasks.block_miner import (
    IDS_VERSION,
    REFERENCE_POLICY,
    BlockMiner,
    DrawnBefore,
    DrawnProblems,
    DrawnTasks,
    ProjectOptions,
    TaskOrigin,
)
from caretbench.build.project_tasks.deciding_tests import choose_tests
from caretbench.build.project_tasks.project_preparation import PreparedProject, ProjectPreparation, added_tests_fault
from caretbench.build.project_tasks.setup_agent import SetupAgent
from caretbench.build.project_tasks.task_folder import BuildManifest, BuiltTasks, TaskFolder, folder_lock
from caretbench.build.project_tasks.tester.project_tester import ProjectTester, ProjectWithTests, with_written_tests
from caretbench.build.projects.build_steps import BuildSteps, LaterRuns, MeteredEngine, StoringEngine
from caretbench.build.projects.kept_results import ContentKeys
from caretbench.build.projects.project_analysis import (
    AnalysedProject,
    analyse_project,
    chosen_languages,
    export_snapshot,
)
from caretbench.build.projects.project_check import ProjectCheck, check_project
from caretbench.build.projects.project_storage import store_project
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.projects.reference_runs import without_slow_tests
from caretbench.build.projects.setup.command_detection import NamedCheck
from caretbench.build.projects.setup.package_json import npm_packages
from caretbench.build.projects.setup.project_setup import reaches_nothing_message
from caretbench.build.projects.setup.python_packages import installed_packages
from caretbench.build.projects.test_outcomes import has_selected_tests, unknown_tests
from caretbench.build.validation.reviewed import reviewed_problems
from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.errors import AnotherBuildError, DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine, WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.extraction.policies import get_policy
from caretbench.files import RowAppender, write_document, write_rows
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.projects.answer_requests import check_key, check_request, file_splice, get_tests_check
from caretbench.projects.project import StoredProject
from caretbench.projects.runner_options import runs_pytest
from caretbench.projects.settings import ProjectSettings, read_settings
from caretbench.suites.validity import GATE_VERSION
from caretbench.versions import versions

_RUNS: Final = 4
"""Runs of the tests that the gate takes for a candidate: with empty answers, a throw and mutants up to a killed one."""
_SCRIPTS: Final = ("javascript", "typescript")
"""Languages of test files that runners take one by one."""


@dataclass
class TaskBuilder:
    """Builder of one folder of tasks.

    Without ``validate`` the build stops before the gate, with candidates. ``progress`` is called with the name of a
    step, the number of newly finished items, and the total (None if unchanged).
    """

    engine: WorkspaceExecutor
    validate: bool = True
    unstated: Mapping[str, str] = field(default_factory=dict)
    """Values of settings that the project itself does not state."""
    progress: Progress = field(default_factory=Progress)
    repair: SetupAgent | None = None
    """Finds a recipe for a project that cannot be set up, or whose tests do not pass."""
    added_tests: str = ""
    """Folder of tests that the user laid into the project's root; empty if there is none."""
    tester: ProjectTester | None = None
    """Writes tests for functions that no test reaches."""
    kept: BuildSteps | None = None
    """Results that earlier builds of the project kept, and to which this one adds its own."""
    _before: DrawnBefore | None = field(default=None, repr=False)
    """Candidates of the build before, if results are kept."""
    _content_keys: dict[str, ContentKeys] = field(default_factory=dict, repr=False)
    """Keys of kept results by mined file."""
    _known: dict[str, ProjectCheck] = field(default_factory=dict, repr=False)
    """Results of the project's own tests in this process, by command."""
    _drawn: int = field(default=0, repr=False)
    """Number of tasks drawn for all checks so far."""
    _steps: BuildSteps = field(default_factory=BuildSteps, repr=False)
    """Results of this build's steps, with those of earlier attempts."""
    _later: LaterRuns | None = field(default=None, repr=False)
    """Engine of the first pass, which begins after one run of the project's tests; None: three have run."""
    _written_reach: StatementReach | None = field(default=None, repr=False)
    """Reach of tests that a model wrote."""

    @property
    def store(self) -> SnapshotStore:
        """The store of snapshots."""
        return self.engine.workspace_runner.store

    @property
    def _storing_engine(self) -> WorkspaceEngine:
        """The engine of the build's own steps, which repeats nothing that an earlier attempt has done."""
        return self._later or StoringEngine(self.engine, self._steps)

    def build(self, root: Path, folder: TaskFolder, options: ProjectOptions) -> BuiltTasks:
        """Build the folder, or resume its build.

        Raises:
            DataError: there are no files to mine or no tests, the tests do not pass, or the folder contains something
                else.
        """
        settings = self._settings(root)
        project = store_project(root, self.store, settings.ignore, output=folder.path)
        with folder_lock(folder.path):
            self._steps = BuildSteps(folder.steps_path)
            stored_options: dict[str, JsonValue] = {
                **options.to_manifest(),
                "settings": settings.model_dump(mode="json", exclude_defaults=True),
                "project_snapshot": project.snapshot.id,
                **({"tester": self.tester.to_manifest()} if self.tester is not None else {}),
            }
            manifest = self._existing_manifest(folder, stored_options, options.seed)
            if manifest is None:
                # After an error the tests must run again, as the user will change them; the set-up took minutes and
                # stays.
                with self._steps.keeping_setup():
                    manifest = self._mine(root, project, settings, folder, options, stored_options)
                # After the manifest: a build that is killed before draws again, and from the same.
                if self.kept is not None and self._before is not None:
                    self.kept.store(self._before.to_json(), "drawn")
            candidates = tuple(folder.candidates())
            metered = MeteredEngine(self._keeping_engine(self._content_key))
            decided, tasks, review_lines = 0, 0, tuple[str, ...]()
            if self.validate:
                decided = self._decide(folder, candidates, metered, options)
                folder.sort_validity(candidates)
                tasks, review_lines = self._write_tasks(folder, options)
                self._steps.remove()
                # A resumed build did not ask for all that it needs.
                if self.kept is not None and self._content_keys:
                    self.kept.drop_unused()
            verdicts = folder.validity()
        return BuiltTasks(
            manifest, candidates, verdicts, tasks, metered.cpu_s, decided, options.verdict_label, review_lines,
            {} if self.kept is None else dict(self.kept.counts),
        )  # fmt: skip

    def _keeping_engine(self, key: Callable[[WorkspaceRequest], str | None]) -> WorkspaceEngine:
        """Return the engine for wrong answers, which repeats nothing that an earlier build of the project kept."""
        return self.engine if self.kept is None else StoringEngine(self.engine, self.kept, key)

    def _content_key(self, request: WorkspaceRequest) -> str | None:
        """Return the key of an answer's tests, by the file that it is spliced into; None if that is not known."""
        keys = next((self._content_keys[path] for path in request.patch if path in self._content_keys), None)
        return None if keys is None else keys.key(request)

    def _write_tasks(self, folder: TaskFolder, options: ProjectOptions) -> tuple[int, tuple[str, ...]]:
        """Write the tasks without those that people rejected; return their number, and lines of the report."""
        tasks = list(options.tasks(folder.accepted(unverified=options.unverified), self.store))
        lines = tuple(options.missing(tasks))
        if options.reviewed is not None:
            tasks, _, review_lines = reviewed_problems(options.reviewed, tasks)
            lines += review_lines
        return write_rows(folder.problems_path, tasks), lines

    def _settings(self, root: Path) -> ProjectSettings:
        stated = read_settings(root) if root.is_dir() else ProjectSettings()
        return stated.model_copy(
            update={name: value for name, value in self.unstated.items() if getattr(stated, name) is None}
        )

    def _existing_manifest(self, folder: TaskFolder, current: dict[str, JsonValue], seed: int) -> BuildManifest | None:
        """Return the manifest in the folder, of a build with the same project and options; None for a new folder."""
        if not folder.manifest_path.exists():
            # Hidden files are locks and stored steps of this build, or of the system (`.DS_Store`).
            visible = {path for path in folder.path.iterdir() if not path.name.startswith(".")}
            written = {folder.candidates_path, folder.validity_path, folder.problems_path, *folder.model_paths}
            if visible - written - {folder.path / "snapshots"}:
                raise DataError(f"{folder.path}: not empty, and no folder of tasks; give another with -o")
            return None
        manifest = folder.manifest()
        # Verdicts of other options in one file would mix two builds.
        if dict(manifest.options) != current or manifest.seed != seed:
            names = {*current, *manifest.options}
            changed = sorted(n for n in names if manifest.options.get(n) != current.get(n)) or ["seed"]
            raise AnotherBuildError(
                f"{folder.path}: contains tasks of another build ({', '.join(changed)} differ); give another folder "
                "with -o, or remove this one"
            )
        return manifest

    def _mine(
        self, root: Path, project: StoredProject, settings: ProjectSettings, folder: TaskFolder,
        options: ProjectOptions, stored_options: Mapping[str, JsonValue],
    ) -> BuildManifest:  # fmt: skip
        """Mine the candidates and write them; ``stored_options`` are those of the manifest."""
        languages = chosen_languages(project, options.languages)
        exclude = (*settings.exclude, *options.exclude)
        analysed = analyse_project(project, languages, exclude, max_lines=settings.most_lines)
        if not any(analysed.mined.values()):
            first = next((f": {path}: {why}" for path, why in analysed.skipped.items()), "")
            raise DataError(f"{root}: no file of {' or '.join(languages)} can be mined{first}")
        _check_excluded(options.exclude_tests, project)
        mined_paths = frozenset(path for paths in analysed.mined.values() for path in paths)
        preparation = ProjectPreparation(
            self.engine, self._steps, str(root), languages, options, settings, project, mined_paths, folder.path,
            self.progress, self.repair, may_lack_tests=self.tester is not None, added_tests=self.added_tests,
            kept=self.kept,
        )  # fmt: skip
        name = settings.name or root.resolve().name
        tested, mined = self._first_pass(preparation, analysed, name)
        project, command, runs, setup_steps = tested.prepared
        snapshot = project.snapshot
        dropped = {**runs.excluded_checks, **mined.dropped}
        if len(mined.dropped) == len(runs.checks):
            raise DataError(f"{root}: " + "; ".join(f"{check}: {why}" for check, why in dropped.items()))
        # The manifest comes last: a folder without one is mined again, whatever files it has.
        export_snapshot(snapshot, folder.snapshot_path(snapshot.id))
        # Verdicts without their manifest are those of an attempt that stopped while mining.
        folder.validity_path.unlink(missing_ok=True)
        write_rows(folder.candidates_path, mined.problems)
        manifest = BuildManifest(
            suite=options.suite,
            project=name,
            snapshot=snapshot.id,
            provenance=settings.provenance(name),
            languages=languages,
            command=runs.checks[0].check.command,
            setup=command,
            setup_steps=setup_steps,
            packages=(*installed_packages(snapshot), *npm_packages(snapshot)),
            options=stored_options,
            seed=options.seed,
            ids=IDS_VERSION,
            versions=versions(),
            lines=analysed.line_counts,
            reached_lines=mined.reached,
            passed_over=analysed.skipped,
            rejected=mined.rejected,
            unknown_reach=mined.unknown,
            dropped_checks=dropped,
            flaky_tests=runs.flaky_tests,
            failing_tests=runs.failing_tests,
            omitted_files=runs.omitted_files,
            order_dependent=runs.order_dependent,
            tester=tested.record,
        )
        for command, result in self._known.items():
            self._steps.store_check(command, result)
        write_document(folder.manifest_path, manifest)
        return manifest

    def _first_pass(
        self, preparation: ProjectPreparation, analysed: AnalysedProject, name: str
    ) -> tuple[ProjectWithTests, _Mined]:
        """Return the tested project and its candidates, mined after one run of the tests if the other two confirm it.

        These two run beside the recorded run and the wrong answers; where one differs, all is done after them.
        """
        # A model that writes tests or recipes costs money, and is asked once all runs are known.
        if self.tester is not None or self.repair is not None:
            return self._pass(preparation, analysed, name)
        self._later = LaterRuns(StoringEngine(self.engine, self._steps))
        early = self._pass(replace(preparation, tests_engine=self._later), analysed, name)
        self._later = None
        runs = replace(preparation, progress=Progress()).prepared().runs
        if runs.confirms(early[0].prepared.runs):
            # By the keys of the first pass, whose limits are those of one run: what the later runs saw counts.
            self._known |= zip(early[0].prepared.runs.project_checks, runs.project_checks.values(), strict=True)
            return early
        return self._pass(preparation, analysed, name)

    def _pass(
        self, preparation: ProjectPreparation, analysed: AnalysedProject, name: str
    ) -> tuple[ProjectWithTests, _Mined]:
        """Return the tested project, with written tests if a model writes some, and its candidates."""
        paths = preparation.mined
        miner = preparation.options.miner(analysed.analysis)
        miner.before = self._before = None if self.kept is None else DrawnBefore(self.kept.get("drawn"))
        self.progress("files", 0, len(paths))
        rejected = miner.find(paths)
        self.progress("files", len(paths), len(paths))
        tested = ProjectWithTests(preparation.prepared())
        if self.tester is not None:
            blocks = miner.blocks(paths)
            tested = with_written_tests(self.tester, preparation, tested.prepared, analysed.analysis, blocks)
        self._known |= tested.prepared.runs.project_checks
        self._written_reach = tested.written_reach
        return tested, self._mine_candidates(preparation, analysed, name, miner, rejected, tested.prepared)

    def _mine_candidates(
        self,
        preparation: ProjectPreparation,
        analysed: AnalysedProject,
        name: str,
        miner: BlockMiner,
        rejected: Counter[str],
        prepared: PreparedProject,
    ) -> _Mined:
        project, runs, budget_s = prepared.project, prepared.runs, preparation.options.test_budget_s
        mined = _Mined([], rejected, dict.fromkeys(analysed.mined, 0), {}, {})
        waiting = set(preparation.mined)
        for entry in runs.checks:
            checked_paths = {path for path in waiting if entry.applies_to(path)}
            # The first check that names a file decides about it: a task has one check.
            waiting -= checked_paths
            if not checked_paths:
                continue
            reach = self._reached(entry, project, checked_paths)
            self._check_added(project, entry, reach)
            if reach.reaches_nothing:
                mined.dropped[entry.name] = reaches_nothing_message(entry)
                rejected["not_reached"] += miner.candidate_count(checked_paths)
                continue
            mined.unknown.update(reach.unknown_files)
            by_path = {path: analysed.analysis[path].source for path in checked_paths}
            hit = {path: len(reach.executed_lines(path, source)) for path, source in by_path.items()}
            for path, count in hit.items():
                mined.reached[by_path[path].language] += count
            by_file = {path: entry.check_for(path) for path in checked_paths}
            provenance = preparation.settings.provenance(name)
            origin = TaskOrigin(name, project.snapshot.id, provenance, entry.check, by_file)
            drawn = miner.draw(checked_paths, origin, reach, entry.limit, sum(hit.values()))
            rejected.update(drawn.rejected)
            if self.kept is not None:
                self._content_keys |= dict.fromkeys(checked_paths, ContentKeys(project.snapshot, reach))
            any_order = entry.name not in runs.order_dependent
            chosen = self._with_tests(miner, drawn.problems, entry, reach, any_order=any_order, budget_s=budget_s)
            rejected.update(chosen.rejected)
            self._known |= chosen.project_checks
            mined.problems.extend(chosen.problems)
        rejected["no_check"] += miner.candidate_count(waiting)
        counts = {reason: count for reason, count in sorted(rejected.items()) if count}
        return mined._replace(rejected=counts, unknown=dict(sorted(mined.unknown.items())))

    def _check_added(self, project: StoredProject, entry: NamedCheck, reach: StatementReach) -> None:
        """Raise DataError if the user's tests are of no use because the command does not run them."""
        folder = self.added_tests
        has_package = f"{folder}/__init__.py" in project.snapshot.entries
        fault = added_tests_fault(folder, entry.check.command, has_package, reach.all_tests) if folder else ""
        if fault:
            raise DataError(fault)

    def _reached(self, entry: NamedCheck, project: StoredProject, paths: set[str]) -> StatementReach:
        self.progress("reach", 0, None)
        request = check_request(entry.check_for(*paths), project.snapshot.id)
        tests = project.test_files(_SCRIPTS)
        reach = measure_reach(self._storing_engine, request, paths, store=self.store, test_files=tests)
        self.progress("reach", len(paths), None)
        return reach

    def _with_tests(
        self,
        miner: BlockMiner,
        problems: tuple[Problem, ...],
        entry: NamedCheck,
        reach: StatementReach,
        *,
        any_order: bool,
        budget_s: float,
    ) -> DrawnProblems:
        """Return the problems with the tests that decide about them."""
        check = self._known.get(check_key(entry.check, file_splice(problems[0]).snapshot)) if problems else None
        # A runner that reports no single tests can still exclude the slow ones: in p-queue, 49 of 206 tests took 68.6
        # of 83.9 s.
        slow = check.slow_tests if check is not None and any_order else ()
        if slow and not runs_pytest(entry.check.command):
            self.progress("slow tests, excluded where faster ones reach the same lines", len(slow), None)
            fast = without_slow_tests(self._storing_engine, problems, entry.check, reach, slow, store=self.store)
            self._known |= fast.project_checks
            problems = fast.problems
        self._drawn += len(problems)
        keys = next((self._content_keys.get(file_splice(problem).path) for problem in problems), None)
        engine = self._storing_engine if keys is None else self._keeping_engine(keys.key)
        drawn = DrawnTasks(
            engine, self.store, problems, reach, any_order, budget_s,
            lambda done: self.progress("tests of tasks", done, self._drawn), self._written_reach, check,
        )  # fmt: skip
        tested = choose_tests(drawn, miner)
        return tested._replace(problems=miner.with_test_labels(tested.problems, drawn))

    def _decide(
        self, folder: TaskFolder, candidates: Sequence[Problem], engine: MeteredEngine, options: ProjectOptions
    ) -> int:
        """Store the verdicts that are missing, and return their number."""
        gate = WorkspaceGate(
            engine,
            get_policy(REFERENCE_POLICY),
            store=self.store,
            reach=StatementReach(),  # candidates that no test reaches are already removed
            known_checks=self._project,
            mutates_values=options.mutates_values,
        )
        with RowAppender(folder.validity_path) as appender:
            decided = {name for name, row in folder.validity().items() if row.gate == GATE_VERSION}
            waiting = [problem for problem in candidates if problem.id not in decided]
            self._announce_cost(waiting)
            self.progress("candidates", len(candidates) - len(waiting), len(candidates))
            for verdict in gate.decide(waiting, all_problems=candidates):
                appender.append(verdict.model_copy(update={"gate": GATE_VERSION}))
                self.progress("candidates", 1, None)
        return len(waiting)

    def _announce_cost(self, waiting: Sequence[Problem]) -> None:
        """Report what the gate will take, by the measured time of the tests that decide about each problem."""
        keys = (check_key(get_tests_check(problem), file_splice(problem).snapshot) for problem in waiting)
        cpu_s = sum(_RUNS * check.cpu_s for key in keys if (check := self._known.get(key)) is not None)
        if cpu_s:
            self.progress(f"CPU minutes of the gate, about, for {len(waiting)} candidates", math.ceil(cpu_s / 60), None)

    def _project(self, request: WorkspaceRequest) -> ProjectCheck | None:
        """Return the result of the project's own tests; selected tests, which passed among all, run once more."""
        check = self._known.get(repr(request)) or self._steps.check(repr(request))
        if check is None and has_selected_tests(request):
            # Once: they passed three times among all tests, and alone when they were chosen.
            return check_project(self._storing_engine, request, runs=1)
        return check


def _check_excluded(names: Sequence[str], project: StoredProject) -> None:
    """Raise DataError if a test to exclude is named in no file of the project's own."""
    texts = (project.snapshot.read(path).decode("utf-8", "replace") for path in sorted(project.files))
    unknown = unknown_tests(names, texts) if names else ()
    if unknown:
        raise DataError(
            f"--exclude-test {unknown[0]!r}: no file of the project contains this name; give one as messages show it, "
            "tests/test_a.py::test_b (pytest) or tests.test_a.Class.test_b (unittest) for example"
        )


class _Mined(NamedTuple):
    problems: list[Problem]
    rejected: dict[str, int]
    reached: dict[str, int]
    unknown: dict[str, str]
    dropped: dict[str, str]
