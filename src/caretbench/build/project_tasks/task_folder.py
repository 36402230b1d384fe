"""The folder of mined tasks: problems, snapshot of the project, verdicts of the gate, manifest.

::

    tasks/
      manifest.json       project, test command, versions, options
      candidates.jsonl    all mined candidates, before validation
      validity.jsonl      the gate's verdicts on the candidates, with reasons
      problems.jsonl      the tasks to run, made of the candidates that passed the gate
      snapshots/ID/       the project as plain files; ID is the hash of its contents

A folder can be copied to another machine. ``problems.jsonl`` is written last; a folder without it is an unfinished
build.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from caretbench.build.build_models import ANSWER_ERRORS_FILE, ANSWERS_FILE
from caretbench.build.project_tasks.tester.tester_record import TesterRecord
from caretbench.build.project_tasks.tester.written_store import WRITTEN_TESTS_FILE
from caretbench.build.projects.agent.recipe_store import RECIPES_FILE
from caretbench.errors import check_folder_is_writable
from caretbench.file_locks import locked_folder
from caretbench.files import (
    DataError,
    describe_validation_error,
    read_rows,
    remove_partial_files,
    write_atomically,
    write_rows,
)
from caretbench.problem import SCHEMA_VERSION, Problem, Provenance, Row
from caretbench.projects.project import STEPS_FILE
from caretbench.suites.stored_tasks import read_tasks, snapshot_path
from caretbench.suites.validity import Validity


class BuildManifest(Row):
    """Origin of the tasks: project, test command, options, and counts of the build."""

    schema_version: Literal[1] = SCHEMA_VERSION
    suite: str = "simcopilot"
    project: str
    """Name of the project; the cluster of its problems."""
    snapshot: str
    provenance: Provenance
    languages: tuple[str, ...]
    command: tuple[str, ...]
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Options of the build, such as limits and excluded paths."""
    seed: int = 0
    versions: Mapping[str, str] = Field(default_factory=dict)
    lines: Mapping[str, int] = Field(default_factory=dict)
    """Lines of the project by language."""
    reached_lines: Mapping[str, int] = Field(default_factory=dict)
    """Lines that its tests execute; the yield is the number of valid tasks per 1,000 of them."""
    unknown_reach: Mapping[str, str] = Field(default_factory=dict)
    """Mined files whose executed statements are unknown, with the reason. Their lines do not count as reached, and
    their tasks do not count in the yield."""
    passed_over: Mapping[str, str] = Field(default_factory=dict)
    """Files that were not mined, with the reason."""
    rejected: Mapping[str, int] = Field(default_factory=dict)
    """Number of blocks that each mining rule rejected, and of candidates that were not sampled (``not_drawn``)."""
    dropped_checks: Mapping[str, str] = Field(default_factory=dict)
    """Checks whose tests did not pass three times on the unchanged project, or execute no mined line, with reasons."""
    setup: str | None = None
    """Setup command that ran."""
    packages: tuple[str, ...] = ()
    """Python packages that it installed into the snapshot, with versions: ``pytest==9.0.1``."""
    flaky_tests: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Flaky tests by check; they are excluded."""
    failing_tests: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    """Tests that fail on the unchanged project by check, with their errors; they are excluded."""
    order_dependent: Mapping[str, str] = Field(default_factory=dict)
    """Checks whose tests fail in another order, with the failing tests. All their tests run for every task, in the
    project's order."""
    tester: TesterRecord | None = None
    """Tests that a model wrote, if one was asked."""


class TaskFolder:
    """Reader and writer of a folder of tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_path = path / "manifest.json"
        self.candidates_path = path / "candidates.jsonl"
        self.validity_path = path / "validity.jsonl"
        self.problems_path = path / "problems.jsonl"
        self.steps_path = path / STEPS_FILE
        """Results of an unfinished build's steps; hidden, and removed at its end."""
        self.model_paths = tuple(
            path / name for name in (RECIPES_FILE, WRITTEN_TESTS_FILE, ANSWERS_FILE, ANSWER_ERRORS_FILE)
        )
        """Recipes, outcomes of written tests, and answers of models that were asked for them."""

    def snapshot_path(self, identity: str) -> Path:
        """Return the folder of a snapshot; DataError if ``identity`` is not the name of one."""
        return snapshot_path(self.path, identity)

    def problems(self) -> list[Problem]:
        """Return the tasks to run; DataError as :func:`caretbench.suites.stored_tasks.read_tasks`."""
        return read_tasks(self.path)

    def manifest(self) -> BuildManifest:
        """Return the manifest.

        Raises:
            DataError: it is missing or damaged.
        """
        try:
            return BuildManifest.model_validate_json(self.manifest_path.read_bytes())
        except OSError as error:
            raise DataError(f"{self.manifest_path}: cannot be read ({error.strerror})") from None
        except ValidationError as error:
            raise DataError(f"{self.manifest_path}: {describe_validation_error(error)}") from None

    def write_manifest(self, manifest: BuildManifest) -> None:
        """Replace the manifest."""
        write_atomically(self.manifest_path, manifest.model_dump_json(indent=2) + "\n")

    def candidates(self) -> list[Problem]:
        """Return the candidates; an incomplete last line is ignored."""
        return list(self._mined())

    def _mined(self) -> Iterator[Problem]:
        """Yield the candidates one by one, to save memory: each contains the text of its file."""
        if self.candidates_path.exists():
            yield from read_rows(self.candidates_path, Problem, allow_partial_last_line=True)

    def validity(self) -> dict[str, Validity]:
        """Return the gate's verdicts so far, by problem id."""
        if not self.validity_path.exists():
            return {}
        return {row.problem_id: row for row in read_rows(self.validity_path, Validity, allow_partial_last_line=True)}

    def sort_validity(self, candidates: Sequence[Problem]) -> None:
        """Write the verdicts in the order of the candidates; they are appended in the order of decision."""
        known = self.validity()
        write_rows(self.validity_path, (known[problem.id] for problem in candidates if problem.id in known))

    def accepted(self, *, unverified: bool = False) -> Iterator[Problem]:
        """Yield the valid candidates, and optionally unverified ones."""
        accepted = {"valid", "unverified"} if unverified else {"valid"}
        ids = {name for name, row in self.validity().items() if row.verdict in accepted}
        yield from (problem for problem in self._mined() if problem.id in ids)

    def write_problems(self, tasks: Iterable[Problem]) -> int:
        """Write ``problems.jsonl``, and return the number of tasks."""
        return write_rows(self.problems_path, tasks)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the exclusive lock of a build's folder, which is created if missing; a killed build's partial files go.

    Raises:
        DataError: another process holds the lock, or the path is a file.
    """
    check_folder_is_writable(folder)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked_folder(folder))
        except BlockingIOError:
            raise DataError(f"{folder}: another caretbench builds here; wait for it or stop it") from None
        remove_partial_files(folder)
        yield
