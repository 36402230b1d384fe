"""Runtime of any interpreted language: a fresh interpreter per program, the sentinel loaded before it.

The table ``[interpreter]`` of the language's ``toolchain.toml`` holds all that differs, so that another interpreted
language is a folder and no code. Ruby and JavaScript run by it as it is; TypeScript adds its compiler.
"""

from __future__ import annotations

from pathlib import Path

from caretbench.errors import UsageError
from caretbench.execution.execution_types import ExecutionRequest, RunPlan, Toolchain
from caretbench.execution.toolchain_tables import InterpreterTable, toolchain_tables
from caretbench.execution.toolchains.base_runtime import HARNESS, BaseRuntime, fingerprint, harness_file, tool_version


class InterpretedRuntime(BaseRuntime):
    """Runtime with the interpreter of the language's table. ``paper``: the plain command, without the sentinel."""

    @property
    def interpreter(self) -> InterpreterTable:
        """The language's table.

        Raises:
            UsageError: it has none.
        """
        interpreter = toolchain_tables()[self.language].interpreter
        if interpreter is None:
            raise UsageError(f"{self.language}: its toolchain.toml names no interpreter")
        return interpreter

    def harness_texts(self) -> dict[str, str]:
        """Return the harness's files by name."""
        table = self.interpreter
        return {name: harness_file(table.harness_language or self.language, name) for name in table.harness}

    def find_toolchain(self) -> Toolchain:
        """Return the interpreter of the table."""
        table = self.interpreter
        version = tool_version(table.command, *table.version)
        if version is None:
            return Toolchain(language=self.language, available=False, remedy=table.remedy)
        # The whole table: a verdict by another start, heap or folder of packages is another verdict.
        mark = fingerprint(version, *self.harness_texts().values(), table.model_dump_json())
        return Toolchain(
            language=self.language, available=True, version=f"{table.title} {version}".strip(), fingerprint=mark
        )

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return the plan to run the program; the sentinel is loaded first where the profile asks for it."""
        del artefact
        table, bundle = self.interpreter, self.bundle(request)
        files, arguments = {table.program: request.source}, [*table.flags, table.program]
        if request.sentinel:
            files |= {f"{HARNESS}/{name}": text for name, text in self.harness_texts().items()}
            start = [word.replace("@harness", HARNESS) for word in table.sentinel]
            arguments = [*table.flags, *start, table.program]
        packages = {
            place: str(bundle.root / folder)
            for folder, place in table.packages.items()
            if bundle is not None and (bundle.root / folder).is_dir()
        }
        # A quarter is left for what is no heap.
        heap = str(request.limits.memory_mb * 3 // 4)
        bounded = [word.replace("@heap", heap) for word in table.heap_flags]
        return RunPlan(
            argv=(table.command, *arguments),
            bounded_argv=(table.command, *bounded, *arguments) if bounded else (),
            environment={**table.environment, **(bundle.environment if bundle else {})},
            read_only={**(bundle.read_only if bundle else {}), **packages},
            files=files,
            answer_lines=request.answer_lines,
            address_space_limit=table.address_space_limit,
        )
