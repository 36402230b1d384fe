"""Setup of a project (``--setup``): installation of what its tests need, and advice if packages are missing.

The command runs once, before mining, in a sandbox that reaches only package indexes. The files that it creates in the
project become part of the snapshot and are never mined.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from caretbench.build.projects.failure_reasons import telling_lines
from caretbench.build.projects.setup import (
    cmake_project,
    go_and_rust,
    java_project,
    package_json,
    python_packages,
    ruby_gems,
)
from caretbench.build.projects.setup.command_detection import NamedCheck, detect_command, known_commands
from caretbench.build.projects.setup.debian_packages import cpp_packages_message, libraries_command
from caretbench.build.projects.setup.project_tables import read_text
from caretbench.build.projects.setup.pytest_settings import missing_test_folders
from caretbench.build.projects.setup.python.declared_packages import python_fault
from caretbench.errors import DataError
from caretbench.execution.execution_types import Limits, Status
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
from caretbench.projects.runner_options import runs_pytest
from caretbench.projects.settings import CheckSettings, project_rules

_SCRIPT: Final = re.compile(r"(?:^|[-_.])(?:run)?[-_]?(?:unit|all|self)?[-_]?(?:tests?|checks?)\.(?:sh|bash)$")
"""Name of a shell script that runs tests."""
_NEEDS_ARGUMENTS: Final = re.compile(rb"(?<!\\)\$\{?[12]\}?(?![\w:-])")
"""First arguments of a script, used without a default value."""
_PROJECT_URL: Final = re.compile(r"^(?:Project-URL: *([^,\n]+), *|(Home)-page: *)(\S+)$", re.MULTILINE)
_REPOSITORY: Final = re.compile(
    r"https?://(?:www\.)?(?P<host>(?:github|gitlab)\.com|codeberg\.org)/(?P<path>[\w.-]+/[\w.-]+?)(?:\.git)?(?:[/#?]|$)"
)
_REPOSITORY_LABELS: Final = ("repository", "source", "source code", "code", "github", "homepage", "home")
_MAX_FOLDERS: Final = 200
_DEPTH: Final = 3
_NAMED: Final = 3


def offered_folders(snapshot: Snapshot, languages: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return folders of a project that have a known test command, with its name; none of them is in another."""
    offered: list[tuple[str, str]] = []
    for folder in list(_folders(snapshot))[:_MAX_FOLDERS]:
        if any(folder.startswith(f"{above}/") for above, _ in offered):
            continue
        command, _ = detect_command(_part(snapshot, folder), languages)
        if command is not None:
            offered.append((folder, command.name))
    return tuple(offered)


