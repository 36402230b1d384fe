"""Files of one part of a release: problems, rows, datasheet, metadata and hashes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from pydantic import JsonValue

from caretbench.errors import DataError
from caretbench.files import sha256_file, sha256_text, write_atomically, write_document, write_rows
from caretbench.languages import get_language
from caretbench.people.releases.built_set import DATASHEET_FILE, PROBLEMS_FILE, SNAPSHOTS_FOLDER, BuiltSet, snapshots_of
from caretbench.people.releases.datasheet import Datasheet
from caretbench.people.releases.datasheet_page import render_datasheet
from caretbench.problem import Problem, Row
from caretbench.suites.devbench.built_instances import INSTANCES_FILE
from caretbench.suites.devbench.starter import TESTS

CROISSANT_FILE: Final = "croissant.json"
_TYPES: Final[Mapping[type, str]] = {bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float", str: "sc:Text"}
_FORMATS: Final[Mapping[str, str]] = {
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".md": "text/markdown",
}
_OWN_WORDS: Final = (
    "citeAs", "column", "conformsTo", "data", "dataType", "equivalentProperty", "examples", "extract", "field",
    "fileProperty", "fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator",
    "source", "subField", "transform",
)  # fmt: skip
"""Words of the context that Croissant defines itself; some have a type."""
_TYPED: Final[Mapping[str, str | Mapping[str, str]]] = {
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}


def croissant(
    facts: tuple[str, str, str, str, str],
    rows_file: str,
    rows: Sequence[Mapping[str, JsonValue]],
    hashes: Mapping[str, str],
) -> dict[str, Any]:
    """Return the metadata of a set.

    Args:
        facts: Its name, description, version, licence and suite.
        rows_file: Name of the file with one row a problem.
        rows: Its rows; the fields are those that all rows have with a plain value of one type.
        hashes: SHA-256 of each file by its path.
    """
    name, description, version, licence, suite = facts
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": description,
        "version": version,
        "license": licence,
        "isLiveDataset": False,
        "keywords": ["code completion", "benchmark", suite],
        "distribution": [_file(path, digest) for path, digest in sorted(hashes.items())],
        "recordSet": [_record_set(rows_file, rows)],
        "citeAs": f"{name}, version {version}",
    }


def _context() -> dict[str, Any]:
    words: dict[str, Any] = {
        "@language": "en", "@vocab": "https://schema.org/", "cr": "http://mlcommons.org/croissant/",
        "dct": "http://purl.org/dc/terms/", "rai": "http://mlcommons.org/croissant/RAI/", "sc": "https://schema.org/",
    }  # fmt: skip
    return words | {word: _TYPED.get(word, f"cr:{word}") for word in _OWN_WORDS}


def _description(sheet: Datasheet) -> str:
    return (
        f"{sheet.figures.problems} code-completion problems of the suite {sheet.suite}, in {len(sheet.figures.cells)} "
        f"cells. {sheet.holdout_problems} further problems are held out. Canary: {sheet.canary}"
    )


def _file(path: str, digest: str) -> dict[str, str]:
    return {
        "@type": "cr:FileObject", "@id": path, "name": path, "contentUrl": path,
        "encodingFormat": _FORMATS.get(PurePosixPath(path).suffix, "text/plain"), "sha256": digest,
    }  # fmt: skip


def _record_set(rows_file: str, rows: Sequence[Mapping[str, JsonValue]]) -> dict[str, Any]:
    fields = {name: _data_type([row.get(name) for row in rows]) for name in rows[0]}
    return {
        "@type": "cr:RecordSet", "@id": "problems", "name": "problems", "description": "One record a problem.",
        "key": {"@id": "problems/id"},
        "field": [
            {
                "@type": "cr:Field", "@id": f"problems/{name}", "name": f"problems/{name}", "dataType": kind,
                "source": {"fileObject": {"@id": rows_file}, "extract": {"column": name}},
            }
            for name, kind in fields.items()
            if kind is not None
        ],
    }  # fmt: skip


def _data_type(values: Sequence[JsonValue]) -> str | None:
    """Return Croissant's type of a field; None if it is not the same plain type in all rows."""
    types = {type(value) for value in values}
    # JSON writes 1.0 as 1, so a column of costs has both types.
    if types == {int, float}:
        return _TYPES[float]
    # A field that is null in one row has no type of Croissant's that all rows fit, so it is not declared.
    return _TYPES.get(types.pop()) if len(types) == 1 else None


TEXTS_FILE: Final = "texts.jsonl"
CHECKSUMS_FILE: Final = "checksums"


class ReleasedText(Row):
    """Texts of one problem in DevBench's layout, for readers of tables: a line of ``texts.jsonl``. None: unknown."""

    id: str
    language: str
    category: str
    path: str
    prefix: str
    reference: str
    suffix: str
    tests: str
    licence: str | None
    canary: str
    generator: str | None = None
    generator_family: str | None = None
    prompt_version: str | None = None
    kind: str | None = None
    band: str | None = None
    attempts: int | None = None
    cost: float | None = None
    created: str | None = None
    sibling: str | None = None


_FACTS: Final = tuple(name for name, field in ReleasedText.model_fields.items() if not field.is_required())


