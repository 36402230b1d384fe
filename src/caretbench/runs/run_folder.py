"""Files of a run's folder, and its manifest."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from caretbench.execution.execution_types import RunCosts
from caretbench.file_locks import locked_folder
from caretbench.files import (
    DataError,
    describe_validation_error,
    read_appended,
    read_rows,
    write_atomically,
    write_document,
    write_rows,
)
from caretbench.problem import (
    Completion,
    Judgement,
    MissingSample,
    Problem,
    Profile,
    Score,
    StoredCompletion,
    StoredRow,
)
from caretbench.runs.keyed_scores import stored_completions
from caretbench.suites.selection import Selection

_ABSENT = "absent_suites.json"
_NAMED_RUNS = 3
"""Maximum number of runs that an error names."""


class DataInfo(BaseModel):
    """Identity of the data: name, hash and size of the problem set, and number of problems in this run."""

    model_config = ConfigDict(extra="forbid")

    name: str
    hash: str
    problems: int
    selected: int


class ModelInfo(BaseModel):
    """Manifest entry of one model: source of its completions and hash of its parameters."""

    model_config = ConfigDict(extra="forbid")

    model: str
    source: Literal["recorded", "baseline", "model"]
    parameters: str = "none"
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings that ``parameters`` is the hash of: sampling, prompt strategy, the client's identity. No keys."""
    date: str = ""
    """Day on which the run got it (UTC); empty in older runs."""


class ToolchainInfo(BaseModel):
    """Version and fingerprint of a language's toolchain."""

    model_config = ConfigDict(extra="forbid")

    version: str
    fingerprint: str


