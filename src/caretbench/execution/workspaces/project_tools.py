"""Tools that a project's commands name: toolchains, and the Java test command ``/caretbench/java/test``.

The finders are those of the language runtimes, so ``caretbench doctor`` and a project's build find the same tools. The
Java test command is for projects of plain sources: it compiles what changed and runs the tests in one JVM
(``harness/JavaProject.java``), and maps the classes of the JDK and its compiler from an archive instead of loading
them. A command of a project that names it gets it bound.
"""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.execution.sandbox.isolation_levels import SandboxUnavailable
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.toolchains.base_runtime import (
    binds_outside_usr,
    cached_tool_folder,
    fingerprint,
    harness_file,
)
from caretbench.execution.toolchains.csharp import find_dotnet_sdk
from caretbench.execution.toolchains.java import MIN_JDK, archive_loaded_classes, usable_jdk


class ProjectTool(NamedTuple):
    """Toolchain on this machine: its folder, the subfolder with its programs, its version and its variables."""

    root: Path
    programs: str
    version: str
    environment: Mapping[str, str]


def _dotnet() -> ProjectTool | None:
    sdk = find_dotnet_sdk()
    if sdk is None:
        return None
    # Its first start would else write to a home folder, and print a text.
    quiet = dict.fromkeys(("DOTNET_NOLOGO", "DOTNET_CLI_TELEMETRY_OPTOUT", "DOTNET_SKIP_FIRST_TIME_EXPERIENCE"), "1")
    return ProjectTool(sdk.root, ".", sdk.version, {**sdk.environment, **quiet, "DOTNET_ROOT": str(sdk.root)})


def _msbuild() -> ProjectTool | None:
    """Return the SDK if it can build projects; one that only compiles programs has no MSBuild."""
    sdk = find_dotnet_sdk()
    return _dotnet() if sdk is not None and (sdk.compiler.parents[1] / "MSBuild.dll").is_file() else None


def _jdk() -> ProjectTool | None:
    jdk = usable_jdk()
    return ProjectTool(jdk[0], "bin", jdk[1], {"JAVA_HOME": str(jdk[0])}) if jdk is not None else None


@cache
def _of_user(program: str, *asks_root: str) -> ProjectTool | None:
    """Return a user's own toolchain (rustup, a newer Go) by the command that prints its folder.

    None if there is none outside ``/usr``, or programs, which run as other users, cannot read it.
    """
    path = shutil.which(program)
    if path is None or Path(path).resolve().is_relative_to("/usr"):
        return None
    done = subprocess.run([path, *asks_root], capture_output=True, text=True, check=False)
    root = Path(done.stdout.strip())
    is_usable = not done.returncode and root.is_absolute() and (root / "bin").is_dir()
    if not is_usable or not root.stat().st_mode & stat.S_IXOTH:
        return None
    # In namespaces the folder is bound, and root's closed home around it is not there.
    if not all(folder.stat().st_mode & stat.S_IXOTH for folder in root.parents) and not _runs_in_namespaces():
        return None
    return ProjectTool(root, "bin", fingerprint(str(root), str((root / "bin").stat().st_mtime_ns)), {})


@cache
def _runs_in_namespaces() -> bool:
    try:
        return Sandbox().probe().level == "namespaces"
    except SandboxUnavailable:
        return False


_rust = partial(_of_user, "rustc", "--print", "sysroot")
_go = partial(_of_user, "go", "env", "GOROOT")
_FINDERS: Final[Mapping[str, Callable[[], ProjectTool | None]]] = {
    "dotnet": _dotnet, "MSBuild": _msbuild, "java": _jdk, "javac": _jdk, "mvn": _jdk, "gradle": _jdk,
    "cargo": _rust, "rustc": _rust, "go": _go,
}  # fmt: skip
"""Programs whose toolchain has a finder of its own; Maven and Gradle run on the JDK."""
_OF_TOOLCHAIN: Final = frozenset({"dotnet", "MSBuild", "java", "javac"})
"""Programs that are part of the toolchain itself."""


def is_installed(program: str) -> bool:
    """Return whether commands of projects find a program: in its toolchain, else on the PATH."""
    if program in _OF_TOOLCHAIN and _FINDERS[program]() is not None:
        return True
    return shutil.which(program) is not None


def tools_of_command(command: Sequence[str]) -> tuple[ProjectTool, ...]:
    """Return the toolchains outside ``/usr`` whose programs a command names, directly or in a shell's text."""
    words = {word.rpartition("/")[2] for text in command for word in re.split(r"[\s;&|()'\"$`]+", text)}
    tools = (find() for find in dict.fromkeys(_FINDERS[name] for name in _FINDERS if name in words))
    # What lies below /usr the sandbox has without a bind.
    return tuple(tool for tool in tools if tool is not None and not tool.root.is_relative_to("/usr"))


def tool_binds(tools: Sequence[ProjectTool]) -> dict[str, str]:
    """Return the binds of toolchains, path inside -> path on the host."""
    return binds_outside_usr(*(tool.root for tool in tools))


def tool_environment(tools: Sequence[ProjectTool], path: str) -> dict[str, str]:
    """Return the variables of toolchains; their programs are first on the PATH, before ``path``."""
    if not tools:
        return {}
    folders = [str((tool.root / tool.programs).resolve()) for tool in tools]
    variables = {name: value for tool in tools for name, value in tool.environment.items()}
    return {**variables, "PATH": ":".join([*folders, path])}


