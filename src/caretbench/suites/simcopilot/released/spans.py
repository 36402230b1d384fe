"""Reader of the released spans; labels of lines and texts of programs are read too, if they are there."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from caretbench.files import DataError, cache_folder, describe_validation_error, read_packaged_toml
from caretbench.problem import Provenance, Row
from caretbench.suites.simcopilot.rules import Mode, ReleasedLanguage, paper_rules

RELEASE_REVISION: Final = "096d1c42c90419ce2ade414a6ebf11b5a67a0664"
"""Commit of the repository with the programs; the labels are in an older one."""


OPTIONAL: Final = "git_blob"
"""Field of the two large inputs, which some copies of the repositories lack; their programs are excluded."""


@cache
def released_files() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Return the pins of the released files by path, by repository and commit (``OWNER/NAME@COMMIT``)."""
    text = resources.files("caretbench.suites.simcopilot.released").joinpath("released_files.json").read_text("utf-8")
    files: dict[str, dict[str, dict[str, Any]]] = json.loads(text)
    return files


def released_path() -> Path:
    """Return the path of the release in the cache; its files may be missing."""
    return cache_folder() / "data" / f"simcopilot-{RELEASE_REVISION}"


def released_folder() -> Path:
    """Return the folder of the release in the cache.

    Raises:
        DataError: files are missing.
    """
    folder = released_path()
    needed = (path for files in released_files().values() for path, pin in files.items() if OPTIONAL not in pin)
    missing = sum(not (folder / path).is_file() for path in needed)
    if missing:
        raise DataError(f"{missing} files of the release are missing; run: caretbench pull simcopilot")
    return folder


class Release(Row):
    """Origin of the release; ``tab_size`` is the number of blanks that replace a tab."""

    source: str
    licence: str
    date: str
    tab_size: int

    def provenance(self) -> Provenance:
        """Return the provenance of all released problems."""
        return Provenance(source=self.source, revision=RELEASE_REVISION, licence=self.licence, date=self.date)


class LanguageTests(Row):
    """Settings of all programs of a language: a runner of ours, JUnit's jar, a bundle, environment variables."""

    test_runner: str = ""
    junit: str = ""
    bundle: str | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)


class ProgramTests(Row):
    """Settings of one program: its folder, and the requirements, number and CPU seconds of its tests."""

    folder: str
    tests: int
    cpu_s: float
    inputs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    stdlib_only: bool = False


class ReleasedTests(Row):
    """Test settings of the release."""

    release: Release
    languages: Mapping[str, LanguageTests]
    programs: Mapping[str, ProgramTests]


@cache
def released_tests() -> ReleasedTests:
    """Return the test settings of all released programs."""
    return ReleasedTests.model_validate(read_packaged_toml("caretbench.suites.simcopilot.released", "programs.toml"))


class ReleasedSpan(NamedTuple):
    """One released task: lines ``start`` to ``end`` of a program, from 1, both included."""

    program: str
    language: str
    mode: Mode
    start: int
    end: int

    @property
    def id(self) -> str:
        """Identifier that is unique over the released data."""
        return f"released/{self.language}/{self.program}:{self.start}-{self.end}:{self.mode}"

    def covers(self, line: int) -> bool:
        """Return whether the line is in the span."""
        return self.start <= line <= self.end


class ReleasedReference(NamedTuple):
    """A released label: a name used on a line, with the line of its definition and its scope."""

    name: str
    line: int
    definition: int
    scope: str

    @property
    def distance(self) -> int:
        """Lines between use and definition."""
        return abs(self.line - self.definition)


class ReleasedReason(NamedTuple):
    """A released label: the category of the construct to which a line belongs."""

    category: str
    line: int


class ReleasedProgram(NamedTuple):
    """One released program with its spans and labels.

    ``output`` is the part of the output that decides, ``source`` its text, or None if missing, and ``lines`` its
    stated number of lines, which differs from the text for two Java programs.
    """

    name: str
    language: str
    output: str
    spans: tuple[ReleasedSpan, ...]
    references: tuple[ReleasedReference, ...]
    reasons: tuple[ReleasedReason, ...]
    source: str | None = None
    lines: int = 0


