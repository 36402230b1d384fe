"""Java runtime: a compile server on ``javax.tools``, and a launcher that detects a program's end.

Under ``default`` a program's file is named after its first public type, and the class with a main method is
run (the public one first). Under ``paper`` the first ``public class`` names both, else ``TestCase``; it is run
with the name of its package, and exit status 0 is all that counts. Assertions are enabled under both. The JVM's
flags for memory and its garbage collector are the same under both: they bound what a program may use, and change
nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from caretbench.execution.execution_types import CONTEST, ExecutionRequest, RunPlan, Toolchain
from caretbench.execution.sandbox.program_sandbox import HOME
from caretbench.execution.toolchains.base_runtime import (
    ARTEFACT,
    binds_outside_usr,
    cached_tool_folder,
    fingerprint,
    harness_file,
    tool_version,
)
from caretbench.execution.toolchains.compile_server import CPU_PER_PROGRAM_S, CompilerSettings, ServerCompiledRuntime

MIN_JDK = 17

_TOOLS = "/caretbench/java"
_SOURCES = ("JavaCompile.java", "CaretBenchLaunch.java", "CaretBenchRehearsal.java")
_ARCHIVE = "programs.jsa"
_FIRST_PUBLIC_CLASS = re.compile(r"public\s+class\s+(\w+)")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+);", re.MULTILINE)
_RULES = "released main class 2"
"""Part of the fingerprint; raise it when the same text would run another class. 2: with the name of its package."""
_NAMED_BY_ITS_PUBLIC_TYPE = "?"
_COMPILER_HEAP_MB = 1400
_COMPILER_MB = 400.0

# The JVM looks neither at TMPDIR nor at HOME.
_FOLDERS = ("-Djava.io.tmpdir=/tmp", f"-Duser.home={HOME}")
# The serial collector is for memory, 39 MB in place of 44. The first stage of the JIT compiler alone took 73 ms of CPU
# for a program, where the default takes 59.
# In some containers the JVM's own reading of control groups throws; our limits hold anyway.
_JVM = ("-XX:-UseContainerSupport", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto", *_FOLDERS)
# Most programs end before what the JIT compiler makes of them pays; what computes for longer gets both its stages.
_PROGRAM_JVM = (*_JVM, "-XX:CompileThresholdScaling=10")
# The JDK's classes that programs usually need, as they are in memory, mapped to where they were made for. A JVM that
# cannot use the archive prints nothing, and loads the classes.
_ARCHIVED = (
    # With it the median of 40 references went from 142 to 122 ms.
    f"-XX:SharedArchiveFile={_TOOLS}/{_ARCHIVE}",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
    "-Xlog:cds*=off",
)
# The first stage of the JIT compiler is the best for a process that lives for seconds.
# Its median was 35 to 55 ms a program, and 105 to 145 with both stages.
_COMPILER_JVM = (*_JVM, "-XX:TieredStopAtLevel=1", "-Xss4m", f"-Xmx{_COMPILER_HEAP_MB}m")


class JavaRuntime(ServerCompiledRuntime):
    """Java runtime with the JDK of ``JAVA_HOME``, or the one on the PATH."""

    language = "java"
    variants = (CONTEST,)

    def find_toolchain(self) -> Toolchain:
        """Return the JDK, not older than 17."""
        home = find_jdk()
        version = jdk_version(home)
        if version is None or usable_jdk() is None:
            return Toolchain(
                language=self.language,
                available=False,
                version=version or "",
                remedy=f"apt-get install openjdk-{MIN_JDK}-jdk-headless (or set JAVA_HOME to a newer JDK)",
            )
        texts = [harness_file(self.language, name) for name in _SOURCES]
        mark = fingerprint(version, str(home), *texts, flags=(*_PROGRAM_JVM, *_ARCHIVED, *_COMPILER_JVM, _RULES))
        return Toolchain(language=self.language, available=True, version=version, fingerprint=mark)

    @cached_property
    def _home(self) -> Path:
        home = find_jdk()
        if home is None:
            raise FileNotFoundError(self.toolchain().remedy)
        return home

    @cached_property
    def _tools(self) -> Path:
        """Our own classes, compiled once for this JDK."""
        with cached_tool_folder(f"java-{self.toolchain().fingerprint}") as (folder, empty):
            if empty:
                for name in _SOURCES:
                    (folder / name).write_text(harness_file(self.language, name))
                command = [str(self._home / "bin" / "javac"), "-d", str(folder), *_SOURCES]
                subprocess.run(command, check=True, capture_output=True, cwd=folder)
                self._archive(folder)
        return folder

    def _archive(self, folder: Path) -> None:
        """Archive the JDK classes that programs usually need; none if the JVM does not support it."""
        java = str(self._home / "bin" / "java")
        (folder / "rehearsal").write_text("CaretBenchRehearsal")
        rehearse = ("-ea", *_JVM, "-XX:DumpLoadedClassList=loaded", "-cp", ".", "CaretBenchLaunch", "rehearsal")
        subprocess.run([java, *rehearse], check=False, capture_output=True, cwd=folder)
        archive_loaded_classes((java, *_JVM), folder, _ARCHIVE, ("CaretBench",))

    def _binds(self, request: ExecutionRequest) -> dict[str, str]:
        bundle = self.bundle(request)
        packages = bundle.read_only if bundle else {}
        return {**binds_outside_usr(self._home), _TOOLS: str(self._tools), **packages}

    def _jars(self, request: ExecutionRequest) -> tuple[str, ...]:
        bundle = self.bundle(request)
        return bundle.class_path if bundle else ()

    def compiler_for(self, request: ExecutionRequest) -> CompilerSettings:
        """Return the compile server for the jars of a request's bundle; annotation processors do not run."""
        return self.compiler(self._jars(request), self._binds(request))

    def compiler(self, class_path: Sequence[str], read_only: Mapping[str, str]) -> CompilerSettings:
        """Return the compile server for programs with this class path; ``read_only`` binds its folders."""
        begin = (str(self._home / "bin" / "java"), *_COMPILER_JVM, "-cp", _TOOLS, "JavaCompile")
        return CompilerSettings(
            arguments=(*begin, str(CPU_PER_PROGRAM_S), ":".join(class_path)),
            read_only={**binds_outside_usr(self._home), _TOOLS: str(self._tools), **read_only},
            environment={},
            max_memory_mb=_COMPILER_MB,
        )

    def server_option(self, request: ExecutionRequest) -> str:
        """Return the name of a program's file."""
        return _NAMED_BY_ITS_PUBLIC_TYPE if _by_launcher(request) else main_class_name(request.source)

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return a plan that runs the main class; under ``default`` by CaretBench's launcher."""
        bundle = self.bundle(request)
        class_path = [ARTEFACT, *self._jars(request)]
        run: tuple[str, ...]
        if not _by_launcher(request):
            run = ("-cp", ":".join(class_path), qualified_main_class(request.source))
        else:
            run = ("-cp", ":".join([_TOOLS, *class_path]), "CaretBenchLaunch", f"{ARTEFACT}/main-class")
        # A quarter is left for threads, classes and compiled code, which are no heap.
        heap = f"-Xmx{max(64, request.limits.memory_mb * 3 // 4)}m"
        judge = ("-DONLINE_JUDGE=true",) if request.variant == CONTEST else ()
        return RunPlan(
            argv=(str(self._home / "bin" / "java"), "-ea", *_PROGRAM_JVM, *_ARCHIVED, heap, *judge, *run),
            environment=bundle.environment if bundle else {},
            read_only={**self._binds(request), ARTEFACT: str(artefact)},
            address_space_limit=False,
        )


