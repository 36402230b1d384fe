"""Runs of written tests alone: the command of their framework, in the environment of the project's own check."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from caretbench.build.project_tasks.tester.answer_tests import WRITTEN_FOLDER, Framework, WrittenTest
from caretbench.build.projects.setup.pytest_settings import installation_folders, pytest_options
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_request import WORKSPACE_LIMITS, WorkspaceRequest
from caretbench.problem import TestsCheck
from caretbench.projects.answer_requests import check_request
from caretbench.projects.excluded_tests import all_failures_request
from caretbench.projects.runner_options import runs_pytest
from caretbench.syntax import is_test_path

CHANGED: Final = 97
"""Exit status of a guarded run after which files of the project are changed or missing."""
_LIMITS: Final = WORKSPACE_LIMITS.model_copy(update={"cpu_s": 10.0, "wall_s": 60.0, "output_kb": 64, "tmp_mb": 64})
_UNITTEST: Final = re.compile(r"-m\s+unittest\b")
_MODULE: Final = re.compile(r"test[^/]*\.py|[^/]*_test\.py")


def framework_of(check: TestsCheck) -> Framework | None:
    """Return the framework that a check runs; None if it is neither pytest nor unittest."""
    if runs_pytest(check.command):
        return "pytest"
    return "unittest" if _UNITTEST.search(" ".join(check.command)) else None


def written_folder(snapshot: Snapshot, directory: str = ".") -> str:
    """Return the folder for written tests: in the one that has most of the project's test files, else in the root."""
    installed = (*installation_folders(snapshot), "node_modules")
    counts = Counter(
        posixpath.dirname(path)
        for path, entry in snapshot.entries.items()
        if entry.kind == "file"
        and _MODULE.fullmatch(posixpath.basename(path))
        and is_test_path(path, "python")
        and not any(path.startswith(f"{folder}/") for folder in installed)
        and (directory == "." or path.startswith(f"{directory}/"))
    )
    most = min(counts, key=lambda name: (-counts[name], name.count("/"), name), default="")
    start = most or ("" if directory == "." else directory)
    return posixpath.join(start, WRITTEN_FOLDER)


@dataclass(frozen=True)
class WrittenRuns:
    """Requests that run written tests, and no others, on a project.

    Args:
        check: The project's own check, or that of a project without tests.
        snapshot: The project.
        folder: Folder for the tests.
        framework: Framework of the check.
    """

    check: TestsCheck
    snapshot: Snapshot
    folder: str
    framework: Framework

    def files(self, tests: Iterable[WrittenTest]) -> dict[str, bytes]:
        """Return the files of tests by path."""
        own = {f"{self.folder}/{test.stem}.py": test.source.encode() for test in tests}
        return {f"{self.folder}/__init__.py": b"", **own} if own else {}

    def request(
        self, tests: Iterable[WrittenTest], identity: str, patch: Mapping[str, bytes] | None = None
    ) -> WorkspaceRequest:
        """Return the request that runs tests with a log of their outcomes; ``patch`` are changed files."""
        request = all_failures_request(self.plain_request(tests, patch))
        return request.model_copy(update={"id": identity})

    def plain_request(self, tests: Iterable[WrittenTest], patch: Mapping[str, bytes] | None = None) -> WorkspaceRequest:
        """Return the request that runs tests, without a log."""
        alone = self.check.model_copy(
            update={
                "command": self._command(), "prepare": (), "junit": (), "minimum_tests": 1, "output": None,
                "tests": (), "excluded_tests": (), "reference_s": None,
            }
        )  # fmt: skip
        request = check_request(alone, self.snapshot.id)
        files = {**request.patch, **self.files(tests), **(patch or {})}
        return request.model_copy(update={"patch": files, "limits": _LIMITS})

    def guarded(self, request: WorkspaceRequest) -> WorkspaceRequest:
        """Return the request that ends with :data:`CHANGED` if a file of the project is changed or missing."""
        installed = installation_folders(self.snapshot)
        sums = [
            f"{entry.content}  {path}"
            for path, entry in sorted(self.snapshot.entries.items())
            if entry.kind == "file"
            and not any(path.startswith(f"{folder}/") for folder in installed)
            and not set(path) & {"\n", "\\", "\r"}
        ]
        script = (
            f"{shlex.join(request.command)} < /dev/null; status=$?\n"
            f"cd {WORK} && sha256sum --check --quiet - >&2 || exit {CHANGED}\nexit $status"
        )
        listed = "".join(f"{line}\n" for line in sums).encode()
        return request.model_copy(update={"command": ("/bin/sh", "-c", script), "stdin": listed})

    def _command(self) -> tuple[str, ...]:
        place = posixpath.relpath(self.folder, self.check.directory)
        if self.framework == "unittest":
            return ("python3", "-m", "unittest", "discover", "-f", "-s", place, "-p", "test_*.py")
        options = shlex.split(pytest_options(self.snapshot))
        return ("python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *options, place)