class _Record(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(alias="Task_Name", pattern=r"^[\w.-]+$")
    output: str = Field(alias="output_to_check", default="")
    lines: tuple[tuple[int, int], ...] = Field(alias="LN_range", default=())


_REMEDY: Final = "copy the release again"
_LINES: TypeAdapter[list[tuple[int, int]]] = TypeAdapter(list[tuple[int, int]])


def is_released(root: Path) -> bool:
    """Return whether a folder contains released spans."""
    return any(_first_path(root, rules.spans) is not None for rules in paper_rules().languages.values())


def _first_path(root: Path, paths: Sequence[str]) -> Path | None:
    """Return the first of some paths in a folder that exists."""
    return next((root / path for path in paths if (root / path).exists()), None)


def _labels(root: Path, paths: Sequence[str]) -> Path | None:
    """Return the first of some folders that contains labels; the newer repository has an empty one for Java."""
    return next((root / path for path in paths if any((root / path).glob("*_verified.csv"))), None)


def load(root: Path) -> tuple[ReleasedProgram, ...]:
    """Return all released programs with their spans and labels, in the order of the files.

    Raises:
        DataError: a file is missing or malformed, or a span is impossible; the message has file and line.
    """
    if not is_released(root):
        expected = ", ".join(rules.spans[0] for rules in paper_rules().languages.values())
        raise DataError(f"{root}: no released spans here; expected {expected}")
    programs = []
    for language, rules in paper_rules().languages.items():
        if (path := _first_path(root, rules.spans)) is not None:
            programs += [_program(root, path, language, record) for record in _records(path)]
    return tuple(programs)


def _records(path: Path) -> list[object]:
    try:
        records = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {_REMEDY}") from None
    if not isinstance(records, list):
        raise DataError(f"{path}: expected a list of programs; {_REMEDY}")
    return records


def _program(root: Path, path: Path, language: str, value: object) -> ReleasedProgram:
    rules = paper_rules().languages[language]
    if not isinstance(value, dict):
        raise DataError(f"{path}: a program is {value!r:.40}, expected an object with Task_Name and spans; {_REMEDY}")
    try:
        record = _Record.model_validate(value)
    except ValidationError as error:
        raise DataError(f"{path}: {describe_validation_error(error)}; {_REMEDY}") from None
    spans = tuple(_spans(path, language, record))
    twice = next((span for span, count in Counter(spans).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{path}: {record.name} has the span {twice.start} to {twice.end} twice; {_REMEDY}")
    labels = _labels(root, rules.labels)
    references = tuple(_references(labels / f"{record.name}_dependency_verified.csv")) if labels else ()
    reasons = tuple(_reasons(labels / f"{record.name}_reason_verified.csv")) if labels else ()
    source = _source(root, record.name, rules)
    if source is not None and spans and (last := max(span.end for span in spans)) > line_count(source):
        text = f"a span of {record.name} ends in line {last}, after its program of {line_count(source)} lines"
        raise DataError(f"{path}: {text}; {_REMEDY}")
    lines = max((last for _, last in record.lines), default=0)
    return ReleasedProgram(record.name, language, record.output, spans, references, reasons, source, lines)


def _spans(path: Path, language: str, record: _Record) -> Iterator[ReleasedSpan]:
    """Yield the spans of a program; DataError where one is malformed or impossible."""
    fields = record.model_extra or {}
    for mode, mode_rules in paper_rules().modes.items():
        try:
            spans = _LINES.validate_python(fields.get(mode_rules.field))
        except ValidationError:
            raise DataError(
                f"{path}: {record.name}: {mode_rules.field} is no list of [first line, last line]; {_REMEDY}"
            ) from None
        for start, end in spans:
            if not 1 <= start <= end:
                raise DataError(f"{path}: {record.name} has the impossible span {start} to {end}; {_REMEDY}")
            yield ReleasedSpan(record.name, language, mode, start, end)


def line_count(source: str) -> int:
    """Return the number of lines of a program; a line feed at its end begins none."""
    return source.count("\n") + (not source.endswith("\n") and bool(source))


def _source(root: Path, name: str, rules: ReleasedLanguage) -> str | None:
    """Return the program's text: from its folder in the release, else from the folders of its language.

    The latter are ``Python/``, ``example_code/Python/`` and ``build/sources/``, at any depth.
    """
    file = f"{name}{rules.suffix}"
    program = released_tests().programs.get(name)
    path = root / program.folder / file if program else None
    if path is None or not path.is_file():
        folders = (root / rules.sources, root / "example_code" / rules.sources, root / "sources")
        path = next((entry for folder in folders for entry in sorted(folder.rglob(file)) if entry.is_file()), None)
    try:
        return None if path is None else path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {_REMEDY}") from None


def _rows(path: Path, fields: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and fields of each row of a label file; ``fields`` are the released names by ours.

    A file without a head has no rows.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = csv.DictReader(stream)
            heads = rows.fieldnames or ()
            names = {ours: next((n for n in theirs if n in heads), "") for ours, theirs in fields.items()}
            if heads and not all(names.values()):
                raise DataError(f"{path}:1: expected the fields {', '.join(t[0] for t in fields.values())}")
            for row in rows:
                yield rows.line_num, {ours: row[theirs] or "" for ours, theirs in names.items()}
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a table of labels ({error})") from None


def _line(path: Path, number: int, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"{path}:{number}: {text!r} is not a line number") from None


def _references(path: Path) -> Iterator[ReleasedReference]:
    fields = {
        "name": ("var_name", "name"), "line": ("usage_line",), "definition": ("def_line",), "scope": ("scope_type",)
    }  # fmt: skip
    for number, row in _rows(path, fields):
        line, definition = (_line(path, number, row[name]) for name in ("line", "definition"))
        yield ReleasedReference(row["name"], line, definition, row["scope"])


def _reasons(path: Path) -> Iterator[ReleasedReason]:
    for number, row in _rows(path, {"category": ("reason_category",), "line": ("usage_line",)}):
        yield ReleasedReason(row["category"], _line(path, number, row["line"]))
