"""A built set as a release reads it: problems, files and rows, and the folder's attempts, answers and manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from caretbench.datasets.set_rows import (
    ATTEMPTS_FILE,
    INSTANCES_FILE,
    MANIFEST_FILE,
    AnswerCost,
    AttemptRow,
    InstanceRow,
)
from caretbench.errors import DataError
from caretbench.files import RowT, read_rows, sha256_text
from caretbench.languages import language
from caretbench.problem import FileSplice, InlineSplice, Problem
from caretbench.suites.build_models import ANSWERS_FILE

PROBLEMS_FILE: Final = "problems.jsonl"
DATASHEET_FILE: Final = "datasheet.json"
SNAPSHOTS_FOLDER: Final = "snapshots"


class BuiltSet:
    """Reader of a folder with a built set: source files in DevBench's layout, or the ``problems.jsonl`` of a build.

    Problems come in the order of their ids. ``dropped`` are the ids of problems that a review rejected; ``canary`` is
    that of the files, where the folder does not state it yet.

    Raises:
        DataError: there are no problems, or a file is malformed.
    """

    def __init__(self, root: Path, dropped: frozenset[str] = frozenset(), canary: str | None = None) -> None:
        if not root.is_dir():
            raise DataError(f"{root}: no such folder; expected a built set")
        self.root = root
        self._canary = canary
        self.name = root.resolve().name
        self.as_rows = (root / PROBLEMS_FILE).is_file()
        self.problems: Sequence[Problem] = [one for one in self._sorted() if one.id not in dropped]
        if not self.problems:
            raise DataError(f"{root}: no problems remain for a release")

    def _sorted(self) -> list[Problem]:
        if self.as_rows:
            found = list(read_rows(self.root / PROBLEMS_FILE, Problem))
        else:
            from caretbench.suites.devbench import starter

            found = starter.load(self.root, source=self.name)
        found.sort(key=lambda one: one.id)
        twice = next((one.id for one, other in pairwise(found) if one.id == other.id), None)
        if twice is not None:
            raise DataError(f"{self.root}: the id {twice!r} occurs twice; ids are unique over a set")
        return found

    @property
    def suite(self) -> str:
        """Name of the suite of the problems."""
        return self.problems[0].suite

    @cached_property
    def instances(self) -> Mapping[str, InstanceRow]:
        """Rows of the instances by id; empty if the folder has none, as one that is written by hand."""
        return {row.id: row for row in self._rows(INSTANCES_FILE, InstanceRow)}

    @cached_property
    def attempts(self) -> Sequence[AttemptRow]:
        """All attempts of the build."""
        return self._rows(ATTEMPTS_FILE, AttemptRow)

    @cached_property
    def answers(self) -> Sequence[AnswerCost]:
        """Costs of all answers of models."""
        return self._rows(ANSWERS_FILE, AnswerCost)

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """Manifest of the build; empty if there is none."""
        return self._object(MANIFEST_FILE)

    @cached_property
    def datasheet(self) -> Mapping[str, Any]:
        """Datasheet of a released set; empty if the folder is no release."""
        return self._object(DATASHEET_FILE)

    def _object(self, name: str) -> dict[str, Any]:
        path = self.root / name
        if not path.exists():
            return {}
        try:
            value = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: cannot be read ({error})") from None
        if not isinstance(value, dict):
            raise DataError(f"{path}: expected a JSON object, found {type(value).__name__}")
        return value

    def _rows(self, name: str, model: type[RowT]) -> list[RowT]:
        path = self.root / name
        return list(read_rows(path, model, allow_partial_last_line=True)) if path.exists() else []

    def row(self, problem: Problem) -> InstanceRow:
        """Return the row of a problem; one without facts if the folder has none."""
        return self.instances.get(problem.id) or InstanceRow(id=problem.id)

    def licence_of(self, problem: Problem) -> str | None:
        """Return the licence of a problem; None where neither its row nor its provenance has one."""
        return self.row(problem).licence or problem.provenance.licence

    @cached_property
    def stated_canary(self) -> str | None:
        """Canary of the manifest or of the datasheet, in one line."""
        stated = self._canary or self.manifest.get("canary") or self.datasheet.get("canary")
        return " ".join(stated.split()) or None if isinstance(stated, str) else None

    @cached_property
    def canary(self) -> str:
        """Canary that the folder states, or one that follows from the texts."""
        if self.stated_canary is not None:
            return self.stated_canary
        texts = (one.reference for one in self.problems)
        digest = sha256_text(self.name, *texts)[:32]
        parts = "-".join(digest[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
        return f"caretbench canary {parts}: benchmark data are no training data"

    def source_paths(self, problem: Problem) -> list[str]:
        """Return the paths of a problem's files, from the folder; empty where problems are rows."""
        if self.as_rows:
            return []
        file = Path(f"{problem.id}{language(problem.caret.language).suffix}")
        return [str(path) for path in (file, file.with_suffix(".toml")) if (self.root / path).is_file()]


def cell_of(problem: Problem) -> str:
    """Return the cell of a problem: language and category, or what it has of them."""
    names = (name for name in ("language", "category") if name in problem.labels)
    return "/".join(problem.label(name) for name in names) or "all"


def hidden_tests(problem: Problem) -> str:
    """Return the hidden tests of a program; empty for problems of other kinds."""
    splice = problem.splice
    return splice.after.removeprefix(problem.caret.suffix) if isinstance(splice, InlineSplice) else ""


def snapshots_of(problems: Sequence[Problem]) -> list[str]:
    """Return the ids of the snapshots that problems need, sorted."""
    return sorted({one.splice.snapshot for one in problems if isinstance(one.splice, FileSplice)})
