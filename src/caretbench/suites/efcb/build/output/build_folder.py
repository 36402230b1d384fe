"""The folder of one build: mined changes, rejections, leaks and problems.

::

    tasks/
      pull_requests.jsonl  all mined changes, unfiltered
      manifest.json        repositories, options, versions, and counts of every filter
      rejected.jsonl       changes without a problem, with the reason
      leaks.jsonl          accuracy of every attack
      candidates.jsonl     all problems
      problems.jsonl       the problems to run; absent if a limit of the leak report is exceeded

``problems.jsonl`` is written last: without it a build is unfinished or has failed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from caretbench.build.sources.repository import RepositoryFacts
from caretbench.files import DataError, describe_validation_error, write_atomically, write_rows
from caretbench.problem import SCHEMA_VERSION, Problem, Profile, Row
from caretbench.suites.efcb.build.change_filters import FilterCounts
from caretbench.suites.efcb.build.change_metadata import RejectedChange
from caretbench.suites.efcb.built_folder import BuiltFolder, Leak


class EfcbManifest(Row):
    """Sources, options and counts of a build."""

    schema_version: Literal[1] = SCHEMA_VERSION
    suite: str = "efcb"
    profile: Profile
    seed: int
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Other options of the user: dates, limits, tasks, rotations."""
    repositories: tuple[RepositoryFacts, ...] = ()
    changes: Mapping[str, int] = Field(default_factory=dict)
    """Number of changes by repository."""
    accepted: Mapping[str, int] = Field(default_factory=dict)
    """Number of accepted changes by repository."""
    yields: tuple[FilterCounts, ...] = ()
    problems: Mapping[str, int] = Field(default_factory=dict)
    """Number of problems by task and tier."""
    skipped: Mapping[str, int] = Field(default_factory=dict)
    """Number of skipped commits by reason."""
    versions: Mapping[str, str] = Field(default_factory=dict)


class EfcbFolder(BuiltFolder):
    """Reader and writer of a build's folder."""

    @contextlib.contextmanager
    def start_build(self) -> Iterator[None]:
        """Remove the problems of an earlier build, so that no problems of another build remain.

        A build that fails before mining anything leaves neither an empty file nor a new folder.
        """
        absent = [position for position in (self.path, *self.path.parents) if not position.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        self.problems_path.unlink(missing_ok=True)
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                if not self.pull_requests_path.stat().st_size:
                    self.pull_requests_path.unlink()
            with contextlib.suppress(OSError):
                for position in absent:
                    position.rmdir()
            raise

    def write_build(
        self,
        manifest: EfcbManifest,
        problems: Sequence[Problem],
        rejected: Sequence[RejectedChange],
        leaks: Sequence[Leak],
        *,
        usable: bool,
    ) -> None:
        """Write all files; ``problems.jsonl`` only if the build is ``usable``."""
        write_rows(self.rejected_path, rejected)
        write_rows(self.leaks_path, leaks)
        write_rows(self.candidates_path, problems)
        write_atomically(self.manifest_path, manifest.model_dump_json(indent=2) + "\n")
        if usable:
            write_rows(self.problems_path, problems)

    def read_manifest(self) -> EfcbManifest:
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

    def repositories(self) -> dict[str, RepositoryFacts]:
        """Return the facts of repositories by name; empty without a manifest."""
        found = self.read_manifest().repositories if self.manifest_path.exists() else ()
        return {entry.repo: entry for entry in found}
