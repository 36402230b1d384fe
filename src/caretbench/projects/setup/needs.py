"""Packages that a project's tests lack: what is said, what ``--setup auto`` runs, and the setup itself.

It runs once, before anything is measured, in a sandbox that reaches package indexes and nothing else. What it leaves in
the project (installed packages, compiled libraries) becomes a part of the snapshot that the tests run in; it is never
mined.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.types import Status
from caretbench.execution.workspaces.snapshot_archive import (
    MOST_PARTS,
    PART_BYTES,
    PART_MB,
    RESULTS,
    add_command_outputs,
    packing_command,
)
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import (
    WORKSPACE_LIMITS,
    WorkspaceRequest,
    WorkspaceResult,
)
from caretbench.projects.project import Taken
from caretbench.projects.runners import runs_pytest
from caretbench.projects.setup import package_scripts, python_needs
from caretbench.projects.setup.commands import NamedCheck, detect
from caretbench.projects.setup.settings import CheckSettings

AUTO: Final = "auto"
"""The word for the setup that a project's files tell."""
_JAVASCRIPT = frozenset({"javascript", "typescript"})
_LACKS = re.compile(
    r"missing_dependency|command_not_found|No module named|ModuleNotFoundError|PackageNotFoundError"
    r"|[Cc]annot find (?:module|package)|Cannot resolve|Failed to (?:resolve|load)|ERR_MODULE_NOT_FOUND|: not found"
    r"|fixture '\w+' not found|[Uu]nrecognized arguments|node_modules"
)


_NO_FILE = re.compile(r"\bENOENT\b|No such file or directory|FileNotFoundError")
_RUNNER = re.compile(r"No module named '?(pytest)\b")
"""A runner that has a bundle of its own."""


def setup_command(
    snapshot: Snapshot, languages: Collection[str], checks: Sequence[CheckSettings] = ()
) -> str | None:
    """The command that fetches what a project's tests need, by what its files name; None where they name nothing."""
    parts = []
    if "python" in languages:
        found = () if checks else (detect(snapshot, ["python"])[0],)
        commands = [check.command for check in (*checks, *found) if check is not None]
        runner = "pytest" if any(runs_pytest([command]) for command in commands) else None
        parts.append(python_needs.install(snapshot, runner))
    if _JAVASCRIPT & set(languages):
        parts.append(package_scripts.install(snapshot))
    return " && ".join(part for part in parts if part) or None


def wanted_setup(
    said: str | None, snapshot: Snapshot, languages: Collection[str], checks: Sequence[CheckSettings] = ()
) -> str | None:
    """Return the setup to run; for the word ``auto`` what the project's files tell.

    Raises:
        DataError: they tell nothing.
    """
    if said is None or said.strip() != AUTO:
        return said
    found = setup_command(snapshot, languages, checks)
    if found is None:
        raise DataError(
            "--setup auto: the project's files name no packages; leave it out, or give the command that installs them"
        )
    return found


def advised(
    faults: Mapping[str, str],
    snapshot: Snapshot,
    languages: Collection[str],
    checks: Sequence[CheckSettings],
    done: str | None,
) -> str:
    """Faults in one line, with what to write where packages are missing; ``done`` is the setup that ran."""
    said = "; ".join(f"{name}: {reason}" if name else reason for name, reason in faults.items())
    if ".gitmodules" in snapshot.entries and _NO_FILE.search(said):
        said += (
            "; it has git submodules: `git submodule update --init` fetches them; "
            "or leave their tests out of --test-command"
        )
    if not _LACKS.search(said):
        return said
    if done is not None:
        return f"{said}; the setup that ran was `{done}`: name what is missing there"
    command = setup_command(snapshot, languages, checks)
    if command is None:
        return said
    added = f"add --setup {AUTO}, which runs `{command}` before the tests; or name a bundle with --bundle"
    alone = _RUNNER.search(said)
    built = f"; `caretbench deps build tools/{alone[1]}` where nothing else is missing" if alone else ""
    return f"{said}; if packages are missing, {added}{built}"


def reaches_nothing(entry: NamedCheck) -> str:
    """Why a check whose tests run no line to mine is left out."""
    tests = entry.check.minimum_tests
    counted = f"{tests} tests pass" if tests else "the command ends well"
    return (
        f"reaches_nothing: {counted}, but no line of the files to mine is run (`{' '.join(entry.check.command)}`); "
        "name the command that tests them with --test-command, and see whether it tests an installed copy instead"
    )


_LIMITS: Final = WORKSPACE_LIMITS.model_copy(
    update={"wall_s": 1800.0, "cpu_s": 900.0, "tmp_mb": 2048, "fsize_mb": 1024, "memory_mb": 4096}
)


def set_up(engine: WorkspaceExecutor, taken: Taken, command: str, bundle: str | None = None) -> Taken:
    """Return the project with what the command left in it; the files that belong to the project stay the same ones.

    ``bundle`` names packages that the command may use, such as a test framework to compile tests against.

    Raises:
        DataError: the command fails, or leaves more than fits.
    """
    request = WorkspaceRequest(
        id="setup",
        snapshot=taken.snapshot.id,
        command=packing_command(command),
        environment={"HOME": "/tmp/home"},  # noqa: S108  a path inside the sandbox
        bundle=bundle,
        network="index",
        results=RESULTS,
        result_bytes=PART_BYTES,
        limits=_LIMITS,
    )
    [result] = engine.submit([request])
    _check(result, command)
    try:
        snapshot = add_command_outputs(engine.workspace_runner.store, taken.snapshot, result.files)
    except DataError as error:
        raise DataError(f"setup {command!r}: {error}") from None
    return Taken(snapshot, taken.files, taken.left_out)


def _check(result: WorkspaceResult, command: str) -> None:
    if result.status is not Status.PASSED:
        said = [line for line in (result.stderr.text or result.stdout.text).splitlines() if line.strip()]
        refused = ", ".join(list(dict.fromkeys(result.refusals))[:3])
        refused = refused and f"; refused: {refused} (a mirror or an index of yours is named with --index)"
        why = result.reason or " | ".join(said[-3:])
        raise DataError(f"setup {command!r}: {result.status.value}: {why}{refused}")
    problem = next((file.problem for file in result.files if file.problem), "")
    if problem or len(result.files) > MOST_PARTS:
        most = PART_MB * MOST_PARTS
        raise DataError(
            f"setup {command!r}: what it left takes more than {most} MB packed; build a bundle instead ({problem})"
        )
    if not result.files:
        raise DataError(
            f"setup {command!r}: it left nothing in the project; packages belong into a folder of it"
        )