def write_problems(
    built: BuiltSet, problems: Sequence[Problem], folder: Path, canary: str, licence: str | None
) -> int | None:
    """Write the problems of a part; return the number of source files with the canary, None if problems are rows.

    ``licence`` is that of problems whose rows state none.
    """
    if built.as_rows:
        write_rows(folder / PROBLEMS_FILE, problems)
        for name in snapshots_of(problems):
            _copy_snapshot(built.root / SNAPSHOTS_FOLDER, folder / SNAPSHOTS_FOLDER, name)
        return None
    marked, rows = 0, []
    for problem in problems:
        source, *others = built.source_paths(problem)
        text = (built.root / source).read_text("utf-8-sig")
        with_canary = mark_program(text, get_language(problem.caret.language).line_comment, canary)
        marked += canary in with_canary
        write_atomically(folder / source, with_canary)
        for path in others:
            write_atomically(folder / path, (built.root / path).read_bytes())
        if (row := built.row(problem)) is not None:
            update = {"licence": row.licence or licence, "text_hash": sha256_text(with_canary)}
            rows.append(row.model_copy(update=update))
    if rows:
        write_rows(folder / INSTANCES_FILE, rows)
    write_rows(folder / TEXTS_FILE, (released_text(built, problem, canary, licence) for problem in problems))
    return marked


def _copy_snapshot(source: Path, target: Path, name: str) -> None:
    # The name is from a row, and becomes a path: `../x` must not be copied into a release.
    if not name.isalnum() or not (source / name).is_dir():
        raise DataError(f"{source}: the snapshot {name!r} of a problem is missing; build the set again")
    # Links within a snapshot belong to its project; following them would copy files of this machine.
    shutil.copytree(source / name, target / name, symlinks=True)


def mark_program(text: str, comment: str, canary: str) -> str:
    """Return a program with the canary in a comment behind the hidden tests; no shown text changes.

    A program without hidden tests and without a line break at its end stays as it is.
    """
    line = f"{comment} {canary}\n"
    # A set that was released before has its canary already, and its text hashes must stay.
    if canary in text:
        return text
    # Behind the tests, so that no shown text and no line number of a test changes.
    if TESTS in text:
        return f"{text}{'' if text.endswith(chr(10)) else chr(10)}{line}"
    # Without a line break at its end, the comment would join the reference's last line.
    return f"{text}{TESTS.lstrip()}{line}" if text.endswith("\n") else text


def released_text(built: BuiltSet, problem: Problem, canary: str, licence: str | None) -> ReleasedText:
    """Return the texts and the main facts of a problem."""
    row = built.row(problem)
    facts = {name: getattr(row, name) for name in _FACTS} if row else {}
    return ReleasedText(
        id=problem.id,
        language=problem.caret.language,
        category=problem.label("category"),
        path=built.source_paths(problem)[0],
        prefix=problem.caret.prefix,
        reference=problem.reference,
        suffix=problem.caret.suffix,
        tests=problem.hidden_tests,
        licence=built.licence_of(problem) or licence,
        canary=canary,
        **facts,
    )


def write_description(sheet: Datasheet, folder: Path) -> None:
    """Write datasheet, metadata and hashes next to the files of a part."""
    write_document(folder / DATASHEET_FILE, sheet)
    write_atomically(folder / "datasheet.md", render_datasheet(sheet))
    # Metadata invite crawlers; the hold-out is for its owner alone.
    if sheet.part == "public":
        rows_file = next(name for name in (TEXTS_FILE, PROBLEMS_FILE) if (folder / name).exists())
        further = {"url": sheet.url} if sheet.url else {}
        if sheet.figures.created:
            # The last date of the rows, not today's: two releases of a folder have the same bytes.
            further["datePublished"] = sheet.figures.created[1][:10]
        facts = (sheet.name, _description(sheet), sheet.version, sheet.licence, sheet.suite)
        write_croissant(folder, facts, rows_file, further)
    write_checksums(folder)


def write_croissant(
    folder: Path, facts: tuple[str, str, str, str, str], rows_file: str, further: Mapping[str, str] | None = None
) -> None:
    """Write the metadata of the files in a folder; ``facts`` as in :func:`croissant`, ``further`` are added."""
    # Not splitlines: a text of a row may have U+2028.
    rows = [json.loads(line) for line in (folder / rows_file).read_text("utf-8").split("\n") if line]
    metadata = {**croissant(facts, rows_file, rows, file_hashes(folder)), **(further or {})}
    write_atomically(folder / CROISSANT_FILE, json.dumps(metadata, indent=2, ensure_ascii=False) + "\n")


def write_checksums(folder: Path) -> int:
    """Write the hashes of all files of a folder; return their number."""
    hashes = file_hashes(folder)
    # Two blanks between hash and path: the form that `sha256sum -c` reads.
    write_atomically(folder / CHECKSUMS_FILE, "".join(f"{digest}  {path}\n" for path, digest in hashes.items()))
    return len(hashes)


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of all files of a folder by path, without links and without the file of hashes."""
    # The file of hashes cannot have its own.
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    by_path = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: sha256_file(path) for name, path in sorted(by_path.items()) if name != CHECKSUMS_FILE}
