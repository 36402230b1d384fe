"""The folder of one build: mined changes, rejections, leaks and problems.

::

    tasks/
      pull_requests.jsonl  all mined changes, unfiltered
      manifest.json        repositories, options, versions, and counts of every reason
      rejected.jsonl       changes without a problem, with the reason
      leaks.jsonl          accuracy of every attack
      candidates.jsonl     all problems
      problems.jsonl       the problems to run; absent if a limit of the leak report is exceeded

``problems.jsonl`` is written last: without it a build is unfinished or has failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import Field, JsonValue

from caretbench.build.sources.repository import RepositoryFacts
from caretbench.errors import DataError
from caretbench.files import read_document, write_document, write_rows
from caretbench.problem import Problem, Profile, StoredRow
from caretbench.suites.efcb.build.changes import RejectedChange
from caretbench.suites.efcb.built_folder import BuiltFolder, Leak
from caretbench.versions import versions


class EfcbManifest(StoredRow):
    """Sources, options and counts of a build."""

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
    problems: Mapping[str, int] = Field(default_factory=dict)
    """Number of problems by task and tier."""
    rejected: Mapping[str, int] = Field(default_factory=dict)
    """Number of changes without a problem by task, tier and reason."""
    skipped: Mapping[str, int] = Field(default_factory=dict)
    """Number of skipped commits by reason."""
    versions: Mapping[str, str] = Field(default_factory=dict)


class EfcbFolder(BuiltFolder):
    """Reader and writer of a build's folder."""

    def write_build(
        self,
        manifest: EfcbManifest,
        problems: Sequence[Problem],
        rejected: Sequence[RejectedChange],
        leaks: Sequence[Leak],
        *,
        usable: bool,
    ) -> None:
        """Write all files; ``problems.jsonl`` only if the build is ``usable``.

        The problems of an earlier build stay until then: a source that failed removed 172 of them, and with them the
        refusal of other options.
        """
        # Runs read `problems.jsonl` alone. Left there, it would belong to other changes than the manifest.
        self.problems_path.unlink(missing_ok=True)
        write_rows(self.rejected_path, rejected)
        write_rows(self.leaks_path, leaks)
        write_rows(self.candidates_path, problems)
        write_document(self.manifest_path, manifest)
        # Last, and only after everything that explains it: a kill before this line leaves a folder that `load` calls
        # unfinished.
        if usable:
            write_rows(self.problems_path, problems)

    def read_manifest(self) -> EfcbManifest:
        """Return the manifest."""
        return read_document(self.manifest_path, EfcbManifest)


_NAMES: Final[Mapping[str, str]] = {"tasks": "--task", "limit": "--max-changes"}
"""Command-line names of options that have another name in the manifest."""


class EarlierBuild(NamedTuple):
    """A finished build in a folder, with its number of problems and its manifest."""

    folder: EfcbFolder
    problem_count: int
    manifest: EfcbManifest

    @classmethod
    def read(cls, folder: EfcbFolder) -> EarlierBuild | None:
        """Return the folder's build; None if it has no problems.

        Raises:
            DataError: the folder has problems that this suite did not build.
        """
        if not folder.problems_path.exists():
            return None
        try:
            manifest = folder.read_manifest()
            foreign = "" if manifest.suite == "efcb" else f"of the suite {manifest.suite}"
        except DataError as error:
            foreign = f"that are not of this suite ({error})"
        if foreign:
            raise DataError(f"{folder.path}: contains problems {foreign}; give another folder with -o")
        return cls(folder, sum(manifest.problems.values()), manifest)

    def refuse_other_options(self, profile: str, seed: int, user_options: Mapping[str, JsonValue]) -> None:
        """Raise if the build has other options; ``user_options`` are those besides profile and seed.

        Raises:
            DataError: with the number of problems and both values of each option that differs.
        """
        wanted = {"profile": profile, "seed": seed, **user_options}
        # Other options give other ids and draws. To replace a set that was already run would make its stored results
        # belong to nothing.
        there = {"profile": self.manifest.profile, "seed": self.manifest.seed, **self.manifest.options}
        other = [
            f"{_NAMES.get(name, f'--{name}')} {_format(there.get(name))} there, {_format(wanted.get(name))} here"
            for name in dict.fromkeys((*wanted, *there))
            if there.get(name) != wanted.get(name)
        ]
        if other:
            raise DataError(
                f"{self.folder.path}: contains {self.problem_count} problems of another build ({'; '.join(other)}); use"
                " another folder with -o, or remove this one"
            )

    def replacement_note(self, changes: Mapping[str, int]) -> str:
        """Return a note about replaced problems; empty if changes and versions are the same."""
        now = versions()
        if self.manifest.changes == changes and now.items() <= self.manifest.versions.items():
            return ""
        return f"{self.folder.path}: {self.problem_count} problems are replaced: other changes, or another version"


def _format(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)
