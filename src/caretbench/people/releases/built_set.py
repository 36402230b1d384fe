"""Parts of a set's problems in an earlier release: what was public stays public, under other names too."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

from caretbench.build.validation.duplicates import repeated_problems
from caretbench.build.validation.reviewed import problem_hash
from caretbench.errors import DataError
from caretbench.files import read_rows, sha256_text
from caretbench.languages import get_language
from caretbench.problem import FileSplice, Problem
from caretbench.suites.devbench.build.construction.build_folder import (
    MANIFEST_FILE,
    BuildFolder,
    InstanceAttempt,
    StoredAnswer,
)
from caretbench.suites.devbench.built_instances import BuiltInstance
from caretbench.text_tables import counted

PROBLEMS_FILE: Final = "problems.jsonl"
DATASHEET_FILE: Final = "datasheet.json"
SNAPSHOTS_FOLDER: Final = "snapshots"


def _check_files(root: Path) -> None:
    """Raise DataError if a file of a set is a link, or no plain file: what is outside of a set is never released."""
    # Only what is read is examined: the rest of a build's folder is never copied.
    if (root / PROBLEMS_FILE).exists():
        places = [root / PROBLEMS_FILE]
    else:
        places = [*root.glob("*"), *root.glob("*/*"), *root.glob("*/*/*")]
    for path in places:
        # All links are refused before any other file is opened: what a link names (a key, another set) would be copied
        # into the release.
        if path.is_symlink():
            raise DataError(f"{path}: it is a link; a release takes plain files of its folder")
    for path in places:
        # Reading a pipe waits for ever.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise DataError(f"{path}: it is no plain file")


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
        self._folder = BuildFolder(root)
        self._canary = canary
        self.name = root.resolve().name
        _check_files(root)
        self.as_rows = (root / PROBLEMS_FILE).is_file()
        self.problems: Sequence[Problem] = [problem for problem in self._sorted() if problem.id not in dropped]
        if not self.problems:
            what = "no problems remain" if dropped else "no problems here"
            raise DataError(f"{root}: {what}; expected LANGUAGE/CATEGORY/NAME.EXT, or {PROBLEMS_FILE}")

    def _sorted(self) -> list[Problem]:
        path = self.root / PROBLEMS_FILE
        problems = list(read_rows(path, Problem)) if self.as_rows else self._folder.problems()
        # File systems list files in different orders, and two releases of one folder have the same bytes.
        problems.sort(key=lambda problem: problem.id)
        twice = next((problem.id for problem, other in pairwise(problems) if problem.id == other.id), None)
        if twice is not None:
            raise DataError(f"{self.root}: the id {twice!r} occurs twice; ids are unique over a set")
        return problems

    @property
    def suite(self) -> str:
        """Name of the suite of the problems."""
        return self.problems[0].suite

    @cached_property
    def instances(self) -> Mapping[str, BuiltInstance]:
        """Rows of the instances by id; empty if the folder has none, as one that is written by hand."""
        return {} if self.as_rows else self._folder.instances()

    @cached_property
    def attempts(self) -> Sequence[InstanceAttempt]:
        """All attempts of the build; of several ends of one request the last one holds."""
        # A build that was killed between its answer and its row attempts the same request again.
        return [] if self.as_rows else list({row.request: row for row in self._folder.attempts()}.values())

    @cached_property
    def answers(self) -> Sequence[StoredAnswer]:
        """All answers of models, whose texts are never released."""
        return [] if self.as_rows else list(self._folder.answers().values())

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

    def row(self, problem: Problem) -> BuiltInstance | None:
        """Return the row of a problem; None if the folder has none."""
        return self.instances.get(problem.id)

    def is_edited(self, row: BuiltInstance) -> bool:
        """Return whether the file of an instance has changed since it was checked."""
        # The checks were of the text with this hash; an edited file was never run.
        return self._folder.text_hash(row.id) != row.text_hash

    def licence_of(self, problem: Problem) -> str | None:
        """Return the licence of a problem; None where neither its row nor its provenance has one."""
        row = self.row(problem)
        return (row.licence if row else None) or problem.provenance.licence

    @cached_property
    def stated_canary(self) -> str | None:
        """Canary of the manifest or of the datasheet, in one line."""
        stated = self._canary or self.manifest.get("canary") or self.datasheet.get("canary")
        # The canary stands in a line comment of each program: a line break in it would make code of the rest.
        return " ".join(stated.split()) or None if isinstance(stated, str) else None

    @cached_property
    def canary(self) -> str:
        """Canary that the folder states, or one that follows from the texts."""
        if self.stated_canary is not None:
            return self.stated_canary
        # From the texts, so that a second release of the same set does not get a canary that no crawler knows.
        digest = sha256_text(self.name, *(problem.reference for problem in self.problems))
        return f"caretbench canary {UUID(digest[:32])}: benchmark data are no training data"

    def source_paths(self, problem: Problem) -> list[str]:
        """Return the paths of a problem's files, from the folder; empty where problems are rows."""
        if self.as_rows:
            return []
        file = Path(f"{problem.id}{get_language(problem.caret.language).suffix}")
        return [str(path) for path in (file, file.with_suffix(".toml")) if (self.root / path).is_file()]


