"""Execution of commands in projects on several machines.

A project is sent once to each machine that lacks it, under its content hash, and stays in that machine's store. The
machines of one run must have the same tools for each language of the project's files. Verdicts are cached by the
sending process, under keys of their own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from pathlib import PurePosixPath

from caretbench.execution.cache.cache_keys import remote_project_command_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cluster.node_messages import (
    AnyBatchResult,
    LanguageEnvironment,
    NodeRequirements,
    ProjectBatch,
    ProjectBatchResult,
)
from caretbench.execution.cluster.remote_executor import (
    RemoteExecutor,
    RemoteJobRunner,
    RemoteRequestKind,
    check_same_environment,
)
from caretbench.execution.execution_types import Isolation, Status
from caretbench.execution.submission import CachedExecutor, Submission
from caretbench.execution.toolchain_tables import toolchain_tables
from caretbench.execution.workspaces.snapshot_archive import pack_snapshot
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner
from caretbench.languages import languages

BATCH = 4
"""Commands per batch. Each takes a second or more, so small batches cost little and keep all machines busy."""

_BATCH_CHARACTERS = 4_000_000
# In memory, and each may be that of a project of 512 MB.
_ARCHIVES = 2


class RemoteWorkspaceExecutor(CachedExecutor[WorkspaceRequest, WorkspaceResult]):
    """Executor of commands in projects on other machines.

    Args:
        programs: Executor of programs there: its machines and its knowledge of them are used.
        workspace_runner: Knows the projects here; by default the user's snapshots.
        cache, use_cache: As for :class:`~caretbench.execution.submission.CachedExecutor`.
    """

    def __init__(
        self,
        programs: RemoteExecutor,
        *,
        workspace_runner: WorkspaceRunner | None = None,
        cache: ResultCache | None = None,
        use_cache: bool = True,
    ) -> None:
        super().__init__(cache, use_cache=use_cache)
        self.workspace_runner = workspace_runner or WorkspaceRunner()
        self._programs = programs

    def isolation(self) -> Isolation:
        """Return the isolation on all machines."""
        return self._programs.isolation()

    def _submission(self, cache: ResultCache) -> Submission[WorkspaceRequest, WorkspaceResult]:
        projects = _RemoteProjects(cache, self._programs, self.workspace_runner)
        return Submission(projects, RemoteJobRunner(self._programs.nodes, projects))

    def close(self) -> None:
        """Release the snapshots."""
        self.workspace_runner.close()


class _RemoteProjects(RemoteRequestKind[WorkspaceRequest, WorkspaceResult]):
    """Commands in projects as a remote kind of request."""

    result_type = WorkspaceResult
    max_requests = BATCH
    max_characters = _BATCH_CHARACTERS

    def __init__(self, cache: ResultCache, programs: RemoteExecutor, workspace_runner: WorkspaceRunner) -> None:
        super().__init__(cache)
        self._programs = programs
        self._spaces = workspace_runner
        self._languages: dict[str, tuple[str, ...]] = {}
        self._archives: OrderedDict[str, bytes] = OrderedDict()

    def rejection(self, request: WorkspaceRequest) -> WorkspaceResult | None:
        # Another machine has other files at those paths, or none.
        if request.read_only:
            obstacle = "it binds folders of this machine, which cannot be sent to others; use --engine local"
        else:
            obstacles = (node_info.skip_reason for _, node_info in self._environments(request))
            obstacle = next(filter(None, obstacles), "")
        return self.unrun_result(request, Status.SKIPPED, obstacle) if obstacle else None

    def key(self, request: WorkspaceRequest) -> str:
        return remote_project_command_key(
            request,
            [(requirements, node_info.environment_key) for requirements, node_info in self._environments(request)],
        )

    def batch_group(self, request: WorkspaceRequest) -> Hashable:
        return request.snapshot, request.bundle

    def character_count(self, request: WorkspaceRequest) -> int:
        return sum(len(content or "") for content in request.patch.values())

    def batch(self, requests: tuple[WorkspaceRequest, ...], *, with_archive: bool) -> ProjectBatch:
        first = requests[0]
        return ProjectBatch(
            environments=self._environments(first),
            snapshot=first.snapshot,
            requests=requests,
            archive=self._archive(first.snapshot) if with_archive else None,
        )

    def check_node(self, request: WorkspaceRequest, result: AnyBatchResult) -> None:
        expected = dict(self._environments(request))
        if isinstance(result, ProjectBatchResult) and result.mismatch is not None and result.requirements in expected:
            check_same_environment(expected[result.requirements], result.mismatch, result.requirements)

    def results(self, result: AnyBatchResult) -> tuple[WorkspaceResult, ...]:
        return result.results if isinstance(result, ProjectBatchResult) else ()

    def _environments(self, request: WorkspaceRequest) -> tuple[LanguageEnvironment, ...]:
        """Return the tools of every language that the project holds, as all machines have them."""
        wants = [NodeRequirements(name, request.bundle) for name in self._project_languages(request.snapshot)]
        return tuple(
            LanguageEnvironment(requirements, self._programs.node_info(requirements)) for requirements in wants
        )

    def _project_languages(self, snapshot: str) -> tuple[str, ...]:
        if snapshot not in self._languages:
            suffixes = {PurePosixPath(path).suffix for path in self._spaces.snapshot(snapshot).entries}
            names = [name for name in toolchain_tables() if languages()[name].suffix in suffixes]
            # A project without a known language still needs machines that agree on something.
            self._languages[snapshot] = tuple(names or ["python"])
        return self._languages[snapshot]

    def _archive(self, snapshot: str) -> bytes:
        if snapshot not in self._archives:
            self._archives[snapshot] = pack_snapshot(self._spaces.snapshot(snapshot))
            if len(self._archives) > _ARCHIVES:
                self._archives.popitem(last=False)
        return self._archives[snapshot]
