"""Results of a build's own commands, kept over a stop: set-up, tests on the unchanged project, reach.

Each result is stored as soon as it is there, and a resumed build repeats none of them: it is faster, and gives the same
tasks as an unbroken one, since limits and reach follow from the same measurements. The file is removed when the build
is complete. An error leaves only the set-up in it, so that the next attempt runs the tests again.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from caretbench.build.projects.project_check import ProjectCheck
from caretbench.errors import DataError
from caretbench.execution.execution_types import Isolation, Status
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine, WorkspaceExecutor
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.files import RowAppender, read_appended, sha256_text, write_rows
from caretbench.problem import Row
from caretbench.versions import versions

_CHECK: Final = TypeAdapter(ProjectCheck)
_LOCK_TRIES, _LOCK_WAIT_S = 50, 0.1


class BoundedExecutor(WorkspaceExecutor):
    """Executor that calls ``check`` before it runs requests and after each result; its error ends the others.

    ``cpu_s`` are the CPU seconds of its commands so far; results from the cache cost nothing.
    """

    def __init__(
        self, workers: int | None = None, *, workspace_runner: WorkspaceRunner | None = None, check: Callable[[], None]
    ) -> None:
        super().__init__(workers, workspace_runner=workspace_runner)
        self._check = check
        self.cpu_s = 0.0

    def submit(self, requests: Iterable[WorkspaceRequest | None]) -> Iterator[WorkspaceResult]:
        """Yield results as they complete; closed early, or after an error of the check, it cancels running jobs."""
        self._check()
        for result in super().submit(requests):
            self.cpu_s += 0.0 if result.cached else result.cpu_s
            yield result
            self._check()


StepKind = Literal["setup", "command", "check", "drawn"]
"""Set-up (the id of its snapshot), one command, the summary of a project's own tests, or the sample of candidates."""


class BuildStep(Row):
    """One stored result: ``text`` by kind and ``key``, the hash of the inputs."""

    kind: StepKind
    key: str
    text: str


