"""Setup of a project (``--setup``): installation of what its tests need, and advice if packages are missing.

The command runs once, before mining, in a sandbox that reaches only package indexes. The files that it creates in the
project become part of the snapshot and are never mined.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from caretbench.build.projects.failure_reasons import telling_lines
from caretbench.build.projects.setup import (
    cmake_project,
    java_packages,
    missing_packages,
    npm_packages,
    python_packages,
)
from caretbench.build.projects.setup.command_detection import NamedCheck, detect_command
from caretbench.build.projects.setup.debian_packages import cpp_packages_message
from caretbench.build.projects.setup.offered_tests import offered_repository, offered_tests
from caretbench.build.projects.setup.python.required_python import python_fault
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_archive import (
    MAX_ARCHIVE_BYTES,
    MAX_PART_BYTES,
    MAX_PARTS,
    PART_MB,
    PART_PATTERNS,
    add_command_outputs,
    packing_command,
)
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WORKSPACE_LIMITS, WorkspaceRequest, WorkspaceResult
from caretbench.projects.project import StoredProject
from caretbench.projects.runner_options import runs_pytest
from caretbench.projects.settings import CheckSettings

AUTO: Final = "auto"
"""Value of ``--setup`` for a command derived from the project's files."""
_JAVASCRIPT = frozenset({"javascript", "typescript"})
_LACKS = re.compile(
    r"missing_dependency|command_not_found|No module named|ModuleNotFoundError|PackageNotFoundError"
    r"|[Cc]annot find (?:module|package)|Cannot resolve|Failed to (?:resolve|load)|ERR_MODULE_NOT_FOUND|: not found"
    r"|fixture '\w+' not found|[Uu]nrecognized arguments|node_modules"
)


_ABSENT_PACKAGES = re.compile(r"missing_dependency: ([\w., -]+?) (?:is|are) not installed")
_JAVA_PACKAGE = re.compile(r"[a-z_]\w*(?:\.\w+)+")
_NO_TESTS = re.compile(r"\bno_tests: |\bno tests found\b")
_NO_TESTS_FOUND = "no tests found ("
"""Beginning of the message that no known test command fits the project."""
_RUNS_NO_TEST = "no_tests: "
_LACKS_TOOL = " would be the command, but "
"""A missing tool: a script of the project would need it, too."""
_NO_FILE = re.compile(r"\bENOENT\b|No such file or directory|FileNotFoundError")
_RUNNER = re.compile(r"No module named '?(pytest)\b")
"""Missing test runner that has its own bundle."""


class SetupError(DataError):
    """A project cannot be set up, or its tests do not pass; ``log`` is the output of the command, if there is any."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


def setup_command(snapshot: Snapshot, languages: Collection[str], checks: Sequence[CheckSettings] = ()) -> str | None:
    """Return the command that installs the packages that a project's files name; None if they name none."""
    parts = []
    if "python" in languages:
        found = () if checks else (detect_command(snapshot, ["python"])[0],)
        commands = [check.command for check in (*checks, *found) if check is not None]
        runner = "pytest" if any(runs_pytest([command]) for command in commands) else None
        parts.append(python_packages.install_command(snapshot, runner))
    if _JAVASCRIPT & set(languages):
        parts.append(npm_packages.install_command(snapshot))
    if "java" in languages:
        parts.append(java_packages.install_command(snapshot))
    return " && ".join(part for part in parts if part) or None


def resolve_setup(
    requested: str | None, snapshot: Snapshot, languages: Collection[str], checks: Sequence[CheckSettings] = ()
) -> str | None:
    """Return the setup command to run; ``auto`` becomes the one of the project's files, None if they name nothing."""
    if requested is None or requested.strip() != AUTO:
        return requested
    return setup_command(snapshot, languages, checks)


def with_setup_hint(
    faults: Mapping[str, str],
    snapshot: Snapshot,
    languages: Collection[str],
    checks: Sequence[CheckSettings],
    setup: str | None,
) -> str:
    """Return faults by name of check in one line, with advice if packages seem to be missing.

    ``setup`` is the setup command that was run, if any.
    """
    message = "; ".join(f"{name}: {reason}" if name else reason for name, reason in faults.items())
    offered = _offers(message, snapshot, languages)
    lacks = _LACKS.search(message)
    message = "; ".join((message, *offered))
    if not lacks or (offered and setup is not None and _ABSENT_PACKAGES.search(message)):
        return message
    command = setup_command(snapshot, languages, checks)
    modules = missing_packages.missing_modules(message) if "python" in languages else ()
    named = [module for module in modules if not _is_named(module, setup or command or "")]
    if named:
        return f"{message}; {missing_packages_hint(setup or command, named)}"
    if setup is not None:
        return f"{message}; the setup that ran was `{setup}`: name what is missing there"
    if command is None:
        return message
    added = f"add --setup {AUTO}, which runs `{command}` before the tests; or name a bundle with --bundle"
    alone = _RUNNER.search(message)
    built = f"; `caretbench deps build tools/{alone[1]}` where nothing else is missing" if alone else ""
    return f"{message}; if packages are missing, {added}{built}"


