"""Editions of the record: rows of problems without the projects' texts, and the problems made of them.

The folder of an edition has ``recipe.toml``, ``locks.jsonl`` (archives of packages), ``projects.jsonl`` and
``tasks.jsonl``; in the package all but the recipe end with ``.xz``. The projects themselves are in the cache, laid
out from their archives by ``caretbench pull record``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field, JsonValue

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.files import cache_folder, read_rows, sha256_text
from caretbench.grouping import grouped
from caretbench.problem import FileSplice, Label, PredicateCheck, Problem, Provenance, Row, TestsCheck
from caretbench.projects.file_spans import file_caret, visible_text
from caretbench.projects.project import ignored_patterns
from caretbench.projects.settings import read_settings
from caretbench.suites.c3bench.measures import SCALE_PREDICATE
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, chosen_wording, scale_instructions

RECIPE_FILE: Final = "recipe.toml"
LOCKS_FILE: Final = "locks.jsonl"
PROJECTS_FILE: Final = "projects.jsonl"
TASKS_FILE: Final = "tasks.jsonl"
INSTRUCTED: Final = "-instructions"
"""End of the name of an edition's problems with an instruction: a set of its own, since FIM formats state none."""
_RULES: Final = "record 1"
"""Version of the layout of projects in the cache."""


class EditionProject(Row):
    """One project of an edition: origin, checks, and the yield of its build."""

    name: str
    language: str
    layout: str
    """Hash of the recipe's entry and of its locked packages; names the project's folder in the cache."""
    snapshot: str = ""
    """Identity of all files of the laid out project, packages included; empty if it was not built."""
    source: str
    date: str
    licence: str
    checks: tuple[TestsCheck, ...] = ()
    tests: tuple[str, ...] = ()
    """Names of tests; tasks refer to them by number."""
    renamed: str = Field(default="", exclude_if=lambda value: not value)
    """Identity of the files with changed names in those that have renamed problems; empty if there are none."""
    verdicts: Mapping[str, int] = Field(default_factory=dict)
    """Number of candidates by verdict of the gate and reason."""
    reason: str = ""
    """Cause for which the project has no problems."""


class RecordTask(Row):
    """One problem without its texts."""

    id: str
    project: str
    path: str
    sha256: str
    """Hash of the file; with changed names, of the changed file."""
    block: str
    """Hash of the hidden bytes."""
    start: int
    end: int
    suffix: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """Byte from which the rest of the file is shown; None: it is not shown."""
    newline: str = Field(default="\n", exclude_if=lambda value: value == "\n")
    check: int
    tests: str = Field(default="", exclude_if=lambda value: not value)
    """Numbers of the deciding tests, ``0-3,7``; empty: all."""
    minimum_tests: int = Field(default=0, exclude_if=lambda value: not value)
    reference_s: float
    group: str
    renamed: bool = Field(default=False, exclude_if=lambda value: not value)
    """The sibling of another problem with changed names."""
    scale: Mapping[str, JsonValue] = Field(default_factory=dict, exclude_if=lambda value: not value)
    """Specification of the block that an instruction asks for; empty: no instruction."""
    labels: Mapping[str, Label]


class Edition(NamedTuple):
    """One edition: its name, folder, projects and tasks."""

    name: str
    folder: Path
    projects: Mapping[str, EditionProject]
    tasks: tuple[RecordTask, ...]

    def of_kind(self, *, instructed: bool) -> Edition:
        """Return the edition with its problems that have an instruction, or with those that have none."""
        name = f"{self.name}{INSTRUCTED}" if instructed else self.name
        return self._replace(name=name, tasks=tuple(task for task in self.tasks if bool(task.scale) is instructed))


def edition_file(folder: Path, name: str) -> Path:
    """Return a file of an edition: compressed in the package, as written by a build elsewhere."""
    packed = folder / f"{name}.xz"
    return packed if packed.is_file() else folder / name


def edition_names() -> tuple[str, ...]:
    """Return the names of the editions that ship, the newest first."""
    root = Path(str(resources.files("caretbench.suites.record"))) / "editions"
    names = [path.name for path in root.iterdir() if edition_file(path, TASKS_FILE).is_file()]
    return tuple(sorted(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True))


def asks_instructions(source: str) -> bool:
    """Return whether a source names the problems of an edition that have an instruction."""
    return source.endswith(INSTRUCTED) and not edition_file(Path(source), TASKS_FILE).is_file()


def edition_folder(source: str) -> Path:
    """Return the folder of an edition: a name of one that ships (``starter``: the newest), or a built folder.

    Raises:
        DataError: there is no such edition.
    """
    names = edition_names()
    source = source.removesuffix(INSTRUCTED) if asks_instructions(source) else source
    name = names[0] if source == "starter" and names else source
    if name in names:
        return Path(str(resources.files("caretbench.suites.record"))) / "editions" / name
    if edition_file(Path(source), TASKS_FILE).is_file():
        return Path(source)
    known = ", ".join(names) or "none"
    raise DataError(f"{source}: no edition of the record; known: {known}, or a folder of caretbench build record")


