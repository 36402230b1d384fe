"""The folder of one build: problems, verdicts, rejects, manifest.

::

    c3/
      problems.jsonl   the problems to run
      validity.jsonl   the gate's verdicts on all candidates
      variants.jsonl   variants by people and models with their verdicts, if there are some
      rejected.jsonl   what is not used, with stage and reason
      manifest.json    sources, options, versions, and the yield of every stage

``problems.jsonl`` is written last: a folder without it is an unfinished build. The same sources and options give the
same bytes, whether the build was interrupted or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from caretbench.files import DataError, describe_validation_error, write_atomically, write_rows
from caretbench.problem import SCHEMA_VERSION, Problem, Row
from caretbench.suites.c3bench.build.build_types import Reject
from caretbench.suites.c3bench.build.options import C3BuildOptions
from caretbench.suites.c3bench.build.variants.examination import ExaminedVariant
from caretbench.suites.validity import Validity


class C3Manifest(Row):
    """Sources, options and yields of a build."""

    schema_version: Literal[1] = SCHEMA_VERSION
    suite: str = "c3bench"
    options: C3BuildOptions
    yields: Mapping[str, int] = Field(default_factory=dict)
    """Number of items after each step: functions, files, contexts, implementations, problems."""
    material: str = ""
    """Hash of the sources' texts."""
    rejected: Mapping[str, int] = Field(default_factory=dict)
    """Number of rejects by stage and reason."""
    problems: Mapping[str, int] = Field(default_factory=dict)
    """Number of problems by task and category."""
    variants: Mapping[str, Mapping[str, int]] = Field(default_factory=dict)
    """Number of variants by author (a model, or ``by hand``) and verdict."""
    versions: Mapping[str, str] = Field(default_factory=dict)


class C3Folder:
    """Reader and writer of a build's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems_path: Final = path / "problems.jsonl"
        self.validity_path: Final = path / "validity.jsonl"
        self.rejected_path: Final = path / "rejected.jsonl"
        self.variants_path: Final = path / "variants.jsonl"
        self.manifest_path: Final = path / "manifest.json"
        self.start_path: Final = path / ".build.json"
        """Options and sources of an unfinished build; hidden, and removed at its end."""
        self.trials_path: Final = path / ".trials.jsonl"
        """Comparisons of an unfinished build; hidden, and removed at its end."""

    def start(self, options: C3BuildOptions, material: str) -> None:
        """Prepare the folder for a build; what was decided about sources that have changed since is removed.

        Args:
            options: Options of the build.
            material: Hash of the sources' texts.

        Raises:
            DataError: it contains a build with other options, or something else.
        """
        known = self._begun()
        if known is None and self.path.is_dir() and any(self.path.iterdir()):
            raise DataError(f"{self.path}: contains something else; choose another folder with -o")
        if known is not None and known.options != options:
            raise DataError(
                f"{self.path}: contains a build with other sources or options; choose another folder with -o, or "
                "remove this one"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.start_path, C3Manifest(options=options, material=material).model_dump_json() + "\n")
        self.problems_path.unlink(missing_ok=True)
        if known is None or known.material != material:
            for path in (self.validity_path, self.trials_path):
                path.unlink(missing_ok=True)

    def _begun(self) -> C3Manifest | None:
        """Return the manifest of a finished or begun build; None if there is none."""
        if self.start_path.exists():
            return _read_manifest(self.start_path)
        return self.manifest() if self.manifest_path.exists() else None

    def manifest(self) -> C3Manifest:
        """Return the manifest.

        Raises:
            DataError: it is missing or damaged.
        """
        return _read_manifest(self.manifest_path)

    def finish(
        self,
        manifest: C3Manifest,
        problems: Sequence[Problem],
        validity: Sequence[Validity],
        rejected: Sequence[Reject],
        variants: Sequence[ExaminedVariant] = (),
    ) -> None:
        """Write all files, the problems last."""
        write_rows(self.rejected_path, rejected)
        if variants:
            write_rows(self.variants_path, variants)
        else:
            self.variants_path.unlink(missing_ok=True)
        write_rows(self.validity_path, validity)
        write_atomically(self.manifest_path, manifest.model_dump_json(indent=2) + "\n")
        self.start_path.unlink(missing_ok=True)
        self.trials_path.unlink(missing_ok=True)
        write_rows(self.problems_path, problems)


def _read_manifest(path: Path) -> C3Manifest:
    try:
        return C3Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise DataError(f"{path}: {describe_validation_error(error)}") from None
