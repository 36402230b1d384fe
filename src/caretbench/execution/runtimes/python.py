"""Python: a fresh interpreter per program, the harness as its first code."""

from __future__ import annotations

import re
from pathlib import Path

from caretbench.execution.runtimes.base import Runtime, fingerprint, harness_file, tool_version
from caretbench.execution.sandbox import WORK
from caretbench.execution.types import ExecutionRequest, RunPlan, Status, Toolchain
from caretbench.execution.walls import launcher_interpreter

PROGRAM = "main.py"

ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "MPLBACKEND": "Agg",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


def _raised(names: str) -> re.Pattern[str]:
    """The traceback's last entry is one of these exceptions, whatever lines its message has."""
    return re.compile(rf"^(?:[\w.]+\.)?(?:{names})(?::|\s*$)(?!(?:.|\n)*^Traceback )", re.MULTILINE)


class PythonRuntime(Runtime):
    """CPython of the system. Never ``-O``: assertions are what is measured."""

    language = "python"
    failure_patterns = (
        (_raised("AssertionError"), Status.FAILED),
        (_raised("ModuleNotFoundError"), Status.UNRESOLVED_IMPORT),
        (_raised("MemoryError|numpy.core._exceptions._ArrayMemoryError"), Status.OUT_OF_MEMORY),
        (_raised("SyntaxError|IndentationError|TabError"), Status.COMPILE_ERROR),
    )

    def find_toolchain(self) -> Toolchain:
        """The interpreter that the sandbox's launcher uses too."""
        interpreter, _ = launcher_interpreter()
        version = tool_version(interpreter, "--version")
        if version is None:
            return Toolchain(language=self.language, available=False, remedy="apt-get install python3")
        mark = fingerprint(version, harness_file("python_harness.py"), environment=ENVIRONMENT)
        return Toolchain(language=self.language, available=True, version=version, fingerprint=mark)

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Under ``paper`` the program alone; else by way of the harness."""
        del artefact
        interpreter, binds = launcher_interpreter()
        bundle = self.bundle(request)
        harnessed = ("-c", harness_file("python_harness.py"), f"{WORK}/{PROGRAM}")
        packages = "bundled" if bundle is not None else "system"
        return RunPlan(
            argv=(interpreter, *((PROGRAM,) if request.profile == "paper" else (*harnessed, packages))),
            environment={**ENVIRONMENT, **(bundle.environment if bundle else {})},
            read_only={**binds, **(bundle.read_only if bundle else {})},
            files={PROGRAM: request.source},
        )
