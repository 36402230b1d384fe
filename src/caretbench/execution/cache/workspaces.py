"""Verdicts of commands in projects, kept by what decides them.

What decides is the snapshot, the patch, the command and its surroundings, the bounds, and the tools: those of ``/usr``
by the state of the system's package database, folders that are bound by names, sizes and dates of all they hold,
bundles by their lock. Kept are the same statuses as of programs: what would come out the same again.
"""

from __future__ import annotations

import hashlib
import shutil
import signal
from pathlib import Path

from pydantic import ValidationError

from caretbench.execution.cache.verdicts import ResultCache
from caretbench.execution.classification import CRITERION_VERSION, ran_out_of_its_own_time
from caretbench.execution.sandbox.bubblewrap import PATH
from caretbench.execution.workspaces.java_projects import tools_mark
from caretbench.execution.workspaces.system_marks import folder_mark, system_mark
from caretbench.execution.workspaces.workspace import WorkspaceRequest, WorkspaceResult, Workspaces
from caretbench.files import sha256_json

_FORM = "workspace 2"
_LARGEST = 2 << 20
"""Characters of a stored result. One with larger files runs again: a cache of verdicts is no store of files."""
_KILLED = 128 + signal.SIGKILL


class WorkspaceCache:
    """A cache of programs' verdicts, used for commands in projects.

    Args:
        cache: Where verdicts lie.
        spaces: Where commands run.
    """

    def __init__(self, cache: ResultCache, spaces: Workspaces) -> None:
        self._cache = cache
        self._spaces = spaces
        self._marks: dict[str, str] = {}

    def key(self, request: WorkspaceRequest) -> str:
        """The hash of what decides the verdict; the request's ``id`` does not."""
        bundle = self._spaces.bundle(request.bundle)
        program = shutil.which(request.command[0], path=request.environment.get("PATH", PATH))
        return sha256_json(
            [
                _FORM,
                CRITERION_VERSION,
                request.model_dump(exclude={"id", "patch", "read_only", "stdin", *_unsaid(request)}),
                sorted((path, _hash(content)) for path, content in request.patch.items()),
                _hash(request.stdin),
                sorted((inside, self._mark(place)) for inside, place in request.read_only.items()),
                bundle.lock_hash if bundle is not None else "",
                self._mark(program) if program else "",
                system_mark(),
                self._spaces.overlay,
                self._spaces.sandbox.probe().level,
                *([mark] if (mark := tools_mark(request.command)) else []),
            ]
        )

    def _mark(self, path: str) -> str:
        if path not in self._marks:
            place = Path(path).resolve()
            try:
                self._marks[path] = folder_mark(place)
            except OSError:
                self._marks[path] = ""
        return self._marks[path]

    def get(self, key: str) -> WorkspaceResult | None:
        """The stored result, or None. One that is damaged or not understood counts as absent."""
        text = self._cache.text(key)
        try:
            return WorkspaceResult.model_validate_json(text) if text is not None else None
        except ValidationError:
            return None

    def put(self, key: str, request: WorkspaceRequest, result: WorkspaceResult) -> bool:
        """Store a result if it would come out the same again, and is not large; gives whether it did."""
        if request.network == "index":  # what it found there is no one's verdict
            return False
        own = ran_out_of_its_own_time(
            result.status, result.reason, result.signal, result.cpu_s, result.wall_s
        )
        if not (result.status.is_repeatable or own) or _ended_from_outside(result):
            return False
        if sum(len(file.data) for file in result.files) > _LARGEST:
            return False
        text = result.model_dump_json(exclude_defaults=True)
        if len(text) > _LARGEST:
            return False
        self._cache.put_text(
            key, text, language=Path(request.command[0]).name, profile="workspace", status=result.status
        )
        return True


def _ended_from_outside(result: WorkspaceResult) -> bool:
    """Whether the machine may have ended a process of it, as a kernel does that is short of memory."""
    return result.status.ended_by_itself and (
        result.signal == signal.SIGKILL or result.exit_code in (None, _KILLED)
    )


def _unsaid(request: WorkspaceRequest) -> set[str]:
    """Fields that are younger than stored verdicts, where they say nothing: those verdicts stay."""
    return {name for name in ("python_path", "needs", "prepare") if not getattr(request, name)}


def _hash(content: str | bytes | None) -> str | None:
    if content is None:
        return None
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()
