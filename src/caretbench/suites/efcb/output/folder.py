"""The folder of one build: what was mined, what became of it, and the problems.

::

    tasks/
      pull_requests.jsonl  every merged change that was read, unfiltered
      manifest.json        from which repositories, with which options and versions, and what every filter took
      rejected.jsonl       what no problem was made of, with the reason
      leaks.jsonl          what every attack reaches without understanding
      candidates.jsonl     all problems
      problems.jsonl       the problems to run; absent where a hard limit of the leak report is passed

``problems.jsonl`` is written last: a folder without it is a build that has not ended, or has failed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from caretbench.files import DataError, describe_validation_error, read_rows, write_atomically, write_rows
from caretbench.problem import SCHEMA_VERSION, Problem, Profile, Row
from caretbench.sources.repository import RepositoryFacts
from caretbench.suites.efcb.attacks.leaks import Leak
from caretbench.suites.efcb.describing import Rejected
from caretbench.suites.efcb.filtering import Yield


class EfcbManifest(Row):
    """How the problems were made."""

    schema_version: Literal[1] = SCHEMA_VERSION
    suite: str = "efcb"
    profile: Profile
    seed: int
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    """What the user chose besides: dates, limits, tasks, rotations."""
    repositories: tuple[RepositoryFacts, ...] = ()
    changes: Mapping[str, int] = Field(default_factory=dict)
    """How many changes were read, by repository."""
    accepted: Mapping[str, int] = Field(default_factory=dict)
    """How many of them pass the filters of the profile."""
    yields: tuple[Yield, ...] = ()
    problems: Mapping[str, int] = Field(default_factory=dict)
    """How many problems there are, by task and tier."""
    skipped: Mapping[str, int] = Field(default_factory=dict)
    """How many changes could not be read, by reason."""
    versions: Mapping[str, str] = Field(default_factory=dict)


class EfcbFolder:
    """The files of one build."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pull_requests_path = path / "pull_requests.jsonl"
        self.manifest_path = path / "manifest.json"
        self.rejected_path = path / "rejected.jsonl"
        self.leaks_path = path / "leaks.jsonl"
        self.candidates_path = path / "candidates.jsonl"
        self.problems_path = path / "problems.jsonl"

    @contextlib.contextmanager
    def begun(self) -> Iterator[None]:
        """Remove the problems of an earlier build: a folder never shows problems that are not its own.

        A build that fails before it has mined anything leaves neither an empty file nor a new folder.
        """
        absent = [place for place in (self.path, *self.path.parents) if not place.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        self.problems_path.unlink(missing_ok=True)
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                if not self.pull_requests_path.stat().st_size:
                    self.pull_requests_path.unlink()
            with contextlib.suppress(OSError):
                for place in absent:
                    place.rmdir()
            raise

    def write(
        self,
        manifest: EfcbManifest,
        problems: Sequence[Problem],
        rejected: Sequence[Rejected],
        leaks: Sequence[Leak],
        *,
        fit: bool,
    ) -> None:
        """Write everything; the problems to run only where the build is ``fit``."""
        write_rows(self.rejected_path, rejected)
        write_rows(self.leaks_path, leaks)
        write_rows(self.candidates_path, problems)
        write_atomically(self.manifest_path, manifest.model_dump_json(indent=2) + "\n")
        if fit:
            write_rows(self.problems_path, problems)

    def manifest(self) -> EfcbManifest:
        """Return the manifest.

        Raises:
            DataError: it is missing or damaged.
        """
        try:
            return EfcbManifest.model_validate_json(self.manifest_path.read_bytes())
        except OSError as error:
            raise DataError(f"{self.manifest_path}: cannot be read ({error.strerror})") from None
        except ValidationError as error:
            raise DataError(f"{self.manifest_path}: {describe_validation_error(error)}") from None

    def facts(self) -> dict[str, RepositoryFacts]:
        """What is known of the repositories, by name; nothing of a folder without a manifest."""
        found = self.manifest().repositories if self.manifest_path.exists() else ()
        return {entry.repo: entry for entry in found}

    def leaks(self) -> list[Leak]:
        """Return the leak report; empty where there is none."""
        return list(read_rows(self.leaks_path, Leak)) if self.leaks_path.exists() else []

    def problems(self) -> list[Problem]:
        """Return the problems to run.

        Raises:
            DataError: there are none, because the build has not ended or has failed; or a row is wrong.
        """
        if not self.problems_path.exists():
            why = (
                "the leak report stopped the build; leaks.jsonl says where"
                if any(leak.exceeded for leak in self.leaks())
                else "the same `caretbench build efcb` goes on with it"
            )
            raise DataError(f"{self.path}: no problems.jsonl: {why}")
        return list(read_rows(self.problems_path, Problem))
