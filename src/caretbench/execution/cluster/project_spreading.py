"""Commands in projects over several machines.

A project travels once to each machine that lacks it, named by the hash of what is in it, and stays in the store there.
Which tools decide is told by the languages of its files: machines of one run have the same of each. Verdicts are kept
by the process that asks, apart from those of its own machine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from pathlib import PurePosixPath

from caretbench.execution.cache.keys import remote_project_key
from caretbench.execution.cache.verdicts import ResultCache, opened
from caretbench.execution.cluster.archives import packed
from caretbench.execution.cluster.batches import RemoteRuns
from caretbench.execution.cluster.nodes import AnyBatchResult, Ground, ProjectBatch, ProjectBatchResult, Want
from caretbench.execution.cluster.spreading import SpreadingExecutor, check_alike
from caretbench.execution.language_tables import toolchain_tables
from caretbench.execution.submission import Submission
from caretbench.execution.types import Isolation, Progress, Status
from caretbench.execution.workspaces.workspace import WorkspaceRequest, WorkspaceResult, Workspaces
from caretbench.languages import languages

BATCH = 4
"""Commands that travel together: each takes a second or more, so sending costs little, and machines stay busy."""

_BATCH_CHARACTERS = 4_000_000
_ARCHIVES = 2


class SpreadingWorkspaceExecutor:
    """Runs commands in projects on other machines.

    Args:
        programs: What runs programs there: its machines are used, and what it found out of them.
        spaces: Where the projects lie here; the user's snapshots by default.
        cache: Where verdicts are kept, on this machine; the user's cache by default.
        use_cache: False: a cache for each ``submit`` alone, which forgets everything.
        progress: Called with the number of results given, after each.
    """

    def __init__(
        self,
        programs: SpreadingExecutor,
        *,
        spaces: Workspaces | None = None,
        cache: ResultCache | None = None,
        use_cache: bool = True,
        progress: Progress = lambda _given: None,
    ) -> None:
        self.spaces = spaces or Workspaces()
        self._programs = programs
        self._cache = cache
        self._use_cache = use_cache or cache is not None
        self._progress = progress

    def isolation(self) -> Isolation:
        """The walls on all machines.

        Raises:
            MachineError: there is no machine, or no sandbox on one of them.
        """
        return self._programs.isolation()

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        """Results as they come, one per request.

        A request that cannot travel (it binds folders of this machine) is ``skipped``, with the reason.

        Raises:
            DataError: a snapshot is not here, damaged, or too large to be sent.
            MachineError: machines differ in what decides a verdict, or cannot run programs.
        """
        with opened(self._cache, use_cache=self._use_cache) as cache:
            projects = _RemoteProjects(cache, self._programs, self.spaces)
            submission = Submission(projects, RemoteRuns(self._programs.nodes, projects))
            for given, result in enumerate(submission.results(requests), 1):
                self._progress(given)
                yield result

    def close(self) -> None:
        """Let the snapshots go."""
        self.spaces.close()


class _RemoteProjects:
    """Commands in projects as a :class:`caretbench.execution.cluster.batches.RemoteKind`."""

    most_requests = BATCH
    most_characters = _BATCH_CHARACTERS

    def __init__(self, cache: ResultCache, programs: SpreadingExecutor, spaces: Workspaces) -> None:
        self._cache = cache
        self._programs = programs
        self._spaces = spaces
        self._languages: dict[str, tuple[str, ...]] = {}
        self._archives: OrderedDict[str, bytes] = OrderedDict()

    def refused(self, request: WorkspaceRequest) -> WorkspaceResult | None:
        if request.read_only:
            obstacle = "it binds folders of this machine, which cannot be sent to others; use --engine local"
        else:
            found = (footing.obstacle for _, footing in self._grounds(request))
            obstacle = next(filter(None, found), "")
        return self.without(request, Status.SKIPPED, obstacle) if obstacle else None

    def key(self, request: WorkspaceRequest) -> str:
        return remote_project_key(
            request, [(want, footing.ground) for want, footing in self._grounds(request)]
        )

    def known(self, key: str) -> WorkspaceResult | None:
        return self._cache.get_project(key)

    def keep(self, key: str, request: WorkspaceRequest, result: WorkspaceResult) -> None:
        self._cache.put(key, request, result)

    def remembers(self, result: WorkspaceResult) -> bool:
        del result  # what took a machine down is not sent out again
        return True

    def group(self, request: WorkspaceRequest) -> Hashable:
        return request.snapshot, request.bundle

    def size(self, request: WorkspaceRequest) -> int:
        return sum(len(content or "") for content in request.patch.values())

    def without(self, request: WorkspaceRequest, status: Status, reason: str) -> WorkspaceResult:
        return WorkspaceResult(id=request.id, status=status, reason=reason)

    def batch(self, requests: tuple[WorkspaceRequest, ...], *, full: bool) -> ProjectBatch:
        first = requests[0]
        return ProjectBatch(
            grounds=self._grounds(first),
            snapshot=first.snapshot,
            requests=requests,
            archive=self._archive(first.snapshot) if full else None,
        )

    def refuse(self, request: WorkspaceRequest, result: AnyBatchResult) -> None:
        found = dict(self._grounds(request))
        if isinstance(result, ProjectBatchResult) and result.unlike is not None and result.want in found:
            check_alike(found[result.want], result.unlike, result.want)

    def results(self, result: AnyBatchResult) -> tuple[WorkspaceResult, ...]:
        return result.results if isinstance(result, ProjectBatchResult) else ()

    def _grounds(self, request: WorkspaceRequest) -> tuple[Ground, ...]:
        """The tools of every language that the project holds, as all machines have them."""
        wants = [Want(name, request.bundle) for name in self._spoken(request.snapshot)]
        return tuple(Ground(want, self._programs.footing(want)) for want in wants)

    def _spoken(self, snapshot: str) -> tuple[str, ...]:
        if snapshot not in self._languages:
            suffixes = {PurePosixPath(path).suffix for path in self._spaces.snapshot(snapshot).entries}
            known = [name for name in toolchain_tables() if languages()[name].suffix in suffixes]
            self._languages[snapshot] = tuple(known or ["python"])
        return self._languages[snapshot]

    def _archive(self, snapshot: str) -> bytes:
        if snapshot not in self._archives:
            self._archives[snapshot] = packed(self._spaces.snapshot(snapshot))
            if len(self._archives) > _ARCHIVES:
                self._archives.popitem(last=False)
        return self._archives[snapshot]
