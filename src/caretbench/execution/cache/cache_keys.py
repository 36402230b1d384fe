"""Cache keys of programs and of commands in projects: hashes of all their inputs.

A key never holds what does not decide: the ``id`` of a request, or the time. Requests with the same key are the same.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from caretbench.execution.classification import CRITERION_VERSION
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.execution.sandbox.bubblewrap import PATH, script_text
from caretbench.execution.workspaces.project_tools import java_tools_fingerprint, tools_of_command
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest
from caretbench.files import sha256_json

# Raised when the same command would run otherwise: verdicts under the old key are not found any more.
_PROJECT, _REMOTE_PROJECT, _PREPARED = "workspace 2", "project elsewhere 1", "prepared 1"
_NOT_IN_KEYS = {"id", "patch", "stdin", "is_reference", "reference_cpu_s"}
"""Fields of a command that do not decide, or are hashed by their contents."""
# Of Debian, Fedora, Arch and Alpine, and the folders of what is installed by hand: a command may use anything of /usr.
_PACKAGES = (
    "/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/Packages", "/usr/lib/sysimage/rpm/rpmdb.sqlite",
    "/var/lib/pacman/local", "/lib/apk/db/installed", "/usr/local/bin", "/usr/local/lib",
)  # fmt: skip


def program_key(request: ExecutionRequest, *, toolchain: str, bundle: str) -> str:
    """Return the hash of a compiled program's inputs: text, flags, tools and packages."""
    return sha256_json(
        [
            request.source, request.language, request.profile, request.variant, bundle, toolchain, CRITERION_VERSION,
            *(["no sentinel"] if request.rules.sentinel and not request.sentinel else []),
        ]
    )  # fmt: skip


def verdict_key(request: ExecutionRequest, *, toolchain: str, bundle: str) -> str:
    """Return the hash of a verdict's inputs: the program, its needs, its limits and the repeat number.

    ``toolchain`` is the toolchain's fingerprint, ``bundle`` the lock hash of the bundle, empty without one.
    """
    program = program_key(request, toolchain=toolchain, bundle=bundle)
    # Nothing is added where there are none, so that the other verdicts keep their keys.
    lines = [list(request.answer_lines)] if request.answer_lines else []
    cases = [request.comparison, *(case.model_dump() for case in request.cases)] if request.cases else []
    limits = request.limits.model_dump()
    return sha256_json([program, sorted(request.needs), limits, request.repeat, *lines, *cases, *_watch(request)])


def _watch(request: ExecutionRequest | WorkspaceRequest) -> list[str]:
    return [hashlib.sha256(script_text("access_watch.py")).hexdigest()] if request.watched else []


def project_command_key(
    request: WorkspaceRequest, *, bundle: str, overlay: bool, level: str, path_fingerprints: Callable[[str], str]
) -> str:
    """Return the hash of all inputs of a command in a project on this machine.

    That is the snapshot, the patch, the command and its surroundings, the bounds, and the tools: those of ``/usr`` by
    the state of the system's package database, folders that are bound by names, sizes and dates of all they hold,
    bundles by their lock.

    Args:
        request: The command.
        bundle: The lock hash of its bundle, empty without one.
        overlay: Projects are laid over their snapshots.
        level: The isolation level.
        path_fingerprints: Marks of the contents of paths of this machine (:func:`path_fingerprint`).
    """
    program = shutil.which(request.command[0], path=request.environment.get("PATH", PATH))
    return sha256_json(
        [
            _PROJECT,
            CRITERION_VERSION,
            request.model_dump(exclude=_NOT_IN_KEYS | {"read_only"} | _empty_new_fields(request)),
            *_contents(request),
            sorted((inside, path_fingerprints(path)) for inside, path in request.read_only.items()),
            bundle,
            # It may have been replaced by hand, which no package database notes.
            path_fingerprints(program) if program else "",
            system_fingerprint(),
            overlay,
            level,
            *([mark] if (mark := java_tools_fingerprint(request.command)) else []),
            *_tools(request.command),
            *_watch(request),
        ]
    )


def remote_project_command_key(request: WorkspaceRequest, environments: Sequence[object]) -> str:
    """Return the key of a command on other machines; ``environments`` are their tools, one per language."""
    newer = {"total_result_bytes", "watched"} & _empty_new_fields(request)
    fields = request.model_dump(mode="json", exclude=_NOT_IN_KEYS | newer)
    return sha256_json([_REMOTE_PROJECT, CRITERION_VERSION, fields, *_contents(request), list(environments)])


def prepared_project_key(request: WorkspaceRequest, *, bundle: str) -> str:
    """Return the hash of the inputs of a prepared project; ``bundle``: its lock hash."""
    return sha256_json(
        [
            _PREPARED, request.snapshot, request.prepare, request.directory, sorted(request.environment.items()),
            sorted(request.read_only.items()), bundle, java_tools_fingerprint(request.prepare), system_fingerprint(),
            *_tools(request.prepare),
        ]
    )  # fmt: skip


def _tools(command: Sequence[str]) -> list[str]:
    """Return folders and versions of the toolchains that a command names and the package database does not know."""
    return [f"{tool.root} {tool.version}" for tool in tools_of_command(command)]


def folder_fingerprint(path: Path) -> str:
    """Return a hash of the names, sizes and dates of all files below a path; OSError if it does not exist."""
    digest = hashlib.sha256(_status_line(path).encode())
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted([*folders, *files]):
            file = Path(folder) / name
            digest.update(os.fsencode(file.relative_to(path)) + b"\0" + _status_line(file).encode())
    return digest.hexdigest()


def _status_line(path: Path) -> str:
    status = path.lstat()
    # Dates instead of contents: a toolchain has hundreds of megabytes, and whatever changes a file changes its date.
    return f"{status.st_mode:o} {status.st_size} {status.st_mtime_ns}\0"


@cache
def system_fingerprint() -> str:
    """Return a hash over the system's package database; it changes with the installed packages. Cached per process."""
    there = [(path, _status_line(Path(path))) for path in _PACKAGES if Path(path).exists()]
    return sha256_json([platform.machine(), there])


def path_fingerprint(path: str) -> str:
    """Return a hash of the contents of a path of this machine; empty where nothing can be read."""
    try:
        return folder_fingerprint(Path(path).resolve())
    except OSError:
        return ""


def _empty_new_fields(request: WorkspaceRequest) -> set[str]:
    """Return the fields that were added since verdicts were stored, while they are empty: no part of the key."""
    newer = ("python_path", "needs", "prepare", "total_result_bytes", "watched")
    return {name for name in newer if not getattr(request, name)}


def _contents(request: WorkspaceRequest) -> tuple[object, object]:
    """Return the hashes of the patch and of standard input."""
    return sorted((path, _hash(content)) for path, content in request.patch.items()), _hash(request.stdin)


def _hash(content: str | bytes | None) -> str | None:
    if content is None:
        return None
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()