def _offers(message: str, snapshot: Snapshot, languages: Collection[str]) -> list[str]:
    """Return what the files of a project and the distribution offer for its faults."""
    found = []
    if ".gitmodules" in snapshot.entries and _NO_FILE.search(message):
        found.append(
            "it has git submodules: `git submodule update --init` fetches them; "
            "or exclude their tests in --test-command"
        )
    if "cpp" in languages and _NO_TESTS.search(message):
        found.append(cmake_project.offered_tests(snapshot))
    found += _other_tests(message, snapshot, languages)
    if "cpp" in languages:
        found.append(cpp_packages_message(message))
    if "python" in languages:
        found.append(python_fault(snapshot))
    if "java" in languages:
        listed = (name for names in _ABSENT_PACKAGES.findall(message) for name in names.split(", "))
        packages = [name for name in listed if _JAVA_PACKAGE.fullmatch(name)]
        found.append(java_packages.missing_message(snapshot, packages) if packages else "")
    return [one for one in found if one]


def _other_tests(message: str, snapshot: Snapshot, languages: Collection[str]) -> list[str]:
    """Return what may test a project in which no test is found, or whose command runs none."""
    if _NO_TESTS_FOUND in message and _LACKS_TOOL not in message:
        return [offered_tests(snapshot, languages), offered_repository(snapshot)]
    return [offered_repository(snapshot)] if _RUNS_NO_TEST in message else []


def missing_packages_hint(setup: str | None, modules: Sequence[str]) -> str:
    """Return the option that installs the packages of missing Python modules, after the given setup command."""
    command = missing_packages.added_packages_command(setup, modules)
    return f"missing: {', '.join(modules)}; --setup {shlex.quote(command)} installs what contains it"


def _is_named(module: str, command: str) -> bool:
    """Return whether a setup command installs the package of a module."""
    package = re.split(r"[<>=!]", missing_packages.distribution_of(module))[0]
    return re.search(rf"(?<![\w-]){re.escape(package)}(?![\w-])", command, re.IGNORECASE) is not None


def reaches_nothing_message(named_check: NamedCheck) -> str:
    """Return the reason why a check whose tests execute no line to mine is excluded."""
    tests = named_check.check.minimum_tests
    counted = f"{tests} tests pass" if tests else "the command succeeds"
    return (
        f"reaches_nothing: {counted}, but no line of the files to mine is run "
        f"(`{' '.join(named_check.check.command)}`); "
        "name the command that tests them with --test-command, and see whether it tests an installed copy instead"
    )


SETUP_LIMITS: Final = WORKSPACE_LIMITS.model_copy(
    update={"wall_s": 1800.0, "cpu_s": 900.0, "tmp_mb": 2048, "fsize_mb": 1024, "memory_mb": 4096}
)


def run_setup(
    engine: WorkspaceExecutor,
    project: StoredProject,
    command: str,
    bundle: str | None = None,
    *,
    creates_files: bool = True,
) -> StoredProject:
    """Run a setup command and return the project with the files it created, which are not mined.

    ``bundle`` is a bundle that the command may use, such as a test framework to compile against. Without
    ``creates_files`` the command may create none: it tries to install a project that is tested as it is otherwise.

    Raises:
        SetupError: the command fails, or creates no files or too large ones.
    """
    request = WorkspaceRequest(
        id="setup",
        snapshot=project.snapshot.id,
        command=packing_command(command),
        environment={"HOME": "/tmp/home"},  # noqa: S108  a path inside the sandbox
        bundle=bundle,
        network="index",
        results=PART_PATTERNS,
        result_bytes=MAX_PART_BYTES,
        total_result_bytes=MAX_ARCHIVE_BYTES,
        limits=SETUP_LIMITS,
    )
    [result] = engine.submit([request])
    _check(result, command, project.snapshot)
    if not result.files and not creates_files:
        return project
    if not result.files:
        raise SetupError(
            f"setup {command!r}: it created no file in the project; install packages into a folder of the project"
        )
    try:
        snapshot = add_command_outputs(engine.workspace_runner.store, project.snapshot, result.files)
    except DataError as error:
        raise SetupError(f"setup {command!r}: {error}") from None
    return StoredProject(snapshot, project.files, project.excluded)


def _check(result: WorkspaceResult, command: str, snapshot: Snapshot) -> None:
    if result.status is not Status.PASSED:
        lines = telling_lines(result.stderr.text) or telling_lines(result.stdout.text)
        refused = "".join(f"; refused: {refusal}" for refusal in result.refusals[:3])
        told = npm_packages.npm_failure(f"{result.stderr.text}\n{result.stdout.text}", snapshot)
        why = result.reason or told or " | ".join(lines[-3:])
        message = f"setup {command!r}: {result.status.value}: {why}{refused}"
        if result.status.is_machine_fault:
            raise DataError(message)
        raise SetupError(message, f"{result.stdout.text}\n{result.stderr.text}")
    problem = next((file.problem for file in result.files if file.problem), "")
    if problem or len(result.files) > MAX_PARTS:
        most = PART_MB * MAX_PARTS
        raise SetupError(
            f"setup {command!r}: its files take more than {most} MB packed; {_less(command, snapshot)}build a bundle "
            f"instead, or name a --setup that installs less ({problem})"
        )


def _less(command: str, snapshot: Snapshot) -> str:
    """Return the option that installs only the npm packages that tests and sources name, if that is less."""
    smaller = npm_packages.smaller_install_command(snapshot) if "npm install" in command else None
    if smaller is None or smaller == command:
        return ""
    return f"without packages that neither the test script nor a source names: --setup {shlex.quote(smaller)}; else "
