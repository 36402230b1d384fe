"""JavaScript runtime: a fresh Node.js per program, the sentinel loaded before it."""

from __future__ import annotations

from pathlib import Path

from caretbench.execution.execution_types import ExecutionRequest, RunPlan, Status, Toolchain
from caretbench.execution.toolchains.base_runtime import HARNESS, BaseRuntime, fingerprint, harness_file, tool_version

PROGRAM = "test.js"
NODE = "/usr/bin/node"
PACKAGES = "/tmp/node_modules"  # noqa: S108 - inside the sandbox, above the work folder: import() looks there
OWNER = "javascript"
"""The folder of the harness, TypeScript's too."""
SENTINEL = "sentinel.cjs"
HARNESS_FILES = (SENTINEL, "waiting.cjs", "remaining.cjs")
"""Files that a program runs with, the one loaded first before those that it loads."""

_UNSETTLED_TOP_LEVEL_AWAIT = 13
"""Node's exit status for a module whose top-level await never settles."""


class JavaScriptRuntime(BaseRuntime):
    """JavaScript runtime; there is no ``package.json``, so ``.js`` means CommonJS as it does for ``node test.js``."""

    language = "javascript"

    def find_toolchain(self) -> Toolchain:
        """Return the system's Node.js."""
        version = tool_version(NODE, "--version")
        if version is None:
            return Toolchain(language=self.language, available=False, remedy="apt-get install nodejs")
        mark = fingerprint(version, *(harness_file(OWNER, name) for name in HARNESS_FILES))
        return Toolchain(language=self.language, available=True, version=f"node {version}", fingerprint=mark)

    def plan(self, request: ExecutionRequest, artefact: Path) -> RunPlan:
        """Return plain ``node test.js`` under ``paper``; otherwise the sentinel is required first."""
        del artefact
        bundle = self.bundle(request)
        files = {PROGRAM: request.source}
        arguments = [PROGRAM]
        if request.rules.sentinel:
            arguments = ["--require", f"{HARNESS}/{SENTINEL}", PROGRAM]
            files |= {f"{HARNESS}/{name}": harness_file(OWNER, name) for name in HARNESS_FILES}
        read_only = dict(bundle.read_only) if bundle else {}
        if bundle is not None and (bundle.root / "node_modules").is_dir():
            read_only[PACKAGES] = str(bundle.root / "node_modules")
        return RunPlan(
            argv=(NODE, *arguments),
            # Any flag of V8 makes Node.js compile its own modules anew, a tenth of a small program's time.
            bounded_argv=(NODE, f"--max-old-space-size={request.limits.memory_mb * 3 // 4}", *arguments),
            environment=bundle.environment if bundle else {},
            read_only=read_only,
            files=files,
            answer_lines=request.answer_lines,
            address_space_limit=False,
        )

    def classify_failure(self, request: ExecutionRequest, stderr: str, exit_code: int | None) -> Status:
        """Return the status by standard error; ``incomplete`` by the exit status, which the sentinel confirms."""
        if exit_code == _UNSETTLED_TOP_LEVEL_AWAIT and request.rules.sentinel:
            return Status.INCOMPLETE
        return super().classify_failure(request, stderr, exit_code)