def archive_loaded_classes(java: Sequence[str], folder: Path, archive: str, ours: Sequence[str]) -> None:
    """Archive the classes that ``loaded`` in ``folder`` lists; none if the JVM does not support it.

    Ours are excluded: an archive with classes of the class path would hold for that class path alone.
    """
    if (folder / "loaded").exists():
        loaded = (folder / "loaded").read_text().splitlines(keepends=True)
        (folder / "usual").write_text("".join(line for line in loaded if not any(name in line for name in ours)))
        dump = ("-Xshare:dump", "-XX:SharedClassListFile=usual", f"-XX:SharedArchiveFile={archive}", "-cp", "")
        subprocess.run([*java, *dump], check=False, capture_output=True, cwd=folder)


def _by_launcher(request: ExecutionRequest) -> bool:
    """Return whether the launcher finds the main class; the released runner takes the first public one.

    The first public class of a contest's program is often another: 1 of 40 of SAFIM did not compile under its name.
    """
    return request.variant == CONTEST or not request.rules.released_build


def main_class_name(source: str) -> str:
    """Return the class that the released runner runs: the first ``public class`` in the text, else ``TestCase``."""
    match = _FIRST_PUBLIC_CLASS.search(source)
    return match[1] if match else "TestCase"


def qualified_main_class(source: str) -> str:
    """Return the name by which the released runner runs that class: with the program's package, if it has one."""
    package = _PACKAGE.search(source)
    return ".".join([*([package[1]] if package else []), main_class_name(source)])


def jdk_version(home: Path | None) -> str | None:
    """Return the version that a JDK's compiler reports; None if there is none."""
    return tool_version(str(home / "bin" / "javac"), "-version") if home else None


def usable_jdk() -> tuple[Path, str] | None:
    """Return the folder of the JDK and its version; None where there is none, or only one that is too old."""
    home = find_jdk()
    version = jdk_version(home)
    number = re.search(r"\d+", version or "")
    if home is None or version is None or number is None or int(number[0]) < MIN_JDK:
        return None
    return home, version


def find_jdk() -> Path | None:
    """Return the folder of the JDK: ``JAVA_HOME``, or that of the ``javac`` on the PATH."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "javac").exists():
        return Path(home).resolve()
    compiler = shutil.which("javac")
    return Path(compiler).resolve().parents[1] if compiler else None
