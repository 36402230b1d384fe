"""C# runtime: a compile server on the Roslyn of an installed SDK, and a host that detects a program's end.

Programs are compiled as a console project of .NET 6 or newer is by default: implicit usings, nullable types,
assertions (``DEBUG``). The variant ``release`` leaves the assertions out under ``paper``, where the released
runner builds a release. Under ``paper`` exit status 0 is all that counts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from caretbench.execution.cache.cache_folders import DOTNET
from caretbench.execution.execution_types import CONTEST, CompileResult, ExecutionRequest, RunPlan, Status, Toolchain
from caretbench.execution.toolchains.base_runtime import (
    ARTEFACT,
    binds_outside_usr,
    cached_tool_folder,
    fingerprint,
    harness_file,
)
from caretbench.execution.toolchains.compile_server import CPU_PER_PROGRAM_S, CompilerSettings, ServerCompiledRuntime
from caretbench.files import cache_folder
from caretbench.languages.table_reader import language_file

REMEDY = "apt-get install dotnet-sdk-8.0, or set DOTNET_ROOT to an SDK, or on x86-64 run .ci/dotnet.sh"

_TOOLS = "/caretbench/csharp"
_SOURCES = ("CsharpCompile.cs", "CsharpHost.cs")
_FRAMEWORK = "Microsoft.NETCore.App"
_COMPILER_MB = 400.0
_ROSLYN = "Roslyn/bincore"
_VERSIONS = "versions"
_VERSION = "csharp"

# The SDK 3.1 reads the older prefix, newer ones read both.
_ENVIRONMENT = {
    "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
    "COMPlus_EnableDiagnostics": "0",
    # No thread of the collector's own: most programs end before it would work.
    "COMPlus_gcConcurrent": "0",
}


class DotnetSdk(NamedTuple):
    """Installed SDK: its folders, and the version of the framework that programs run on."""

    root: Path
    compiler: Path
    references: Path
    framework: str

    @property
    def environment(self) -> dict[str, str]:
        """Environment of its programs in addition to CaretBench's own settings."""
        libraries = self.root / "openssl"
        return {**_ENVIRONMENT, **({"LD_LIBRARY_PATH": str(libraries)} if libraries.is_dir() else {})}

    @property
    def version(self) -> str:
        """Versions of SDK and framework."""
        return f".NET SDK {self.compiler.parents[1].name}, framework {self.framework}"


