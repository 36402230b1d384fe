"""Toolchains that a project's commands name: their place on this machine, and the binds and variables that lead there.

The finders are those of the language runtimes, so ``caretbench doctor`` and a project's build find the same tools.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.execution.toolchains.csharp import find_dotnet_sdk
from caretbench.execution.toolchains.host_tools import binds_outside_usr
from caretbench.execution.toolchains.java import usable_jdk


class ProjectTool(NamedTuple):
    """Toolchain on this machine: its folder, the subfolder with its programs, its version and its variables."""

    root: Path
    programs: str
    version: str
    environment: Mapping[str, str]

    @property
    def is_outside_usr(self) -> bool:
        """True if the sandbox has the toolchain only by a bind."""
        return not self.root.is_relative_to("/usr")


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


_FINDERS: Final[Mapping[str, Callable[[], ProjectTool | None]]] = {
    "dotnet": _dotnet, "MSBuild": _msbuild, "java": _jdk, "javac": _jdk, "mvn": _jdk, "gradle": _jdk,
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
    words = {word.rpartition("/")[2] for part in command for word in re.split(r"[\s;&|()'\"$`]+", part)}
    found = (find() for find in dict.fromkeys(_FINDERS[name] for name in _FINDERS if name in words))
    return tuple(tool for tool in found if tool is not None and tool.is_outside_usr)


def tool_binds(tools: Sequence[ProjectTool]) -> dict[str, str]:
    """Return the binds of toolchains, path inside -> path on the host."""
    return binds_outside_usr(*(tool.root for tool in tools))


def tool_environment(tools: Sequence[ProjectTool], path: str) -> dict[str, str]:
    """Return the variables of toolchains; their programs are first on the PATH, before ``path``."""
    if not tools:
        return {}
    folders = [str((tool.root / tool.programs).resolve()) for tool in tools]
    own = {name: value for tool in tools for name, value in tool.environment.items()}
    return {**own, "PATH": ":".join([*folders, path])}