def read_edition(source: str) -> Edition:
    """Return an edition.

    Raises:
        DataError: there is none, or a row is malformed.
    """
    folder = edition_folder(source)
    projects = {row.name: row for row in read_rows(edition_file(folder, PROJECTS_FILE), EditionProject)}
    tasks = tuple(read_rows(edition_file(folder, TASKS_FILE), RecordTask))
    unknown = next((task for task in tasks if task.project not in projects), None)
    if unknown is not None:
        raise DataError(f"{folder / TASKS_FILE}: {unknown.id}: {PROJECTS_FILE} has no project {unknown.project}")
    return Edition(folder.resolve().name, folder, projects, tasks)


def record_cache() -> Path:
    """Return the folder in the cache of archives and laid out projects."""
    return cache_folder() / "data" / "record"


def laid_out_folder(layout: str, name: str, renamed: str = "") -> Path:
    """Return the folder in the cache of a project that was laid out from its archives.

    With ``renamed``, the identity of its files with changed names, that of these.
    """
    return record_cache() / "projects" / sha256_text(_RULES, layout, renamed)[:32] / name


def stored_project(project: EditionProject, store: SnapshotStore, *, renamed: bool = False) -> Snapshot:
    """Return the snapshot of a laid out project, or of it with changed names.

    Raises:
        DataError: it is not in the cache, or its files are not those of the edition.
    """
    expected = project.renamed if renamed else project.snapshot
    root = laid_out_folder(project.layout, project.name, project.renamed if renamed else "")
    if not root.is_dir():
        raise DataError(f"{project.name}: not here; caretbench pull record fetches it")
    snapshot = store.add(root, ignore=ignored_patterns(root, read_settings(root).ignore))
    if snapshot.id != expected:
        raise DataError(
            f"{project.name}: {root} has other files than the edition's ({snapshot.id[:12]}, not {expected[:12]}); "
            "remove it and run caretbench pull record again"
        )
    return snapshot


def edition_problems(edition: Edition, store: SnapshotStore) -> tuple[list[Problem], dict[str, str]]:
    """Return the problems whose projects are here, and the reasons of the others by project.

    Raises:
        DataError: no project is here.
    """
    problems: list[Problem] = []
    missing: dict[str, str] = {}
    tasks = grouped((task.project, task) for task in edition.tasks)
    missing |= {name: f"{name}: not in projects.jsonl" for name in tasks.keys() - edition.projects.keys()}
    for name, project in edition.projects.items():
        try:
            problems += _problems(project, tasks[name], store)
        except DataError as error:
            missing[name] = str(error)
    if not problems:
        cause = next(iter(missing.values()), "it has no problems")
        more = f" ({len(missing)} projects)" if len(missing) > 1 else ""
        raise DataError(f"{edition.name}: {cause}{more}")
    return problems, missing


def _problems(project: EditionProject, tasks: Sequence[RecordTask], store: SnapshotStore) -> list[Problem]:
    kinds = {task.renamed for task in tasks}
    snapshots = {renamed: stored_project(project, store, renamed=renamed) for renamed in sorted(kinds)}
    return [made_problem(project, task, snapshots[task.renamed]) for task in tasks]


def made_problem(project: EditionProject, task: RecordTask, snapshot: Snapshot) -> Problem:
    """Return the problem of a row.

    Raises:
        DataError: the file or the block is not the one of the row.
    """
    data = _content(snapshot.tree, task.path)
    if hashlib.sha256(data).hexdigest() != task.sha256 or block_hash(data, task.start, task.end) != task.block:
        raise DataError(f"{task.id}: {task.path} is not the file of the edition; remove its project and pull it again")
    names = {"tests": tuple(project.tests[number] for number in numbers(task.tests))} if task.tests else {}
    measured = {"minimum_tests": task.minimum_tests, "reference_s": task.reference_s, **names}
    check = project.checks[task.check].model_copy(update=measured)
    caret = file_caret(project.language, task.path, data, task.start, task.suffix)
    asked = PredicateCheck(name=SCALE_PREDICATE, arguments={"specification": dict(task.scale)})
    wordings = scale_instructions(ScaleSpecification.of(task.scale)) if task.scale else ()
    return Problem(
        id=task.id,
        suite="record",
        shown=caret.model_copy(update={"instruction": chosen_wording(wordings, task.id)}) if wordings else caret,
        splice=FileSplice(
            snapshot=snapshot.id, path=task.path, start=task.start, end=task.end,
            newline="\r\n" if task.newline == "\r\n" else "\n",
        ),
        reference=visible_text(data[task.start : task.end]),
        checks=(check, asked) if task.scale else (check,),
        labels={"language": project.language, "project": project.name, "date": project.date, **task.labels},
        cluster=project.name,
        overlap_group=task.group,
        provenance=Provenance(
            source=project.source, licence=project.licence, date=project.date, revision=project.snapshot
        ),
    )  # fmt: skip


@cache
def _content(tree: Path, path: str) -> bytes:
    return (tree / path).read_bytes()


def block_hash(data: bytes, start: int, end: int) -> str:
    """Return the hash of the hidden bytes of a file."""
    return hashlib.sha256(data[start:end]).hexdigest()


def numbers(text: str) -> list[int]:
    """Return the numbers that ``0-3,7`` lists."""
    ranges = (part.partition("-") for part in text.split(","))
    return [number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)]


def numbers_text(values: list[int]) -> str:
    """Return the ranges of numbers, so that :func:`numbers` gives them, sorted."""
    parts: list[list[int]] = []
    for value in sorted(values):
        if parts and value == parts[-1][-1] + 1:
            parts[-1].append(value)
        else:
            parts.append([value])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)