# With a compile server of ours: the protocol of VBCSCompiler is tied to a version of the compiler.
class CsharpRuntime(ServerCompiledRuntime):
    """C# runtime with the SDK of ``DOTNET_ROOT``or the PATH, or that of ``.ci/dotnet.sh`` in the cache."""

    language = "csharp"
    variants = ("release", CONTEST)

    def find_toolchain(self) -> Toolchain:
        """Return an SDK with its compiler and a framework to run on."""
        sdk = find_dotnet_sdk()
        if sdk is None:
            return Toolchain(language=self.language, available=False, remedy=REMEDY)
        texts = [harness_file(self.language, name) for name in _SOURCES]
        texts.append(language_file(self.language, f"{_VERSIONS}.scm") or "")
        mark = fingerprint(sdk.version, str(sdk.root), *texts, environment=_ENVIRONMENT)
        return Toolchain(language=self.language, available=True, version=sdk.version, fingerprint=mark)

    @cached_property
    def _sdk(self) -> DotnetSdk:
        sdk = find_dotnet_sdk()
        if sdk is None:
            raise FileNotFoundError(f"no .NET SDK: {REMEDY}")
        return sdk

    @cached_property
    def _tools(self) -> Path:
        """Our own assemblies, compiled once for this SDK, with the compiler's next to them so that they are found."""
        with cached_tool_folder(f"csharp-{self.toolchain().fingerprint}") as (folder, empty):
            if empty:
                for path in self._sdk.compiler.glob("*.dll"):
                    shutil.copyfile(path, folder / path.name)
                compiler = [str(path) for path in folder.glob("Microsoft.CodeAnalysis*.dll")]
                for source, extra in zip(_SOURCES, (compiler, []), strict=True):
                    self._build_tool(folder, source, extra)
        return folder

    def _build_tool(self, folder: Path, source: str, extra: Sequence[str]) -> None:
        (folder / source).write_text(harness_file(self.language, source))
        # Those of the framework, except what the compiler's own folder has.
        assemblies = (path for path in sorted(self._sdk.references.glob("*.dll")) if not (folder / path.name).exists())
        references = [*extra, *map(str, assemblies)]
        target = Path(source).stem
        flags = ["-nologo", "-noconfig", "-nowarn:CS1701,CS1702", "-langversion:latest", "-optimize+"]
        command = [str(self._sdk.root / "dotnet"), "exec", str(self._sdk.compiler / "csc.dll"), *flags]
        subprocess.run(
            [*command, f"-out:{target}.dll", *(f"-r:{path}" for path in references), source],
            check=True, capture_output=True, cwd=folder, env={"HOME": str(folder), **self._sdk.environment},
        )  # fmt: skip
        framework = {"name": _FRAMEWORK, "version": self._sdk.framework}
        settings = {"runtimeOptions": {"framework": framework}}
        (folder / f"{target}.runtimeconfig.json").write_text(json.dumps(settings))

    def _binds(self, request: ExecutionRequest) -> dict[str, str]:
        bundle = self.bundle(request)
        packages = bundle.read_only if bundle else {}
        return {**binds_outside_usr(self._sdk.root), _TOOLS: str(self._tools), **packages}

    def compiler_for(self, request: ExecutionRequest) -> CompilerSettings:
        """Return the compile server for a request's bundle."""
        begin = (str(self._sdk.root / "dotnet"), "exec", f"{_TOOLS}/CsharpCompile.dll")
        return CompilerSettings(
            arguments=(*begin, str(self._sdk.references), str(CPU_PER_PROGRAM_S)),
            read_only=self._binds(request),
            environment=self._sdk.environment,
            max_memory_mb=_COMPILER_MB,
        )

    def compile(self, requests: Sequence[ExecutionRequest], artefacts: Sequence[Path]) -> list[CompileResult]:
        """Compile programs into assemblies; a version of C# that the SDK lacks is a missing module."""
        results = super().compile(requests, artefacts)
        return [
            result.model_copy(update={"missing_module": self._missing_version(request.source)})
            if result.status is Status.COMPILE_ERROR
            else result
            for request, result in zip(requests, results, strict=True)
        ]

    def server_option(self, request: ExecutionRequest) -> str:
        """Return the build configuration."""
        return build_configuration(request)

    def _missing_version(self, source: str) -> str | None:
        """Return the version of C# that a program is written in and this SDK does not compile; None if there is none.

        The SDK 3.1 reports 23 of SAFIM's 1,084 C# references, written in C# 9, as faulty programs.
        """
        # Executors run without parsers until a program does not compile.
        from caretbench.syntax.parser import captures, has_error, parse

        tree = parse(source, self.language)
        versions = {} if has_error(tree) else captures(tree.root_node, self.language, _VERSIONS)
        used = max((int(name.removeprefix(_VERSION)) for name in versions), default=0)
        # .NET 5 brought C# 9, and each release one more; 3.1 compiles C# 8.
        newest = max(_version(self._sdk.compiler.parents[1])[0], 4) + 4
        return f"C# {used}" if used > newest else None

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return a plan that runs the assembly; under ``default`` by CaretBench's host program."""
        host = f"{_TOOLS}/CsharpHost.dll"
        run: tuple[str, ...] = (host,)
        if not request.sentinel:
            run = ("--runtimeconfig", f"{_TOOLS}/CsharpHost.runtimeconfig.json")
        # .NET reads the bound in hexadecimal. A quarter is left for what is no heap.
        heap = hex(max(64, request.limits.memory_mb * 3 // 4) << 20)
        return RunPlan(
            argv=(str(self._sdk.root / "dotnet"), "exec", *run, f"{ARTEFACT}/program.dll"),
            environment={**self._sdk.environment, "COMPlus_GCHeapHardLimit": heap},
            read_only={**self._binds(request), ARTEFACT: str(artefact)},
            address_space_limit=False,
        )


def build_configuration(request: ExecutionRequest) -> str:
    """Return the build configuration: a release build, without assertions, only if the released runner does so."""
    if request.variant == CONTEST:
        return CONTEST
    return "release" if request.rules.released_build and request.variant == "release" else "debug"


def find_dotnet_sdk() -> DotnetSdk | None:
    """Return the first complete SDK of ``DOTNET_ROOT``, the PATH and the cache."""
    on_path = shutil.which("dotnet")
    named = os.environ.get("DOTNET_ROOT")
    roots = [
        *([Path(named)] if named else []),
        *([Path(on_path).resolve().parent] if on_path else []),
        cache_folder() / DOTNET,
    ]
    return next(filter(None, map(_sdk_in, roots)), None)


def _sdk_in(root: Path) -> DotnetSdk | None:
    if not os.access(root / "dotnet", os.R_OK):  # also where this user may not look
        return None
    compilers = [path for path in (root / "sdk").glob(f"*/{_ROSLYN}") if (path / "csc.dll").is_file()]
    frameworks = list((root / "shared" / _FRAMEWORK).glob("[0-9]*"))
    if not compilers or not frameworks:
        return None
    framework = max(frameworks, key=_version)
    series = _version(framework)[:2]
    packs = [pack for pack in (root / "packs" / f"{_FRAMEWORK}.Ref").glob("[0-9]*") if _version(pack)[:2] == series]
    references = [path for pack in sorted(packs, key=_version) for path in (pack / "ref").glob("net*")]
    compiler = max(compilers, key=lambda path: _version(path.parents[1]))
    return DotnetSdk(root.resolve(), compiler.resolve(), [framework, *references][-1].resolve(), framework.name)


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", folder.name))
