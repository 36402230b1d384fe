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
from typing import Final

from pydantic import Field, JsonValue

from caretbench.build.sources.repository import RepositoryFacts
from caretbench.errors import DataError
from caretbench.files import read_document, write_document, write_rows
from caretbench.problem import Problem, Profile, StoredRow
from caretbench.suites.efcb.build.changes import RejectedChange
from caretbench.suites.efcb.released_problems import BuiltFolder, Leak


class EfcbManifest(StoredRow):
    """Sources, options and counts of a build.

    ``options`` are those of the user next to profile and seed. ``changes`` and ``accepted`` are counted by repository,
    ``problems`` by task and tier, ``rejected`` by these and reason, ``skipped`` commits by reason.
    """

    suite: str = "efcb"
    profile: Profile
    seed: int
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    repositories: tuple[RepositoryFacts, ...] = ()
    changes: Mapping[str, int] = Field(default_factory=dict)
    accepted: Mapping[str, int] = Field(default_factory=dict)
    problems: Mapping[str, int] = Field(default_factory=dict)
    rejected: Mapping[str, int] = Field(default_factory=dict)
    skipped: Mapping[str, int] = Field(default_factory=dict)
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

    def earlier_build(self, profile: str, seed: int, user_options: Mapping[str, JsonValue]) -> EfcbManifest | None:
        """Return the manifest of the folder's build; None if it has no problems.

        Raises:
            DataError: the problems are of another suite, or of other options: with both values of each that differs.
        """
        if not self.problems_path.exists():
            return None
        try:
            manifest = self.read_manifest()
            foreign = "" if manifest.suite == "efcb" else f"of the suite {manifest.suite}"
        except DataError as error:
            foreign = f"that are not of this suite ({error})"
        if foreign:
            raise DataError(f"{self.path}: contains problems {foreign}; give another folder with -o")
        # Other options give other ids and draws. To replace a set that was already run would make its stored results
        # belong to nothing.
        here = {"profile": profile, "seed": seed, **user_options}
        there = {"profile": manifest.profile, "seed": manifest.seed, **manifest.options}
        other = [
            f"{_NAMES.get(name, f'--{name}')} {_format(there.get(name))} there, {_format(here.get(name))} here"
            for name in dict.fromkeys((*here, *there))
            if there.get(name) != here.get(name)
        ]
        if other:
            raise DataError(
                f"{self.path}: contains {sum(manifest.problems.values())} problems of another build "
                f"({'; '.join(other)}); use another folder with -o, or remove this one"
            )
        return manifest


_NAMES: Final[Mapping[str, str]] = {"tasks": "--task", "limit": "--max-changes"}
"""Command-line names of options that have another name in the manifest."""


def _format(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)
