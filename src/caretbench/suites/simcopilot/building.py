"""From a project to a folder of tasks: snapshot, its tests, mining, reach, gate.

Candidates are written at once, verdicts one by one; what is there already is not done again, so a build that was killed
goes on where it ended.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.errors import DataError
from caretbench.execution.snapshots import SnapshotStore
from caretbench.execution.workspace_engine import WorkspaceExecutor
from caretbench.extraction.policies import policy
from caretbench.files import Appender, write_rows
from caretbench.languages import language as language_named
from caretbench.problem import Problem
from caretbench.runs import Validity, versions
from caretbench.suites.simcopilot.base_runs import base_runs
from caretbench.suites.simcopilot.commands import NamedCheck, checks_of
from caretbench.suites.simcopilot.folder import BuildManifest, TaskFolder
from caretbench.suites.simcopilot.gating import workspace_gate
from caretbench.suites.simcopilot.mining import Miner, Origin, Wanted
from caretbench.suites.simcopilot.project import (
    Readable,
    Taken,
    languages_in,
    lay_down,
    line_count,
    read,
    take,
)
from caretbench.suites.simcopilot.reach import Reach, reached
from caretbench.suites.simcopilot.rules import mining_rules
from caretbench.suites.simcopilot.running import check_request
from caretbench.suites.simcopilot.set_up import set_up
from caretbench.suites.simcopilot.settings import CheckSettings, ProjectSettings, read_settings

Progress = Callable[[str, int, int | None], None]
_POLICY = "block"
"""The extraction that must leave every right answer as it is."""


@dataclass(frozen=True)
class BuildOptions:
    """What the user chose.

    Args:
        languages: To be mined; all that the project has by default.
        wanted: How many tasks, and of which mode.
        check: The user's word on how the project is tested.
        setup: A command that fetches what the project needs.
        exclude: Patterns of paths that are not mined.
        unverified: Keep tasks, too, for which no wrong answer was found that fails.
    """

    languages: tuple[str, ...] = ()
    wanted: Wanted = field(default_factory=Wanted)
    check: CheckSettings | None = None
    setup: str | None = None
    exclude: tuple[str, ...] = ()
    unverified: bool = False

    def stored(self) -> dict[str, JsonValue]:
        """As it stands in the manifest."""
        return {
            "languages": list(self.languages),
            "modes": list(self.wanted.modes),
            "limit": self.wanted.limit,
            "per_file": self.wanted.per_file,
            "check": self.check.model_dump(mode="json") if self.check else None,
            "setup": self.setup,
            "exclude": list(self.exclude),
            "unverified": self.unverified,
        }


class Built(NamedTuple):
    """What a build gave."""

    manifest: BuildManifest
    candidates: tuple[Problem, ...]
    verdicts: Mapping[str, Validity]
    tasks: int

    def number_of(self, verdict: str) -> int:
        """How many candidates have this verdict."""
        return sum(row.verdict == verdict for row in self.verdicts.values())

    def reasons(self) -> Counter[str]:
        """How many candidates each check of the gate refused, by ``verdict: reason``."""
        found: Counter[str] = Counter()
        for row in self.verdicts.values():
            found.update({f"{row.verdict}: {reason.partition(':')[0]}" for reason in row.reasons})
        return found

    def verdicts_by(self, label: str) -> dict[str, Counter[str]]:
        """Verdicts by a label of the candidates."""
        table: dict[str, Counter[str]] = {}
        for problem in self.candidates:
            if problem.id in self.verdicts:
                table.setdefault(problem.label(label), Counter())[self.verdicts[problem.id].verdict] += 1
        return table


@dataclass
class Builder:
    """Builds one folder of tasks.

    Args:
        engine: Runs commands in projects, and keeps their snapshots.
        decide: False: the build ends with candidates, and no task is released.
        progress: Told of steps: name, how many more, how many in all.
    """

    engine: WorkspaceExecutor
    decide: bool = True
    progress: Progress = lambda _step, _added, _total: None

    @property
    def store(self) -> SnapshotStore:
        """Where snapshots lie."""
        return self.engine.spaces.store

    def build(self, root: Path, folder: TaskFolder, options: BuildOptions) -> Built:
        """Build, or go on where a build ended.

        Raises:
            DataError: there is nothing to mine, nothing to test with, the tests do not pass, or the folder holds
                something else.
        """
        settings = read_settings(root) if root.is_dir() else ProjectSettings()
        taken = take(root, self.store, settings.ignore)
        with _locked(folder.path):
            manifest = self._begun(folder, taken, settings, options)
            if manifest is None:
                manifest = self._mine(root, taken, settings, folder, options)
            candidates = tuple(folder.candidates())
            if self.decide:
                self._decide(folder, candidates)
            verdicts = folder.validity()
            tasks = folder.finish(unverified=options.unverified) if self.decide else 0
        return Built(manifest, candidates, verdicts, tasks)

    # --- going on --------------------------------------------------------------------------------------------

    def _begun(
        self, folder: TaskFolder, taken: Taken, settings: ProjectSettings, options: BuildOptions
    ) -> BuildManifest | None:
        """The manifest of a build with the same project and options that was begun here."""
        if not folder.manifest_path.exists():
            others = [place for place in folder.path.iterdir() if not place.name.startswith(".")]
            known = {folder.candidates_path, folder.validity_path, folder.problems_path}
            if {place for place in others if place not in known and place.name != "snapshots"}:
                raise DataError(f"{folder.path}: not empty, and no folder of tasks; give another with -o")
            return None
        manifest = folder.manifest()
        wanted = _stored(options, settings, taken.snapshot.id)
        if dict(manifest.options) != wanted or manifest.seed != options.wanted.seed:
            changed = sorted(
                name
                for name in {*wanted, *manifest.options}
                if manifest.options.get(name) != wanted.get(name)
            ) or ["seed"]
            raise DataError(
                f"{folder.path}: holds tasks of another build ({', '.join(changed)} differ); give another folder with "
                "-o, or remove this one"
            )
        return manifest

    # --- up to candidates ------------------------------------------------------------------------------------

    def _mine(
        self, root: Path, taken: Taken, settings: ProjectSettings, folder: TaskFolder, options: BuildOptions
    ) -> BuildManifest:
        project_snapshot = taken.snapshot.id
        languages = _languages(taken, options.languages)
        readable = read(taken, languages, (*settings.exclude, *options.exclude))
        if not any(readable.mined.values()):
            first = next(iter(readable.passed_over.items()), None)
            why = f": {first[0]}: {first[1]}" if first else ""
            raise DataError(f"{root}: no file of {' or '.join(languages)} can be mined{why}")
        command = options.setup or settings.setup
        if command:
            self.progress("setup", 0, 1)
            named = [options.check] if options.check else settings.checks
            bundle = next((check.bundle for check in named if check.bundle), None)
            taken = set_up(self.engine, taken, command, bundle)
            self.progress("setup", 1, None)
        checks = checks_of(taken.snapshot, languages, given=options.check, settings=settings.checks)
        self.progress("tests as they are", 0, len(checks))
        base = base_runs(
            self.engine,
            taken.snapshot.id,
            checks,
            lambda done: self.progress("tests as they are", done, None),
        )
        if not base.checks:
            said = "; ".join(f"{name}: {reason}" for name, reason in base.dropped.items())
            raise DataError(f"{root}: its tests do not pass three times as it is: {said}")
        name = settings.name or root.resolve().name
        mined = self._candidates(name, taken, settings, readable, base.checks, options)
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
            dropped_checks=base.dropped,
        )
        folder.write_manifest(manifest)
        return manifest

    def _candidates(
        self,
        name: str,
        taken: Taken,
        settings: ProjectSettings,
        readable: Readable,
        checks: Sequence[NamedCheck],
        options: BuildOptions,
    ) -> _Mined:
        miner = Miner(readable.analysis)
        paths = {path for mined in readable.mined.values() for path in mined}
        self.progress("files", 0, len(paths))
        found = miner.find(paths)
        self.progress("files", len(paths), len(paths))
        problems: list[Problem] = []
        rejected = Counter(found.rejected)
        lines = dict.fromkeys(readable.mined, 0)
        waiting = set(paths)
        for entry in checks:
            own = {path for path in waiting if entry.decides(path)}
            waiting -= own
            if not own:
                continue
            reach = self._reached(entry, taken.snapshot.id, own)
            part = miner.reached(found, own, reach.covers)
            for path in own:
                source = readable.analysis[path].source
                known = path in reach.statements
                lines[source.language] += len(reach.lines(path, source)) if known else line_count(source)
            wanted = Wanted(
                options.wanted.modes,
                entry.limit if entry.limit is not None else options.wanted.limit,
                options.wanted.per_file,
                options.wanted.seed,
            )
            chosen = miner.choose(part, wanted, own)
            rejected["not_reached"] += part.rejected["not_reached"] - found.rejected["not_reached"]
            rejected["not_drawn"] += sum(len(part.candidates[path]) for path in own) - len(chosen)
            origin = Origin(name, taken.snapshot.id, settings.provenance(name), entry.check)
            problems += miner.problems(chosen, origin)
        rejected["no_check"] += sum(len(found.candidates[path]) for path in waiting)
        counts = {reason: count for reason, count in sorted(rejected.items()) if count}
        return _Mined(problems, counts, lines)

    def _reached(self, entry: NamedCheck, snapshot: str, own: set[str]) -> Reach:
        self.progress("reach", 0, None)
        found = reached(self.engine, check_request(entry.check, snapshot), own, store=self.store)
        self.progress("reach", len(own), None)
        return found

    # --- verdicts --------------------------------------------------------------------------------------------

    def _decide(self, folder: TaskFolder, candidates: Sequence[Problem]) -> None:
        gate = workspace_gate(self.engine, policy(_POLICY), store=self.store)
        with Appender(folder.validity_path) as appender:
            known = folder.validity()
            waiting = [problem for problem in candidates if problem.id not in known]
            self.progress("candidates", len(candidates) - len(waiting), len(candidates))
            for verdict in gate.decide(waiting, beside=candidates):
                appender.append(verdict)
                self.progress("candidates", 1, None)


def _stored(options: BuildOptions, settings: ProjectSettings, snapshot: str) -> dict[str, JsonValue]:
    """All that decides which tasks come out, as it stands in the manifest."""
    return {
        **options.stored(),
        "settings": settings.model_dump(mode="json", exclude_defaults=True),
        "project_snapshot": snapshot,
    }


class _Mined(NamedTuple):
    problems: list[Problem]
    rejected: dict[str, int]
    reached: dict[str, int]


def _languages(taken: Taken, chosen: Sequence[str]) -> tuple[str, ...]:
    known = mining_rules().languages
    names = tuple(dict.fromkeys(language_named(name).name for name in chosen)) or languages_in(taken)
    for name in names:
        if name not in known:
            raise DataError(f"{name} is not mined; known: {', '.join(known)}")
    if not names:
        raise DataError(f"no file in the project of a language that is mined ({', '.join(known)})")
    return names


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The folder for this process alone.

    Raises:
        DataError: another process builds in it.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: a file; give a folder with -o")
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(f"{folder}: another caretbench builds here; wait for it or stop it") from None
        yield
    finally:
        os.close(descriptor)
