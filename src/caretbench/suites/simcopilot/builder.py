"""From a project to a folder of tasks: snapshot, its tests, mining, reach, gate.

Candidates are written at once, verdicts one by one; what is there already is not done again, so a build that was killed
goes on where it ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.extraction.policies import policy
from caretbench.files import RowAppender, write_rows
from caretbench.problem import Problem
from caretbench.projects.base_runs import BaseRuns, base_runs, select_tests
from caretbench.projects.project import Readable, Taken, chosen_languages, lay_down, read, take
from caretbench.projects.project_check import ProjectCheck, check_project
from caretbench.projects.reach import Reach, reached
from caretbench.projects.runners import is_selected
from caretbench.projects.running import check_request
from caretbench.projects.setup.commands import NamedCheck, checks_of
from caretbench.projects.setup.needs import advised, reaches_nothing, set_up, wanted_setup
from caretbench.projects.setup.settings import ProjectSettings, read_settings
from caretbench.suites.simcopilot.build_types import BuiltTasks, SimCopilotOptions
from caretbench.suites.simcopilot.folder import BuildManifest, TaskFolder, locked
from caretbench.suites.simcopilot.mining.tasks import Miner, Origin
from caretbench.validation.workspace_gate import WorkspaceGate
from caretbench.versions import versions

Progress = Callable[[str, int, int | None], None]
_POLICY = "block"
"""The extraction that must leave every right answer as it is."""


@dataclass
class Builder:
    """Builds one folder of tasks.

    Without ``decide`` the build ends with candidates; ``progress`` is told of steps: name, how many more, how many in
    all.
    """

    engine: WorkspaceExecutor
    decide: bool = True
    progress: Progress = lambda _step, _added, _total: None
    _known: dict[str, ProjectCheck] = field(default_factory=dict, repr=False)
    """What became of a project's own tests in this process, by the command."""

    @property
    def store(self) -> SnapshotStore:
        """Where snapshots lie."""
        return self.engine.workspace_runner.store

    def build(self, root: Path, folder: TaskFolder, options: SimCopilotOptions) -> BuiltTasks:
        """Build, or go on where a build ended.

        Raises:
            DataError: there is nothing to mine, nothing to test with, the tests do not pass, or the folder holds
                something else.
        """
        settings = read_settings(root) if root.is_dir() else ProjectSettings()
        taken = take(root, self.store, settings.ignore)
        with locked(folder.path):
            manifest = self._begun(folder, taken, settings, options)
            if manifest is None:
                manifest = self._mine(root, taken, settings, folder, options)
            candidates = tuple(folder.candidates())
            if self.decide:
                self._decide(folder, candidates)
            verdicts = folder.validity()
            tasks = folder.finish(unverified=options.unverified) if self.decide else 0
        return BuiltTasks(manifest, candidates, verdicts, tasks)

    # --- going on --------------------------------------------------------------------------------------------

    def _begun(
        self, folder: TaskFolder, taken: Taken, settings: ProjectSettings, options: SimCopilotOptions
    ) -> BuildManifest | None:
        """Return the manifest of a build with the same project and options that was begun here."""
        if not folder.manifest_path.exists():
            others = [place for place in folder.path.iterdir() if not place.name.startswith(".")]
            known = {folder.candidates_path, folder.validity_path, folder.problems_path}
            if {place for place in others if place not in known and place.name != "snapshots"}:
                raise DataError(f"{folder.path}: not empty, and no folder of tasks; give another with -o")
            return None
        manifest = folder.manifest()
        wanted = _stored(options, settings, taken.snapshot.id)
        if dict(manifest.options) != wanted or manifest.seed != options.wanted.seed:
            names = {*wanted, *manifest.options}
            changed = sorted(n for n in names if manifest.options.get(n) != wanted.get(n)) or ["seed"]
            raise DataError(
                f"{folder.path}: holds tasks of another build ({', '.join(changed)} differ); give another folder with "
                "-o, or remove this one"
            )
        return manifest

    # --- up to candidates ------------------------------------------------------------------------------------

    def _mine(
        self,
        root: Path,
        taken: Taken,
        settings: ProjectSettings,
        folder: TaskFolder,
        options: SimCopilotOptions,
    ) -> BuildManifest:
        project_snapshot = taken.snapshot.id
        languages = chosen_languages(taken, options.languages)
        exclude = (*settings.exclude, *options.exclude)
        readable = read(taken, languages, exclude, most_lines=settings.most_lines)
        if not any(readable.mined.values()):
            raise DataError(f"{root}: no file of {' or '.join(languages)} can be mined{_first(readable)}")
        named = (options.check,) if options.check else settings.checks
        command = wanted_setup(options.setup or settings.setup, taken.snapshot, languages, named)
        if command:
            self.progress("setup", 0, 1)
            bundle = next((check.bundle for check in named if check.bundle), None)
            taken = set_up(self.engine, taken, command, bundle)
            self.progress("setup", 1, None)
        advice = partial(advised, snapshot=taken.snapshot, languages=languages, checks=named, done=command)
        try:
            checks = checks_of(taken.snapshot, languages, given=options.check, settings=settings.checks)
        except DataError as error:
            raise DataError(advice({"": str(error)})) from None
        base = self._base_runs(taken.snapshot.id, checks)
        if not base.checks:
            raise DataError(f"{root}: its tests do not pass three times as it is: {advice(base.dropped)}")
        self._known |= base.projects
        name = settings.name or root.resolve().name
        mined = self._candidates(name, taken, settings, readable, base, options)
        dropped = {**base.dropped, **mined.dropped}
        if len(mined.dropped) == len(base.checks):
            raise DataError(f"{root}: " + "; ".join(f"{check}: {why}" for check, why in dropped.items()))
        lay_down(taken.snapshot, folder.snapshot_path(taken.snapshot.id))
        folder.validity_path.unlink(missing_ok=True)
        write_rows(folder.candidates_path, mined.problems)
        manifest = BuildManifest(
            project=name,
            snapshot=taken.snapshot.id,
            provenance=settings.provenance(name),
            languages=languages,
            command=base.checks[0].check.command,
            options=_stored(options, settings, project_snapshot),
            seed=options.wanted.seed,
            versions=versions(),
            lines=readable.lines,
            reached_lines=mined.reached,
            passed_over=readable.passed_over,
            rejected=mined.rejected,
            unknown_reach=mined.unknown,
            dropped_checks=dropped,
            flaky_tests=base.flaky,
            order_dependent=base.order,
        )
        folder.write_manifest(manifest)
        return manifest

    def _base_runs(self, snapshot: str, checks: Sequence[NamedCheck]) -> BaseRuns:
        """Run the tests as they are."""
        title = "tests as they are"
        self.progress(title, 0, len(checks))
        return base_runs(self.engine, snapshot, checks, lambda done: self.progress(title, done, None))

    def _candidates(
        self,
        name: str,
        taken: Taken,
        settings: ProjectSettings,
        readable: Readable,
        base: BaseRuns,
        options: SimCopilotOptions,
    ) -> _Mined:
        miner = Miner(readable.analysis)
        paths = {path for mined in readable.mined.values() for path in mined}
        self.progress("files", 0, len(paths))
        found = miner.find(paths)
        self.progress("files", len(paths), len(paths))
        problems: list[Problem] = []
        rejected = Counter(found.rejected)
        lines = dict.fromkeys(readable.mined, 0)
        unknown: dict[str, str] = {}
        dropped: dict[str, str] = {}
        waiting = set(paths)
        for entry in base.checks:
            own = {path for path in waiting if entry.decides(path)}
            waiting -= own
            if not own:
                continue
            reach = self._reached(entry, taken.snapshot.id, own)
            if reach.nothing:
                dropped[entry.name] = reaches_nothing(entry)
                rejected["not_reached"] += sum(len(found.candidates[path]) for path in own)
                continue
            unknown.update(reach.unknown)
            part = miner.reached(found, own, reach.covers)
            by_path = {path: readable.analysis[path].source for path in own}
            hit = {path: len(reach.lines(path, source)) for path, source in by_path.items()}
            for path, count in hit.items():
                lines[by_path[path].language] += count
            chosen = miner.choose(part, options.wanted.of_check(entry.limit, sum(hit.values())), own)
            rejected["not_reached"] += part.rejected["not_reached"] - found.rejected["not_reached"]
            rejected["not_drawn"] += sum(len(part.candidates[path]) for path in own) - len(chosen)
            by_file = {path: entry.check_for(path) for path in own}
            origin = Origin(name, taken.snapshot.id, settings.provenance(name), entry.check, by_file)
            made = miner.problems(chosen, origin)
            problems += made if entry.name in base.order else self._selected(made, entry, reach)
        rejected["no_check"] += sum(len(found.candidates[path]) for path in waiting)
        counts = {reason: count for reason, count in sorted(rejected.items()) if count}
        return _Mined(problems, counts, lines, dict(sorted(unknown.items())), dropped)

    def _reached(self, entry: NamedCheck, snapshot: str, own: set[str]) -> Reach:
        self.progress("reach", 0, None)
        found = reached(self.engine, check_request(entry.check_for(*own), snapshot), own, store=self.store)
        self.progress("reach", len(own), None)
        return found

    def _selected(self, problems: Sequence[Problem], entry: NamedCheck, reach: Reach) -> Sequence[Problem]:
        """Return the same, decided by the tests that reach them, where those are known."""
        if not reach.all_tests:
            return problems
        self.progress("tests of tasks", 0, None)
        found = select_tests(self.engine, problems, entry.check, reach)
        self.progress("tests of tasks", len(found.projects), None)
        self._known |= found.projects
        return found.problems

    # --- verdicts --------------------------------------------------------------------------------------------

    def _decide(self, folder: TaskFolder, candidates: Sequence[Problem]) -> None:
        gate = WorkspaceGate(
            self.engine,
            policy(_POLICY),
            store=self.store,
            reach=Reach(),  # what is not reached was left out when candidates were found
            known=self._project,
        )
        with RowAppender(folder.validity_path) as appender:
            known = folder.validity()
            waiting = [problem for problem in candidates if problem.id not in known]
            self.progress("candidates", len(candidates) - len(waiting), len(candidates))
            for verdict in gate.decide(waiting, beside=candidates):
                appender.append(verdict)
                self.progress("candidates", 1, None)

    def _project(self, request: WorkspaceRequest) -> ProjectCheck | None:
        """What became of the project's own tests; chosen ones, which passed with all others, run once."""
        known = self._known.get(repr(request))
        if known is None and is_selected(request):
            return check_project(self.engine, request, runs=1)
        return known


def _first(readable: Readable) -> str:
    """Return the first file that was passed over, with the reason, as the end of a message."""
    return next((f": {path}: {why}" for path, why in readable.passed_over.items()), "")


def _stored(options: SimCopilotOptions, settings: ProjectSettings, snapshot: str) -> dict[str, JsonValue]:
    """Return all that decides which tasks come out, as it stands in the manifest."""
    return {
        **options.stored(),
        "settings": settings.model_dump(mode="json", exclude_defaults=True),
        "project_snapshot": snapshot,
    }


class _Mined(NamedTuple):
    problems: list[Problem]
    rejected: dict[str, int]
    reached: dict[str, int]
    unknown: dict[str, str]
    dropped: dict[str, str]
