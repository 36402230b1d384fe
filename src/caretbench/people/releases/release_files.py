"""Files of one part of a release: problems, rows, datasheet, metadata and hashes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.files import sha256_file, sha256_text, write_atomically, write_rows
from caretbench.languages import language
from caretbench.people.releases.built_set import DATASHEET_FILE, PROBLEMS_FILE, SNAPSHOTS_FOLDER, BuiltSet, snapshots_of
from caretbench.people.releases.croissant import CROISSANT_FILE, croissant
from caretbench.people.releases.datasheet import Datasheet
from caretbench.people.releases.datasheet_page import render_datasheet
from caretbench.problem import Problem, Row
from caretbench.suites.devbench.built_instances import INSTANCES_FILE
from caretbench.suites.devbench.starter import TESTS

TEXTS_FILE: Final = "texts.jsonl"
CHECKSUMS_FILE: Final = "checksums"
PAGE_FILE: Final = "datasheet.md"


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
    for one in problems:
        source, *others = built.source_paths(one)
        text = (built.root / source).read_text("utf-8-sig")
        with_canary = mark_program(text, language(one.caret.language).line_comment, canary)
        marked += canary in with_canary
        write_atomically(folder / source, with_canary)
        for path in others:
            write_atomically(folder / path, (built.root / path).read_bytes())
        if (row := built.row(one)) is not None:
            update = {"licence": row.licence or licence, "text_hash": sha256_text(with_canary)}
            rows.append(row.model_copy(update=update))
    if rows:
        write_rows(folder / INSTANCES_FILE, rows)
    write_rows(folder / TEXTS_FILE, (released_text(built, one, canary, licence) for one in problems))
    return marked


def _copy_snapshot(source: Path, target: Path, name: str) -> None:
    if not name.isalnum() or not (source / name).is_dir():
        raise DataError(f"{source}: the snapshot {name!r} of a problem is missing; build the set again")
    shutil.copytree(source / name, target / name, symlinks=True)


def mark_program(text: str, comment: str, canary: str) -> str:
    """Return a program with the canary in a comment behind the hidden tests; no shown text changes.

    A program without hidden tests and without a line break at its end stays as it is.
    """
    line = f"{comment} {canary}\n"
    if canary in text:
        return text
    if TESTS in text:
        return f"{text}{'' if text.endswith(chr(10)) else chr(10)}{line}"
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
    write_atomically(folder / DATASHEET_FILE, sheet.model_dump_json(indent=2) + "\n")
    write_atomically(folder / PAGE_FILE, render_datasheet(sheet))
    if sheet.part == "public":
        rows_file = next(name for name in (TEXTS_FILE, PROBLEMS_FILE) if (folder / name).exists())
        # Not splitlines: a text of a row may have U+2028.
        rows = [json.loads(line) for line in (folder / rows_file).read_text("utf-8").split("\n") if line]
        metadata = croissant(sheet, rows_file, rows, file_hashes(folder))
        write_atomically(folder / CROISSANT_FILE, json.dumps(metadata, indent=2, ensure_ascii=False) + "\n")
    lines = (f"{digest}  {path}\n" for path, digest in sorted(file_hashes(folder).items()))
    write_atomically(folder / CHECKSUMS_FILE, "".join(lines))


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of all files of a folder by path, without links and without the file of hashes."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    found = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: sha256_file(path) for name, path in sorted(found.items()) if name != CHECKSUMS_FILE}