def cell_of(problem: Problem) -> str:
    """Return the cell of a problem: language and category, as far as it has them."""
    # Sets of other suites have no categories.
    names = (name for name in ("language", "category") if name in problem.labels)
    return "/".join(problem.label(name) for name in names) or "all"


def sorted_counts(values: Iterable[str]) -> dict[str, int]:
    """Return the number of each value, in the order of the values."""
    return dict(sorted(Counter(values).items()))


def first_ids(identities: Sequence[str]) -> str:
    """Return the number of problems and the first ids, for messages: ``4 problems (a, b, c, …)``."""
    more = ", …" if len(identities) > 3 else ""
    return f"{counted(len(identities), 'problem')} ({', '.join(identities[:3])}{more})"


def snapshots_of(problems: Sequence[Problem]) -> list[str]:
    """Return the ids of the snapshots that problems need, sorted."""
    return sorted({problem.splice.snapshot for problem in problems if isinstance(problem.splice, FileSplice)})


class EarlierParts(NamedTuple):
    """Problems of a set that were public or held out in an earlier release: id → id of the earlier problem."""

    public: dict[str, str]
    held: dict[str, str]

    def check(self, place: str) -> None:
        """Raise DataError if a problem was held out, and its text is that of a public one."""
        # A copy of a held-out problem that was public is no hold-out: whoever trained on the public part has seen it.
        for name in sorted(self.public.keys() & self.held.keys()):
            raise DataError(
                f"{place}: {name} was held out ({self.held[name]}) and public ({self.public[name]}) in the earlier "
                "version; delete its file, or release without --previous"
            )


def earlier_parts(problems: Sequence[Problem], earlier: Sequence[BuiltSet]) -> EarlierParts:
    """Return the parts of problems in an earlier release: its public part, and its hold-out if there is one.

    A problem is recognised by its id, by its texts, and as a near-duplicate.
    """
    parts = EarlierParts({}, {})
    for ids, part in zip(parts, earlier, strict=False):
        ids.update(_recognised(problems, part.problems))
    return parts


def _recognised(problems: Sequence[Problem], earlier: Sequence[Problem]) -> dict[str, str]:
    ids = {problem.id for problem in earlier}
    texts = {problem_hash(problem): problem.id for problem in earlier}
    repeated = repeated_problems(problems, earlier)
    # Exact matches go over near ones, and equal ids over both, so that a text that was edited stays in its part.
    repeated |= {problem.id: texts[digest] for problem in problems if (digest := problem_hash(problem)) in texts}
    return repeated | {problem.id: problem.id for problem in problems if problem.id in ids}