class BuildSteps:
    """Results of a build's steps in one JSONL file, by the hash of their inputs; without a path they are not stored."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._rows = {(row.kind, row.key): row for row in (read_appended(path, BuildStep) if path else ())}
        self._used: set[tuple[StepKind, str]] = set()
        self.counts: Counter[str] = Counter()
        """Number of steps in this process by kind: those that ran, and those that were kept (``command kept``)."""

    @contextlib.contextmanager
    def keeping_setup(self) -> Iterator[None]:
        """Remove everything but the set-up where the block ends with an error; a stop is no error."""
        try:
            yield
        # The user will change the tests after an error; the set-up took minutes, and does not depend on them.
        except Exception:
            self._rows = {key: row for key, row in self._rows.items() if row.kind == "setup"}
            if self.path is not None and self._rows:
                write_rows(self.path, self._rows.values())
            elif self.path is not None:
                self.path.unlink(missing_ok=True)
            raise

    def set_up(self, store: SnapshotStore, inputs: Sequence[str], run: Callable[[], Snapshot]) -> Snapshot:
        """Return the snapshot of an earlier set-up with these inputs, else that of ``run``."""
        stored = self.get("setup", *inputs)
        if stored is not None:
            with contextlib.suppress(DataError):  # removed or damaged since
                return store.get(stored)
        snapshot = run()
        self.store(snapshot.id, "setup", *inputs)
        return snapshot

    def get(self, kind: StepKind, *inputs: str) -> str | None:
        """Return the stored text of a step, or None."""
        key = (kind, _key(inputs))
        self._used.add(key)
        return self._rows[key].text if key in self._rows else None

    def store(self, text: str, kind: StepKind, *inputs: str) -> None:
        """Store the text of a step."""
        row = BuildStep(kind=kind, key=_key(inputs), text=text)
        if self.path is not None and self._rows.get((kind, row.key)) != row:
            with self._appender(self.path) as appender:
                appender.append(row)
            self._rows[kind, row.key] = row
        self._used.add((kind, row.key))

    @staticmethod
    def _appender(path: Path) -> RowAppender:
        """Return the open file; a command that another thread is just starting holds its lock for a moment."""
        for _ in range(_LOCK_TRIES):
            with contextlib.suppress(DataError):
                return RowAppender(path)
            time.sleep(_LOCK_WAIT_S)
        return RowAppender(path)

    def drop_unused(self) -> None:
        """Remove the results that nobody asked for, or stored, in this process."""
        self._rows = {key: row for key, row in self._rows.items() if key in self._used}
        if self.path is not None:
            write_rows(self.path, self._rows.values())

    def check(self, command: str) -> ProjectCheck | None:
        """Return the stored result of the project's own tests under a command, or None."""
        text = self.get("check", command)
        # A row of another version of the class: the tests run once more.
        with contextlib.suppress(ValidationError):
            return _CHECK.validate_json(text) if text is not None else None
        return None

    def store_check(self, command: str, check: ProjectCheck) -> None:
        """Store the result of the project's own tests under a command."""
        self.store(_CHECK.dump_json(check).decode(), "check", command)

    def remove(self) -> None:
        """Remove the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        self._rows.clear()


def _key(inputs: Iterable[str]) -> str:
    return sha256_text(*(f"{name} {version}" for name, version in sorted(versions().items())), *inputs)


class StoringEngine:
    """Engine that takes results of earlier attempts of a build from its steps, and stores new ones there.

    A result for which the machine may be the reason is not stored. ``key`` returns the key of a command, by default all
    of it, or None for one whose result is not stored.
    """

    def __init__(
        self, engine: WorkspaceEngine, steps: BuildSteps, key: Callable[[WorkspaceRequest], str | None] | None = None
    ) -> None:
        self._engine, self._steps, self._key = engine, steps, key or _inputs

    def isolation(self) -> Isolation:
        """Return the isolation in force."""
        return self._engine.isolation()

    def knows(self, request: WorkspaceRequest) -> bool:
        """Return whether the result of a command is stored."""
        key = self._key(request)
        return key is not None and self._steps.get("command", key) is not None

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        """Yield results as they complete, those of earlier attempts first."""
        waiting: dict[str, WorkspaceRequest] = {}
        keys: dict[str, str | None] = {}
        for request in requests:
            keys[request.id] = key = self._key(request)
            text = None if key is None else self._steps.get("command", key)
            try:
                stored = WorkspaceResult.model_validate_json(text) if text is not None else None
            except ValidationError:
                stored = None
            if stored is None:
                waiting[request.id] = request
            else:
                self._steps.counts["command kept"] += 1
                yield stored.model_copy(update={"id": request.id, "cached": True})
        for result in self._engine.submit(waiting.values()):
            key = keys[result.id]
            self._steps.counts["command"] += 1
            # A fault of the machine must not be stored: the next attempt may have the memory or the time.
            if key is not None and result.status.is_repeatable:
                self._steps.store(result.model_dump_json(), "command", key)
            yield result


class LaterRuns:
    """Engine that takes a passing run's result for those of its repetitions, and runs these beside later commands.

    So the next step begins after one run. Its user asks ``engine`` for the repetitions at the end, which has stored
    their results by then.
    """

    def __init__(self, engine: StoringEngine) -> None:
        self._engine = engine
        self._passed: dict[str, WorkspaceResult] = {}
        self._waiting: list[WorkspaceRequest] = []

    def isolation(self) -> Isolation:
        """Return the isolation in force."""
        return self._engine.isolation()

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        """Yield results as they complete; as many waiting repetitions run as there are commands."""
        now: dict[str, str] = {}
        commands: list[WorkspaceRequest] = []
        for request in requests:
            key = _inputs(request.model_copy(update={"repeat": 0, "watched": False}))
            first = self._passed.get(key) if request.repeat and not self._engine.knows(request) else None
            if first is not None:
                self._waiting.append(request.model_copy(update={"id": f"later {len(self._waiting)} {request.id}"}))
                yield first.model_copy(update={"id": request.id})
            else:
                now[request.id] = key
                commands.append(request)
        beside, self._waiting = self._waiting[: len(commands)], self._waiting[len(commands) :]
        for result in self._engine.submit([*commands, *beside]):
            if result.id in now:
                if result.status is Status.PASSED:
                    self._passed[now[result.id]] = result
                yield result


def _inputs(request: WorkspaceRequest) -> str:
    return repr(request.model_copy(update={"id": ""}))


class MeteredEngine:
    """Engine that adds up the CPU seconds of its results; results from a cache cost nothing."""

    def __init__(self, engine: WorkspaceEngine) -> None:
        self._engine = engine
        self.cpu_s = 0.0

    def isolation(self) -> Isolation:
        """Return the isolation in force."""
        return self._engine.isolation()

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        """Yield results as they complete."""
        for result in self._engine.submit(requests):
            self.cpu_s += 0.0 if result.cached else result.cpu_s
            yield result
