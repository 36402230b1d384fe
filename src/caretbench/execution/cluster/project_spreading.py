"""Commands in projects over several machines.

A project travels once to each machine that lacks it, named by the hash of what is in it, and stays in the store there.
Which tools decide is told by the languages of its files: machines of one run have the same of each. Verdicts are kept
by the process that asks, apart from those of its own machine.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from pathlib import PurePosixPath

from caretbench.execution.cache.verdicts import ResultCache, opened
from caretbench.execution.cache.workspaces import WorkspaceCache
from caretbench.execution.classification import CRITERION_VERSION
from caretbench.execution.cluster.chunks import Chunks
from caretbench.execution.cluster.nodes import AnyAnswer, Ground, ProjectAnswer, ProjectOrder, Want
from caretbench.execution.cluster.parcels import packed
from caretbench.execution.cluster.spreading import SpreadingExecutor, check_alike
from caretbench.execution.toolchains import RUNTIMES
from caretbench.execution.types import Isolation, Progress, Status
from caretbench.execution.workspaces.workspace import WorkspaceRequest, WorkspaceResult, Workspaces
from caretbench.files import sha256_json
from caretbench.languages import languages

CHUNK = 4
"""Commands that travel together: each takes a second or more, so sending costs little, and machines stay busy."""

_FORM = "project elsewhere 1"
_CHUNK_CHARACTERS = 4_000_000
_PARCELS = 2


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
            trade = _Projects(WorkspaceCache(cache, self.spaces), self._programs, self.spaces)
            for given, result in enumerate(Chunks(self._programs.nodes, trade).results(requests), 1):
                self._progress(given)
                yield result

    def close(self) -> None:
        """Let the snapshots go."""
        self.spaces.close()


class _Projects:
    """Commands in projects as a :class:`caretbench.execution.cluster.chunks.Trade`."""

    chunk = CHUNK
    most_characters = _CHUNK_CHARACTERS

    def __init__(self, cache: WorkspaceCache, programs: SpreadingExecutor, spaces: Workspaces) -> None:
        self._cache = cache
        self._programs = programs
        self._spaces = spaces
        self._languages: dict[str, tuple[str, ...]] = {}
        self._parcels: OrderedDict[str, bytes] = OrderedDict()

    def obstacle(self, request: WorkspaceRequest) -> str:
        if request.read_only:
            return "it binds folders of this machine, which cannot be sent to others; use --engine local"
        return next((footing.obstacle for _, footing in self._grounds(request) if footing.obstacle), "")

    def key(self, request: WorkspaceRequest) -> str:
        return sha256_json(
            [
                _FORM,
                CRITERION_VERSION,
                request.model_dump(mode="json", exclude={"id", "patch", "stdin"}),
                sorted((path, _hash(content)) for path, content in request.patch.items()),
                _hash(request.stdin),
                [(want, footing.ground) for want, footing in self._grounds(request)],
            ]
        )

    def group(self, request: WorkspaceRequest) -> Hashable:
        return request.snapshot, request.bundle

    def size(self, request: WorkspaceRequest) -> int:
        return sum(len(content or "") for content in request.patch.values())

    def known(self, key: str) -> WorkspaceResult | None:
        return self._cache.get(key)

    def keep(self, key: str, request: WorkspaceRequest, result: WorkspaceResult) -> None:
        self._cache.put(key, request, result)

    def without(self, request: WorkspaceRequest, status: Status, reason: str) -> WorkspaceResult:
        return WorkspaceResult(id=request.id, status=status, reason=reason)

    def order(self, requests: tuple[WorkspaceRequest, ...], *, full: bool) -> ProjectOrder:
        first = requests[0]
        return ProjectOrder(
            grounds=self._grounds(first),
            snapshot=first.snapshot,
            requests=requests,
            parcel=self._parcel(first.snapshot) if full else None,
        )

    def refuse(self, request: WorkspaceRequest, answer: AnyAnswer) -> None:
        found = dict(self._grounds(request))
        if isinstance(answer, ProjectAnswer) and answer.unlike is not None and answer.want in found:
            check_alike(found[answer.want], answer.unlike, answer.want)

    def results(self, answer: AnyAnswer) -> tuple[WorkspaceResult, ...]:
        return answer.results if isinstance(answer, ProjectAnswer) else ()

    def _grounds(self, request: WorkspaceRequest) -> tuple[Ground, ...]:
        """The tools of every language that the project holds, as all machines have them."""
        wants = [Want(name, request.bundle) for name in self._spoken(request.snapshot)]
        return tuple(Ground(want, self._programs.footing(want)) for want in wants)

    def _spoken(self, snapshot: str) -> tuple[str, ...]:
        if snapshot not in self._languages:
            suffixes = {PurePosixPath(path).suffix for path in self._spaces.snapshot(snapshot).entries}
            known = [name for name in RUNTIMES if languages()[name].suffix in suffixes]
            self._languages[snapshot] = tuple(known or ["python"])
        return self._languages[snapshot]

    def _parcel(self, snapshot: str) -> bytes:
        if snapshot not in self._parcels:
            self._parcels[snapshot] = packed(self._spaces.snapshot(snapshot))
            if len(self._parcels) > _PARCELS:
                self._parcels.popitem(last=False)
        return self._parcels[snapshot]


def _hash(content: str | bytes | None) -> str | None:
    if content is None:
        return None
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()