def offered_scripts(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the paths of shell scripts that run tests by their names, without arguments; outer folders come first."""
    paths = (path for path, entry in snapshot.entries.items() if entry.kind == "file" and not _is_foreign(path))
    named = (path for path in paths if _SCRIPT.search(PurePosixPath(path).name.lower()))
    scripts = (path for path in named if not _NEEDS_ARGUMENTS.search(snapshot.read(path)))
    return tuple(sorted(scripts, key=lambda path: (path.count("/"), path)))


def offered_tests(snapshot: Snapshot, languages: Collection[str]) -> str:
    """Return the options that may run a project's tests, in one sentence; empty if its files show none."""
    parts = []
    folders = offered_folders(snapshot, languages)[:_NAMED]
    if folders:
        named = ", ".join(f"{folder} ({name})" for folder, name in folders)
        parts.append(f"a folder of it has tests: {named}: give this folder in place of the project's")
    scripts = offered_scripts(snapshot)[:_NAMED]
    if scripts:
        command = f"bash {shlex.quote(PurePosixPath(scripts[0]).name)}"
        above = PurePosixPath(scripts[0]).parent.as_posix()
        directory = "" if above == "." else f" --directory {shlex.quote(above)}"
        parts.append(
            f"scripts that may test it: {', '.join(scripts)}: --test-command {shlex.quote(command)}{directory}"
        )
    return "; ".join(parts)


def offered_repository(snapshot: Snapshot) -> str:
    """Return the source that has the tests which a source distribution lacks, as a message; "" if none is named."""
    head = (read_text(snapshot, "PKG-INFO") or "").partition("\n\n")[0]
    labelled = {(label or home).strip().lower(): url for label, home, url in _PROJECT_URL.findall(head)}
    urls = [labelled[label] for label in _REPOSITORY_LABELS if label in labelled] + list(labelled.values())
    address = next((match for url in urls if (match := _REPOSITORY.match(url))), None)
    if address is None:
        return ""
    source = address["path"] if address["host"] == "github.com" else f"https://{address['host']}/{address['path']}"
    return f"this source distribution may lack the tests of its repository: build from {source}"


def _folders(snapshot: Snapshot) -> Iterator[str]:
    """Yield the folders that contain a file which known commands look for in a project's root, the outer ones first."""
    names = {
        PurePosixPath(name).name
        for row in known_commands()
        for name in (*row.required_files, *row.any_file, *row.any_text)
        if "*" not in name
    }
    names |= {"package.json", "pyproject.toml", "setup.py"}
    files = (PurePosixPath(path) for path in snapshot.entries)
    folders = {file.parent.as_posix() for file in files if file.name in names} - {"."}
    near = (folder for folder in folders if folder.count("/") < _DEPTH and not _is_foreign(f"{folder}/"))
    yield from sorted(near, key=lambda folder: (folder.count("/"), folder))


def _is_foreign(path: str) -> bool:
    return not project_rules().files.folders.isdisjoint(path.split("/")[:-1])


def _part(snapshot: Snapshot, folder: str) -> Snapshot:
    """Return the part of a snapshot in one folder, as a project of its own."""
    start = f"{folder}/"
    entries = {path.removeprefix(start): entry for path, entry in snapshot.entries.items() if path.startswith(start)}
    return snapshot.model_copy(update={"tree": snapshot.tree / folder, "entries": entries})


AUTO: Final = "auto"
"""Value of ``--setup`` for a command derived from the project's files."""
_LACKS = re.compile(
    r"missing_dependency|command_not_found|No module named|ModuleNotFoundError|PackageNotFoundError"
    r"|[Cc]annot find (?:module|package)|Cannot resolve|Failed to (?:resolve|load)|ERR_MODULE_NOT_FOUND|: not found"
    r"|fixture '\w+' not found|[Uu]nrecognized arguments|not in node_modules"
)


_ABSENT_PACKAGES = re.compile(r"missing_dependency: ([\w., -]+?) (?:is|are) not installed")
_JAVA_PACKAGE = re.compile(r"[a-z_]\w*(?:\.\w+)+")
_NO_TESTS = re.compile(r"\bno_tests: |\bno tests found\b")
_NO_FILE = re.compile(r"\bENOENT\b|No such file or directory|FileNotFoundError")
_SETUP_FAULT = ("setup '", 'setup "')
"""Beginnings of the message about a set-up command that fails: Python quotes a command with quotes by others."""
_RUNNER = re.compile(r"No module named '?(pytest)\b")
"""Missing test runner that has its own bundle."""


class SetupError(DataError):
    """A project cannot be set up, or its tests do not pass; ``log`` is the output of the command, if there is any."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class SetupStep(NamedTuple):
    """One way to set a project up: its name, its command (None: no set-up), and the reason why it failed."""

    name: str
    command: str | None
    fault: str = ""


_NO_SETUP: Final = SetupStep("no set-up", None)


def setup_command(snapshot: Snapshot, languages: Collection[str], checks: Sequence[CheckSettings] = ()) -> str | None:
    """Return the command that installs the packages that a project's files name; None if they name none."""
    return " && ".join(_install_commands(snapshot, languages, checks)) or None


def _install_commands(snapshot: Snapshot, languages: Collection[str], checks: Sequence[CheckSettings]) -> list[str]:
    """Return the installing command of each language that names packages."""
    installers: Mapping[str, Callable[[Snapshot], str | None]] = {
        "python": lambda project: python_packages.install_command(project, _python_runner(project, checks)),
        "javascript": package_json.install_command,
        "typescript": package_json.install_command,
        "cpp": cmake_project.submodules_command,
        "java": java_project.install_command,
        "ruby": ruby_gems.install_command,
        "go": go_and_rust.go_command,
        "rust": go_and_rust.cargo_command,
    }
    chosen = dict.fromkeys(install for language, install in installers.items() if language in languages)
    return [command for install in chosen if (command := install(snapshot))]


def _python_runner(snapshot: Snapshot, checks: Sequence[CheckSettings]) -> str | None:
    detected = () if checks else (detect_command(snapshot, ["python"])[0],)
    commands = [check.command for check in (*checks, *detected) if check is not None]
    nose2 = "nose2" if any("-m nose2" in command for command in commands) else None
    return "pytest" if any(runs_pytest([command]) for command in commands) else nose2


def next_setup(
    tried: Sequence[SetupStep], snapshot: Snapshot, languages: Collection[str], checks: Sequence[CheckSettings] = ()
) -> SetupStep | None:
    """Return the next way to set a project up after those that failed, cheapest first; None if there is no other."""
    fault = tried[-1].fault if tried else ""
    commands = _install_commands(snapshot, languages, checks)
    named = " && ".join(commands) or None
    steps = [SetupStep("the packages that its files name", named)] if named or tried else [_NO_SETUP]
    if tried and {"javascript", "typescript"} & set(languages):
        steps += _npm_steps(fault, snapshot)
    fails = fault.startswith(_SETUP_FAULT)
    if fails and "python" in languages:
        plain = python_packages.plain_install_command(snapshot, _python_runner(snapshot, checks))
        steps.append(SetupStep("without git addresses and lines that name no package", plain))
    steps += _compiled_steps("; ".join(step.fault for step in tried), named, languages, snapshot)
    if fails:
        steps += [*_apart(commands), _NO_SETUP]
    before = {step.command for step in tried}
    return next((step for step in steps if step.command not in before and (step.command or step == _NO_SETUP)), None)


def _apart(commands: Sequence[str]) -> Iterator[SetupStep]:
    if len(commands) > 1:
        yield SetupStep("each language alone", "; ".join((*(f"( {command} )" for command in commands), "true")))


def _npm_steps(fault: str, snapshot: Snapshot) -> Iterator[SetupStep]:
    missing = package_json.missing_packages(fault)
    if missing:
        # In acorn only a script that no test runs imports such a package.
        name = f"without {', '.join(missing)}, which no index has"
        yield SetupStep(name, package_json.install_command(snapshot, missing))
    # Of what no test needs, a dependency may be a git repository (deepmerge: jsmd, for its README).
    if fault.startswith(_SETUP_FAULT):
        name = "without packages that neither the test script nor a source names"
        yield SetupStep(name, package_json.smaller_install_command(snapshot))
    every = package_json.install_command(snapshot, missing, unneeded=True)
    yield SetupStep("all packages, those for style and releases too", every)


def _compiled_steps(
    fault: str, named: str | None, languages: Collection[str], snapshot: Snapshot
) -> Iterator[SetupStep]:
    """Yield steps of compiled languages; those that do not fit a fault have no command."""
    if "go" in languages:
        modules = go_and_rust.debian_modules_command(fault, snapshot)
        yield SetupStep("Debian's packages of modules", modules)
        yield SetupStep("a newer Go", go_and_rust.newer_go_command(fault, modules or named))
    if "rust" in languages:
        yield SetupStep("the crates that are left", go_and_rust.vendored_command(fault, named))
        yield SetupStep("Debian's packages of crates", go_and_rust.debian_crates_command(fault, snapshot))
    if "cpp" in languages:
        yield SetupStep("Debian's packages of libraries", libraries_command(fault, named))


def may_help(fault: str) -> bool:
    """Return whether another set-up may remove a fault: the set-up's own, or one of packages that tests lack."""
    lacks = _LACKS.search(fault) is not None or "does_not_compile: " in fault
    return fault.startswith(_SETUP_FAULT) or lacks or bool(cpp_packages_message(fault))


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
    modules = python_packages.missing_modules(message) if "python" in languages else ()
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
    offers = []
    empty = ", ".join(cmake_project.empty_submodules(snapshot))
    if empty or (".gitmodules" in snapshot.entries and _NO_FILE.search(message)):
        lacking = f" without files ({empty})" if empty else ""
        offers.append(
            f"it has git submodules{lacking}: `git submodule update --init` fetches them; or exclude their tests in "
            "--test-command"
        )
    if "cpp" in languages and _NO_TESTS.search(message):
        offers.append(cmake_project.offered_tests(snapshot))
    offers += _other_tests(message, snapshot, languages)
    if "cpp" in languages:
        offers.append(cpp_packages_message(message))
    if "python" in languages:
        offers.append(python_fault(snapshot))
    if "rust" in languages:
        offers.append(go_and_rust.newer_rust_message(message))
    if "java" in languages:
        listed = (name for names in _ABSENT_PACKAGES.findall(message) for name in names.split(", "))
        packages = [name for name in listed if _JAVA_PACKAGE.fullmatch(name)]
        offers.append(java_project.missing_message(snapshot, packages) if packages else "")
    return [offer for offer in offers if offer]


def _other_tests(message: str, snapshot: Snapshot, languages: Collection[str]) -> list[str]:
    """Return what may test a project in which no test is found, or whose command runs none."""
    # No known command fits, and not for a missing tool: a script of the project would need it, too.
    if "no tests found (" in message and " would be the command, but " not in message:
        return [offered_tests(snapshot, languages), offered_repository(snapshot)]
    absent = missing_test_folders(snapshot) if "python" in languages else ()
    if absent:
        return [f"pytest's testpaths names {', '.join(absent)}, which is not here", offered_repository(snapshot)]
    return [offered_repository(snapshot)] if "no_tests: " in message else []


def missing_packages_hint(setup: str | None, modules: Sequence[str]) -> str:
    """Return the option that installs the packages of missing Python modules, after the given setup command."""
    command = python_packages.added_packages_command(setup, modules)
    return f"missing: {', '.join(modules)}; --setup {shlex.quote(command)} installs what contains it"


def _is_named(module: str, command: str) -> bool:
    """Return whether a setup command installs the package of a module."""
    package = re.split(r"[<>=!]", python_packages.distribution_of(module))[0]
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


def run_packed(
    engine: WorkspaceExecutor,
    project: Snapshot,
    command: str,
    bundle: str | None,
    limits: Limits,
    *,
    environment: Mapping[str, str],
    stdin: bytes | None = None,
    identity: str = "setup",
) -> WorkspaceResult:
    """Return the result of a command that reaches package indexes; its files are parts of an archive of new files."""
    request = WorkspaceRequest(
        id=identity,
        snapshot=project.id,
        command=packing_command(command),
        environment={"HOME": "/tmp/home", **environment},  # noqa: S108  a path inside the sandbox
        stdin=stdin,
        bundle=bundle,
        network="index",
        results=PART_PATTERNS,
        result_bytes=MAX_PART_BYTES,
        total_result_bytes=MAX_ARCHIVE_BYTES,
        limits=limits,
    )
    [result] = engine.submit([request])
    return result


def run_setup(
    engine: WorkspaceExecutor, project: Snapshot, command: str, bundle: str | None = None, *, creates_files: bool = True
) -> Snapshot:
    """Run a setup command and return the project with the files it created, which are not mined.

    ``bundle`` is a bundle that the command may use, such as a test framework to compile against. Without
    ``creates_files`` the command may create none: it tries to install a project that is tested as it is otherwise.

    Raises:
        SetupError: the command fails, or creates no files or too large ones.
    """
    result = run_packed(engine, project, command, bundle, SETUP_LIMITS, environment={})
    _check(result, command, project)
    if not result.files and not creates_files:
        return project
    if not result.files:
        raise SetupError(
            f"setup {command!r}: it created no file in the project; install packages into a folder of the project"
        )
    try:
        return add_command_outputs(engine.workspace_runner.store, project, result.files)
    except DataError as error:
        raise SetupError(f"setup {command!r}: {error}") from None


def _check(result: WorkspaceResult, command: str, snapshot: Snapshot) -> None:
    if result.status is not Status.PASSED:
        lines = telling_lines(result.stderr.text) or telling_lines(result.stdout.text)
        refused = "".join(f"; refused: {refusal}" for refusal in result.refusals[:3])
        told = package_json.npm_failure(f"{result.stderr.text}\n{result.stdout.text}", snapshot)
        why = result.reason or told or " | ".join(lines[-3:])
        message = f"setup {command!r}: {result.status.value}: {why}{refused}"
        # No repair helps against this machine: a model would be asked, and paid, for nothing.
        if result.status.is_machine_fault:
            raise DataError(message)
        raise SetupError(message, f"{result.stdout.text}\n{result.stderr.text}")
    problem = next((file.problem for file in result.files if file.problem), "")
    if problem or len(result.files) > MAX_PARTS:
        raise SetupError(
            f"setup {command!r}: its files take more than {PART_MB * MAX_PARTS} MB packed; {_less(command, snapshot)}"
            f"build a bundle instead, or name a --setup that installs less ({problem})"
        )


def _less(command: str, snapshot: Snapshot) -> str:
    """Return the option that installs only the npm packages that tests and sources name, if that is less."""
    smaller = package_json.smaller_install_command(snapshot) if "npm install" in command else None
    if smaller is None or smaller == command:
        return ""
    return f"without packages that neither the test script nor a source names: --setup {shlex.quote(smaller)}; else "
