"""Check of a folder's earlier build: other options are an error, replaced problems give a note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from caretbench.errors import DataError
from caretbench.suites.efcb.build.output.build_folder import EfcbFolder, EfcbManifest
from caretbench.versions import versions

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
        before = self.manifest.changes
        differences = [*_differences(before, changes, "changes of "), *self._versions()]
        if not differences:
            return ""
        return f"{self.folder.path}: {self.problem_count} problems are replaced: {'; '.join(differences)}"

    def _versions(self) -> Iterator[str]:
        now = versions()
        yield from _differences({name: self.manifest.versions.get(name) for name in now}, now, "")


def _differences(before: Mapping[str, object], now: Mapping[str, object], kind: str) -> Iterator[str]:
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"{kind}{name}: {_format(before.get(name))} there, {_format(now.get(name))} here"


def _format(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)
