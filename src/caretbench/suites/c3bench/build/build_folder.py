"""The folder of one build, with its options and the types of its rows.

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
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from caretbench.files import DataError, read_document, sha256_text, write_atomically, write_document, write_rows
from caretbench.options import Option, StringList
from caretbench.problem import Problem, Row, StoredRow
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction, SourceText
from caretbench.suites.c3bench.build.variants.code_context import ExaminedVariant
from caretbench.suites.validity import Validity

_SOURCES, _PROBLEMS = "Sources", "Problems"

OPTIONS: Final = (
    Option("from_sources", StringList, "Source of the problems, as SOURCE; may be repeated.", "build",
           flags=("--from",), metavar="SOURCE", help_group=_SOURCES),
    Option("variants", StringList, "File of contexts, implementations and instructions by hand, TOML or JSONL; may be "
           "repeated.", "build", metavar="FILE", help_group=_SOURCES),
    Option("max_generated", int, "Maximum number of contexts for which generators write versions. Default: all.",
           "build", minimum=0, metavar="N", help_group=_SOURCES),
    Option("reviewed", Path, "Export of a review by people: problems that they rejected are dropped.", "build",
           metavar="PATH", help_group=_PROBLEMS),
    Option("max_icc", int, "Maximum number of problems about the implementation. Default: all.", "build", minimum=0,
           metavar="N", help_group=_PROBLEMS),
    Option("max_scc", int, "Maximum number of problems about the scale.", "build", default=900, minimum=0,
           metavar="N", help_group=_PROBLEMS),
    Option("max_share", float, "Maximum length of a middle, as a share of the text around it.", "build", default=0.3,
           minimum=0, metavar="SHARE", help_group=_PROBLEMS),
    Option("per_function", int, "Maximum number of middles of one function for problems about the implementation.",
           "build", default=1, minimum=1, metavar="N", help_group=_PROBLEMS),
    Option("per_file", int, "Maximum number of problems about the scale of one file.", "build", default=24, minimum=1,
           metavar="N", help_group=_PROBLEMS),
    Option("unverified", bool, "Also keep problems for which no failing wrong answer was found.", "build",
           flags=("--unverified",), default=False, help_group=_PROBLEMS),
    Option("seed", int, "Random seed of the choice.", "build", default=0, help_group=_PROBLEMS),
    Option("jobs", int, "Maximum number of programs that run at the same time. Default: the number of processors.",
           "build", flags=("--jobs", "-j"), minimum=1, help_group="Execution"),
)  # fmt: skip
"""Options of ``caretbench build c3bench``."""


class C3BuildOptions(Row):
    """Options that decide which problems are built; the manifest contains them."""

    sources: tuple[str, ...]
    max_icc: int | None = None
    max_scc: int = 900
    max_share: float = 0.3
    per_function: int = 1
    per_file: int = 24
    unverified: bool = False
    seed: int = 0
    variants: tuple[str, ...] = ()
    max_generated: int | None = None

    @classmethod
    def of(cls, sources: tuple[str, ...], values: Mapping[str, Any]) -> C3BuildOptions:
        """Return the options of a build from its sources and the values of :data:`OPTIONS`."""
        named = {name: values[name] for name in cls.model_fields if name not in {"sources", "variants"}}
        files = tuple(values["variants"] or ())
        return cls(sources=(*sources, *(values["from_sources"] or ())), variants=files, **named)


Stage = Literal["source", "middle", "implementation", "tests", "variant", "gate", "people"]


class BuildMaterial(NamedTuple):
    """Functions with tests, source files, and what could not be read: one row each, with file and line."""

    functions: tuple[CheckedFunction, ...]
    files: tuple[SourceText, ...]
    rejects: tuple[Reject, ...]

    @property
    def hash(self) -> str:
        """Hash of all texts."""
        functions = [f"{function.id}\0{function.text}\0{function.test}" for function in self.functions]
        cases = [file.cases.model_dump_json() for file in self.files if file.cases]
        return sha256_text(*functions, *(f"{file.id}\0{file.text}\0{file.tests}" for file in self.files), *cases)


class Reject(Row):
    """Something that a build does not use, and the reason.

    ``place`` is a file and line, a source, or a source with the span of a middle; ``count`` the number of middles where
    one row stands for several.
    """

    stage: Stage
    place: str
    reason: str
    detail: str = ""
    count: int = 1


class C3Manifest(StoredRow):
    """Sources, options and yields of a build.

    ``yields`` are numbers of items after each step; ``material`` is the hash of the sources' texts. ``rejected`` are
    counted by stage and reason, ``problems`` by task and category, ``variants`` by author (a model, or ``by hand``) and
    verdict.
    """

    suite: str = "c3bench"
    options: C3BuildOptions
    yields: Mapping[str, int] = Field(default_factory=dict)
    material: str = ""
    rejected: Mapping[str, int] = Field(default_factory=dict)
    problems: Mapping[str, int] = Field(default_factory=dict)
    variants: Mapping[str, Mapping[str, int]] = Field(default_factory=dict)
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
        self.gated_path: Final = path / ".validity.jsonl"
        """Verdicts of an unfinished build; hidden, and removed at its end."""

    def start(self, options: C3BuildOptions, material: str) -> None:
        """Prepare the folder for a build; what was decided about sources that have changed since is not used again.

        The files of a finished build stay until :meth:`finish`: this one may fail.

        Raises:
            DataError: it contains a build with other options, or something else.
        """
        known = self._begun()
        if known is None and self.path.is_dir() and any(self.path.iterdir()):
            raise DataError(f"{self.path}: contains something else; choose another folder with -o")
        # Ids do not contain the options: problems of two builds would mix under the same names.
        if known is not None and known.options != options:
            raise DataError(
                f"{self.path}: contains a build with other sources or options; choose another folder with -o, or "
                "remove this one"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.start_path, C3Manifest(options=options, material=material).model_dump_json() + "\n")
        # Verdicts are stored by id. A changed source has other text at the same place.
        if known is None or known.material != material:
            self.gated_path.unlink(missing_ok=True)
        elif self.manifest_path.exists() and not self.gated_path.exists() and self.manifest().material == material:
            write_atomically(self.gated_path, self.validity_path.read_bytes())

    def _begun(self) -> C3Manifest | None:
        """Return the manifest of a finished or begun build; None if there is none."""
        if self.start_path.exists():
            return read_document(self.start_path, C3Manifest)
        return self.manifest() if self.manifest_path.exists() else None

    def manifest(self) -> C3Manifest:
        """Return the manifest."""
        return read_document(self.manifest_path, C3Manifest)

    def finish(
        self,
        manifest: C3Manifest,
        problems: Sequence[Problem],
        validity: Sequence[Validity],
        rejected: Sequence[Reject],
        variants: Sequence[ExaminedVariant] = (),
    ) -> None:
        """Write all files, the problems last."""
        self.problems_path.unlink(missing_ok=True)
        write_rows(self.rejected_path, rejected)
        if variants:
            write_rows(self.variants_path, variants)
        else:
            # A file of an earlier build would list variants that are in no problem.
            self.variants_path.unlink(missing_ok=True)
        write_rows(self.validity_path, validity)
        write_document(self.manifest_path, manifest)
        self.start_path.unlink(missing_ok=True)
        self.gated_path.unlink(missing_ok=True)
        # Last: `load` takes a folder with this file for finished.
        write_rows(self.problems_path, problems)
