"""The folder of mined tasks: problems, the project as it was, what the gate said, and how it was made.

::

    tasks/
      manifest.json       from which project, by which command, with which versions and options
      candidates.jsonl    every task that was mined, before the gate
      validity.jsonl      the gate's verdict on every candidate, with its reasons
      problems.jsonl      the tasks to run: candidates that the gate did not refuse
      snapshots/ID/       the project, as plain files; ID is the hash of what is in it

A folder can be copied to another machine as it is. ``problems.jsonl`` is written last: a folder without it is a build
that has not ended.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from caretbench.files import DataError, describe_validation_error, read_rows, write_atomically, write_rows
from caretbench.problem import SCHEMA_VERSION, FileSplice, Problem, Provenance, Row
from caretbench.validation.validity import Validity


class BuildManifest(Row):
    """How the tasks were made."""

    schema_version: Literal[1] = SCHEMA_VERSION
    suite: str = "simcopilot"
    project: str
    """The project's name; the cluster of its problems."""
    snapshot: str
    provenance: Provenance
    languages: tuple[str, ...]
    command: tuple[str, ...]
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    """What the user chose: sampling, limits, excluded paths."""
    seed: int = 0
    versions: Mapping[str, str] = Field(default_factory=dict)
    lines: Mapping[str, int] = Field(default_factory=dict)
    """Lines of the project by language."""
    reached_lines: Mapping[str, int] = Field(default_factory=dict)
    """Those that its tests reach: the yield is counted per 1,000 of them."""
    unknown_reach: Mapping[str, str] = Field(default_factory=dict)
    """Mined files of which it could not be found out what the tests reach, with the reason: none of their lines counts
    as reached, and none of their tasks in the yield."""
    passed_over: Mapping[str, str] = Field(default_factory=dict)
    """Files that were not mined, with the reason."""
    rejected: Mapping[str, int] = Field(default_factory=dict)
    """How many blocks each rule of mining refused, and how many candidates were not drawn (``not_drawn``)."""
    dropped_checks: Mapping[str, str] = Field(default_factory=dict)
    """Ways to test the project that did not pass three times as it is, or run none of its code, with the reason."""
    flaky_tests: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """By check: tests that pass at times only; they are left out."""
    order_dependent: Mapping[str, str] = Field(default_factory=dict)
    """Checks whose tests do not pass in another order, with what fails there. They always run in their own order, and
    all of them: none is chosen for a task."""


class TaskFolder:
    """The files of one folder of tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_path = path / "manifest.json"
        self.candidates_path = path / "candidates.jsonl"
        self.validity_path = path / "validity.jsonl"
        self.problems_path = path / "problems.jsonl"

    def snapshot_path(self, identity: str) -> Path:
        """Where the project lies, as plain files.

        Raises:
            DataError: the name is no name of a snapshot.
        """
        if not identity.isalnum():
            raise DataError(f"{self.path}: {identity!r} is no snapshot's name")
        return self.path / "snapshots" / identity

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
        """What was mined so far; a torn last line is dropped."""
        return list(self._mined())

    def _mined(self) -> Iterator[Problem]:
        """Yield the same one by one: those of a long file are long themselves."""
        if self.candidates_path.exists():
            yield from read_rows(self.candidates_path, Problem, allow_partial_last_line=True)

    def validity(self) -> dict[str, Validity]:
        """What the gate said so far, by problem."""
        if not self.validity_path.exists():
            return {}
        return {
            row.problem_id: row
            for row in read_rows(self.validity_path, Validity, allow_partial_last_line=True)
        }

    def finish(self, *, unverified: bool = False) -> int:
        """Write the tasks to run; gives how many there are. Candidates that the gate has not seen stay out."""
        wanted = {"valid", "unverified"} if unverified else {"valid"}
        fit = {name for name, row in self.validity().items() if row.verdict in wanted}
        return write_rows(self.problems_path, (problem for problem in self._mined() if problem.id in fit))

    def problems(self) -> list[Problem]:
        """Return the tasks to run.

        Raises:
            DataError: the build has not ended, a row is malformed, or a project is missing.
        """
        if not self.problems_path.is_file():
            begun = "its build has not ended" if self.manifest_path.exists() else "no folder of tasks"
            raise DataError(f"{self.path}: {begun} (no problems.jsonl in it)")
        found = list(read_rows(self.problems_path, Problem))
        self._check(found)
        return found

    def _check(self, problems: Sequence[Problem]) -> None:
        splices = [(problem.id, problem.splice) for problem in problems]
        for identity, splice in splices:
            if not isinstance(splice, FileSplice):
                raise DataError(f"{self.problems_path}: {identity} is no answer in a file of a project")
        for snapshot in {splice.snapshot for _, splice in splices if isinstance(splice, FileSplice)}:
            if not self.snapshot_path(snapshot).is_dir():
                raise DataError(f"{self.path}: the project {snapshot} is missing in snapshots/")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder for this process alone.

    Raises:
        DataError: another process builds in it.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: a file; give a folder with -o")
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(f"{folder}: another caretbench builds here; wait for it or stop it") from None
        yield
    finally:
        os.close(descriptor)