FOLDER: Final = "/caretbench/java"
JAVA_EXCLUDED: Final = "CARETBENCH_JAVA_EXCLUDED"
"""Variable with excluded tests (``CLASS::METHOD``) and excluded source files, one a line."""
CLASSPATH_FIRST: Final = "CLASSPATH_FIRST"
"""Environment variable: if it is set, the jars of CLASSPATH come before the project's classes."""
_PROGRAM: Final = "JavaProject"
_PROGRAMS: Final = (_PROGRAM, "JavaTests")
_REHEARSED: Final = ("CaretBenchLaunch.java", "CaretBenchRehearsal.java", "JavaCompile.java")
_BODY: Final = re.compile(r"(void main\(.*\{)")
_CLASSES: Final = ".caretbench-java/classes"
_ARCHIVE: Final = "projects.jsa"
# A process that lives for a second or two does best with the first stage of the JIT compiler alone. In some containers
# the JVM's own reading of control groups throws; our limits hold anyway.
_JVM: Final = (
    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:-UseContainerSupport", "-Xshare:auto",
)  # fmt: skip
# A JVM that cannot use the archive prints nothing, and loads the classes.
_ARCHIVED: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
    "-Xlog:cds*=off",
)
# The folder of classes has to be there when the JVM starts: it never looks again for one that was not.
_SCRIPT: Final = f"""#!/bin/sh
mkdir -p {_CLASSES}
exec @java {" ".join((*_JVM, *_ARCHIVED))} -XX:SharedArchiveFile="${{0%/*}}/{_ARCHIVE}" \\
    -cp "${{{CLASSPATH_FIRST}:+$CLASSPATH:}}\
{_CLASSES}${{RESOURCES:+:$RESOURCES}}${{CLASSPATH:+:$CLASSPATH}}:${{0%/*}}" {_PROGRAM} "$@"
"""


class JavaProjectTools(NamedTuple):
    """Binds of the tools (path inside -> path on the host), and a hash of their inputs."""

    read_only: Mapping[str, str]
    fingerprint: str


def uses_java_tools(command: Sequence[str]) -> bool:
    """Return whether a command uses the tools of ``/caretbench/java``."""
    return any(f"{FOLDER}/" in word for word in command)


def runs_java_tests(command: Sequence[str]) -> bool:
    """Return whether a command is the Java test command with JUnit."""
    return command[0] == f"{FOLDER}/test" and not {"--junit", "--junit4"}.isdisjoint(command)


def has_default_compiler_options(command: Sequence[str]) -> bool:
    """Return whether a command is the Java test command with default compiler options."""
    return command[0] == f"{FOLDER}/test" and not any(word.startswith("--javac") for word in command)


def java_tools_fingerprint(command: Sequence[str]) -> str:
    """Return the hash of our tools for this command; empty if it names none, or none are here."""
    tools = java_project_tools() if uses_java_tools(command) else None
    return tools.fingerprint if tools is not None else ""


@cache
def java_project_tools() -> JavaProjectTools | None:
    """Return the tools, made once for the JDK of ``JAVA_HOME`` or of the PATH; None where there is none."""
    jdk = usable_jdk()
    if jdk is None:
        return None
    home, version = jdk
    texts = [harness_file("java", name) for name in (*(f"{name}.java" for name in _PROGRAMS), *_REHEARSED)]
    mark = fingerprint(version, str(home), *texts, _SCRIPT, flags=(*_JVM, *_ARCHIVED))
    with cached_tool_folder(f"java-projects-{mark}") as (folder, empty):
        if empty:
            _make(folder, home)
    return JavaProjectTools({FOLDER: str(folder), **binds_outside_usr(home)}, mark)


INSTALL_JDK: Final = f"/caretbench/java needs a JDK: apt-get install openjdk-{MIN_JDK}-jdk-headless (or set JAVA_HOME)"


def _make(folder: Path, home: Path) -> None:
    sources = [f"{name}.java" for name in _PROGRAMS]
    for name in sources:
        (folder / name).write_text(harness_file("java", name))
    compiler = [str(home / "bin" / "javac"), "-d", str(folder), *sources]
    subprocess.run(compiler, check=True, capture_output=True, cwd=folder)
    script = folder / "test"
    script.write_text(_SCRIPT.replace("@java", str(home / "bin" / "java")))
    script.chmod(0o755)
    _archive(folder, home)


def _archive(folder: Path, home: Path) -> None:
    """Archive the JDK classes that compiling and running usually need; none if the JVM does not support it.

    A project of our own is prepared, changed and run for it.
    """
    rehearsal = folder / "rehearsal"
    shutil.rmtree(rehearsal, ignore_errors=True)
    (rehearsal / _CLASSES).mkdir(parents=True)
    for name in _REHEARSED:
        (rehearsal / name).write_text(harness_file("java", name))
    java = (str(home / "bin" / "java"), *_JVM)
    run = (*java, "-XX:DumpLoadedClassList=loaded", "-cp", f"{_CLASSES}:{folder}", _PROGRAM)
    with_tests = (*run, "--main", "CaretBenchRehearsal")
    subprocess.run([*run, "--prepare"], check=False, capture_output=True, cwd=rehearsal)
    changed = _BODY.sub(r"\1;", harness_file("java", _REHEARSED[0]), count=1)
    (rehearsal / _REHEARSED[0]).write_text(changed)
    subprocess.run(with_tests, check=False, capture_output=True, cwd=rehearsal)
    archive_loaded_classes(java, rehearsal, str(folder / _ARCHIVE), (*_PROGRAMS, "CaretBench", "JavaCompile"))
    shutil.rmtree(rehearsal, ignore_errors=True)
