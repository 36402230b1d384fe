"""Python runtime: a fresh interpreter per program, the harness as its first code."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import ClassVar, Literal

from caretbench.execution.bundles.bundle_model import Bundle
from caretbench.execution.execution_types import ExecutionRequest, Limits, RunPlan, Toolchain, WarmSettings
from caretbench.execution.sandbox.bubblewrap import DEFAULT_ENVIRONMENT, launcher_interpreter
from caretbench.execution.sandbox.program_sandbox import HOME, WORK, Invocation
from caretbench.execution.toolchains.base_runtime import BaseRuntime, fingerprint, harness_file, tool_version

PROGRAM = "main.py"

_PLOTS = re.compile(r"\b(?:matplotlib|pylab|seaborn)\b")
_LIST_FONTS = """
import matplotlib, matplotlib.font_manager, pathlib
[place] = pathlib.Path(matplotlib.get_cachedir()).glob("fontlist-*.json")
print(place.name)
print(place.read_text())
"""

ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",
    # Sets of strings have the same order at every run, on which outputs depend.
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "MPLBACKEND": "Agg",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


_LIGHT = (
    "abc", "argparse", "asyncio", "base64", "collections", "contextlib", "copy", "csv", "dataclasses", "datetime",
    "decimal", "enum", "functools", "hashlib", "heapq", "inspect", "io", "itertools", "json", "logging", "math",
    "operator", "os", "pathlib", "queue", "random", "re", "shutil", "sqlite3", "statistics", "string", "subprocess",
    "tempfile", "textwrap", "threading", "time", "traceback", "types", "typing", "unittest", "unittest.mock", "uuid",
    "weakref",
)  # fmt: skip
_PLOTTING = ("numpy", "matplotlib.pyplot")
_SCIENCE = (*_PLOTTING, "pandas", "scipy", "requests")
_PRELOADED = (
    (re.compile(r"^\s*(?:import|from)\s+(?:pandas|scipy|seaborn)\b", re.MULTILINE), _LIGHT + _SCIENCE),
    (re.compile(r"^\s*(?:import|from)\s+(?:numpy|matplotlib|pylab)\b", re.MULTILINE), _LIGHT + _PLOTTING),
)
"""Imports of a program, and the modules of its worker. Three sets, not one for each program: importing all of them
takes 0.7 s of CPU, which a worker spends once."""


def _modules(source: str) -> tuple[str, ...]:
    """Return the modules that a forked interpreter has already imported; each program has its own copy."""
    return next((modules for imports, modules in _PRELOADED if imports.search(source)), _LIGHT)


class PythonRuntime(BaseRuntime):
    """Python runtime with the system's CPython. Never ``-O``, which would remove assertions."""

    language = "python"
    _lock = threading.Lock()
    _font_lists: ClassVar[dict[str, dict[str, str]]] = {}

    def find_toolchain(self) -> Toolchain:
        """Return the interpreter that the sandbox's launcher uses too."""
        interpreter, _ = launcher_interpreter()
        version = tool_version(interpreter, "--version")
        if version is None:
            return Toolchain(language=self.language, available=False, remedy="apt-get install python3")
        mark = fingerprint(version, harness_file(self.language, "python_harness.py"), environment=ENVIRONMENT)
        return Toolchain(language=self.language, available=True, version=version, fingerprint=mark)

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return the plan to run the program by the harness. Under ``paper`` the system's packages are there, too."""
        del artefact
        interpreter, binds = launcher_interpreter()
        bundle = self.bundle(request)
        harness_code = harness_file(self.language, "python_harness.py")
        # The released runner uses what the machine has installed, so `paper` does, too.
        alone = bundle is not None and request.sentinel
        package_source: Literal["bundled", "system"] = "bundled" if alone else "system"
        environment = {**ENVIRONMENT, **(bundle.environment if bundle else {})}
        preload_environment = tuple({**DEFAULT_ENVIRONMENT, **environment}.items())
        return RunPlan(
            argv=(interpreter, "-c", harness_code, f"{WORK}/{PROGRAM}", package_source),
            warm=WarmSettings(harness_code, _modules(request.source), package_source, preload_environment),
            environment=environment,
            read_only={**binds, **(bundle.read_only if bundle else {})},
            files={PROGRAM: request.source, **self._fonts(request, bundle)},
            answer_lines=request.answer_lines,
        )

    def _fonts(self, request: ExecutionRequest, bundle: Bundle | None) -> dict[str, str]:
        """Return Matplotlib's font list, which it would rebuild in every fresh home, for half its start's CPU."""
        if bundle is None or not _PLOTS.search(request.source):
            return {}
        # One program makes the list, the others wait: each would take as long.
        with self._lock:
            if bundle.name not in self._font_lists:
                self._font_lists[bundle.name] = self._make_font_list(bundle)
            return self._font_lists[bundle.name]

    def _make_font_list(self, bundle: Bundle) -> dict[str, str]:
        interpreter, binds = launcher_interpreter()
        result = self.sandbox.run(
            Invocation(
                [interpreter, "-c", _LIST_FONTS],
                environment={**ENVIRONMENT, **bundle.environment},
                read_only={**binds, **bundle.read_only},
                limits=Limits(output_kb=4096),
            )
        )
        name, _, text = result.stdout.text.partition("\n")
        return {f"{HOME}/.cache/matplotlib/{name}": text} if result.ok and text.startswith("{") else {}