class Manifest(BaseModel):
    """Manifest of a run: everything that its numbers depend on. ``compare`` refuses runs that differ here."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal[1] = 1
    suite: str
    data: DataInfo
    models: list[ModelInfo] = Field(default_factory=list)
    judges: list[ModelInfo] = Field(default_factory=list)
    policy: str
    further_policies: list[str] = Field(default_factory=list)
    """Policies under which the same answers are scored in addition to ``policy``, by which models are compared."""
    profile: Profile
    executed: bool = True
    variants: dict[str, str] = Field(default_factory=dict)
    selections: list[Selection] = Field(default_factory=list)
    """Selection of problems of each command that added some; empty in older runs."""
    seed: int = 0
    versions: dict[str, str] = Field(default_factory=dict)
    toolchains: dict[str, ToolchainInfo] = Field(default_factory=dict)
    isolation: dict[str, str | bool] | None = None
    costs: RunCosts | None = None
    """CPU time and waiting of all commands that scored; None in older runs."""
    excluded: dict[str, list[str]] = Field(default_factory=dict)
    """Excluded problems by cause: no toolchain, or the reference does not pass."""

    def identity(self) -> dict[str, str]:
        """Return the fields that must be equal when rows are added to a run."""
        return {
            "suite": self.suite,
            "data": self.data.hash,
            "policy": self.policy,
            "profile": self.profile,
            "execution": "on" if self.executed else "off",
            "variants": repr(sorted(self.variants.items())),
        }


JudgementKey = tuple[str, str, str, str, str, int]


class MissingJudgement(StoredRow):
    """Missing judgement: a line of ``judge_errors.jsonl``; the next run asks again.

    ``kind`` is that of a :class:`~caretbench.models.ModelFailure`; ``budget`` means that it was not asked, since the
    money was spent. An answer that came and cannot be read is a :class:`Judgement` with a fault, not a line here.
    """

    problem_id: str
    answer: str
    judge: str
    parameters: str
    criterion: str
    repeat: int = 0
    kind: str
    message: str
    attempts: int = 1

    @property
    def key(self) -> JudgementKey:
        """Key of the missing judgement."""
        return (self.problem_id, self.answer, self.judge, self.parameters, self.criterion, self.repeat)


def absent_suites(root: Path) -> dict[str, str]:
    """Return the reasons of the suites that the latest run of several in ``root`` could not run, by name."""
    path = root / _ABSENT
    return {str(name): str(reason) for name, reason in json.loads(path.read_bytes()).items()} if path.exists() else {}


def write_absent(root: Path, reasons: Mapping[str, str]) -> None:
    """Store the reasons of the suites that a run of several could not run; remove the file if there is none."""
    if reasons:
        write_atomically(root / _ABSENT, json.dumps(reasons, indent=2) + "\n")
    else:
        (root / _ABSENT).unlink(missing_ok=True)


class RunFolder:
    """Files of one run: ``manifest.json``, problems, completions, scores, verdicts of the gate, the report."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_path = path / "manifest.json"
        self.problems_path = path / "problems.jsonl"
        self.completions_path = path / "completions.jsonl"
        self.errors_path = path / "errors.jsonl"
        self.judgements_path = path / "judgements.jsonl"
        self.judge_errors_path = path / "judge_errors.jsonl"
        self.scores_path = path / "scores.jsonl"
        self.validity_path = path / "validity.jsonl"
        self.report_path = path / "report.html"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for this process; create it if needed.

        Raises:
            DataError: another process is at work in it.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(locked_folder(self.path))
            except BlockingIOError:
                raise DataError(
                    f"{self.path}: another caretbench is at work on this run; wait for it or stop it"
                ) from None
            yield

    def manifest(self) -> Manifest:
        """Return the manifest.

        Raises:
            DataError: this is no run's folder, or the manifest is damaged.
        """
        if not self.manifest_path.exists():
            runs = sorted(str(manifest.parent) for manifest in self.path.glob("*/manifest.json"))
            more = f"; it contains runs: name {' or '.join(runs[:_NAMED_RUNS])}" if runs else ""
            raise DataError(f"{self.path}: not a run's folder (no manifest.json in it){more}")
        try:
            return Manifest.model_validate_json(self.manifest_path.read_bytes())
        except ValidationError as error:
            if self.problems_path.exists() and not self.completions_path.exists() and not self.scores_path.exists():
                raise DataError(
                    f"{self.path}: not a run's folder, but problems; run them first: caretbench run SUITE "
                    f"--data {shlex.quote(str(self.path))} -m MODEL"
                ) from None
            raise DataError(f"{self.manifest_path}: {describe_validation_error(error)}") from None

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest."""
        write_document(self.manifest_path, manifest)

    def problems(self) -> list[Problem]:
        """Return the run's problems."""
        return list(read_rows(self.problems_path, Problem))

    def write_problems(self, problems: Iterable[Problem]) -> None:
        """Store the run's problems, so that a report needs nothing but this folder."""
        write_rows(self.problems_path, problems)

    def completions(self) -> Iterator[Completion]:
        """Return an iterator over the completions that are scored."""
        return (row for row in self.all_completions() if not row.at)

    def all_completions(self) -> Iterator[Completion]:
        """Return an iterator over the completions, with those of typing sessions."""
        return read_appended(self.completions_path, Completion, keep_surrogates=True)

    def stored_completions(self) -> Iterator[StoredCompletion]:
        """Yield the completions as reports and scoring read them; those of equal content share its objects."""
        if self.completions_path.exists():
            yield from stored_completions(self.completions_path)

    def missing(self) -> Iterator[MissingSample]:
        """Return an iterator over the missing samples of completions that are scored."""
        return (row for row in read_appended(self.errors_path, MissingSample) if not row.at)

    def judgements(self) -> Iterator[Judgement]:
        """Return an iterator over the judges' judgements."""
        return read_appended(self.judgements_path, Judgement, keep_surrogates=True)

    def missing_judgements(self) -> Iterator[MissingJudgement]:
        """Return an iterator over the error rows of missing judgements."""
        return read_appended(self.judge_errors_path, MissingJudgement)

    def scores(self) -> Iterator[Score]:
        """Return an iterator over the scores."""
        return read_appended(self.scores_path, Score, keep_surrogates=True)
