"""Go runtime: the toolchain's compiler and linker without the go command, then the executable.

A program is one file of package ``main`` and the standard library. Under ``default`` it is compiled, unchanged, as a
package of its own path, and a small ``main`` package calls its ``main`` and then reports its return; ``go test``
builds a ``main`` package under test in the same way. Under ``paper`` it is linked as it is, and exit status 0 is all
that counts. There is no cgo: what a program links against is Go's own.

Rejected: an overlay of the file that holds ``main`` with the function renamed (the source would not be the one that
was written, and lines in messages would move), and one of ``runtime/proc.go`` (another text for every release of Go).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from caretbench.execution.execution_types import ExecutionRequest, RunPlan, Toolchain
from caretbench.execution.toolchains.base_runtime import (
    ARTEFACT,
    binds_outside_usr,
    cached_tool_folder,
    fingerprint,
    harness_file,
    tool_version,
)
from caretbench.execution.toolchains.compile_server import CPU_PER_PROGRAM_S, CompilerSettings, ServerCompiledRuntime

_TOOLS = "/caretbench/go"
_SOURCES = ("GoCompile.go", "go_main.go", "sentinel.go")
# The user's own settings of Go would change what is compiled, and a version that a file names would be downloaded.
_SETTINGS = {"CGO_ENABLED": "0", "GO111MODULE": "off", "GOENV": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
_PACKAGES = "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}"
_COMPILER_MB = 200.0
# The same on every machine: the number of threads decides which races a program shows.
_THREADS = {"GOMAXPROCS": "2"}


class GoRuntime(ServerCompiledRuntime):
    """Go runtime with the ``go`` on the PATH."""

    language = "go"

    def find_toolchain(self) -> Toolchain:
        """Return the go command, for its version and for the standard library's packages."""
        go = shutil.which("go")
        version = tool_version(go, "version") if go else None
        if version is None:
            return Toolchain(language=self.language, available=False, remedy="apt-get install golang-go")
        texts = [harness_file(self.language, name) for name in _SOURCES]
        mark = fingerprint(version, *texts, _PACKAGES, environment=_SETTINGS | _THREADS)
        return Toolchain(language=self.language, available=True, version=version, fingerprint=mark)

    @cached_property
    def _compilers(self) -> Path:
        return Path(_go("env", "GOTOOLDIR").strip())

    @cached_property
    def _tools(self) -> Path:
        """Our own program, the sentinel's package and the standard library, compiled once per toolchain."""
        with cached_tool_folder(f"go-{self.toolchain().fingerprint}") as (folder, empty):
            if empty:
                for name in _SOURCES:
                    (folder / name).write_text(harness_file(self.language, name))
                cache = folder / "packages"
                packages = folder / "importcfg"
                packages.write_text(_go("list", "-export", "-f", _PACKAGES, "std", cache=cache))
                _go("build", "-o", str(folder / "GoCompile"), "GoCompile.go", cache=cache, cwd=folder)
                compiler = (str(self._compilers / "compile"), "-p", "caretbench", "-importcfg", str(packages))
                _run((*compiler, "-o", "caretbench.a", "sentinel.go"), folder, _SETTINGS)
                # The compiler reads this list inside the sandbox, where the folder has another path.
                inside = packages.read_text().replace(f"={folder}/", f"={_TOOLS}/")
                packages.write_text(inside)
        return folder

    def compiler_for(self, request: ExecutionRequest) -> CompilerSettings:
        """Return the compile server, the same for all programs."""
        del request
        settings = (_TOOLS, str(self._compilers), f"{CPU_PER_PROGRAM_S:.0f}")
        return CompilerSettings(
            arguments=(f"{_TOOLS}/GoCompile", *settings),
            read_only={**binds_outside_usr(self._compilers.parents[2]), _TOOLS: str(self._tools)},
            environment=_THREADS,
            max_memory_mb=_COMPILER_MB,
            file_mode=0o755,
        )

    def server_option(self, request: ExecutionRequest) -> str:
        """Return the profile, which decides how a program is linked."""
        return request.profile

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return a plan that runs the executable, bound read-only; Go's collector works harder near the bound."""
        return RunPlan(
            argv=(f"{ARTEFACT}/program",),
            environment=_THREADS | {"GOMEMLIMIT": f"{request.limits.memory_mb * 3 // 4}MiB"},
            read_only={ARTEFACT: str(artefact)},
            address_space_limit=False,
        )


def _go(*arguments: str, cache: Path | None = None, cwd: Path | None = None) -> str:
    """Return the go command's output; it is only called for the standard library and our own program."""
    go = shutil.which("go")
    if go is None:
        raise FileNotFoundError("no go command: apt-get install golang-go")
    where = {"GOCACHE": str(cache), "HOME": str(cache)} if cache else {}
    return _run((go, *arguments), cwd, _SETTINGS | where)


def _run(command: Sequence[str], cwd: Path | None, settings: Mapping[str, str]) -> str:
    """Return the output of one of the toolchain's programs.

    Raises:
        OSError: it fails; the message has its last words.
    """
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env={**os.environ, **settings})
    if done.returncode:
        raise OSError(f"{' '.join(command[:2])} fails: {done.stderr.strip()[-500:]}")
    return done.stdout
