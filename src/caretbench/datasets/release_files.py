"""Files of one part of a release: problems, rows, datasheet, metadata and hashes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from caretbench.datasets.built_set import (
    DATASHEET_FILE,
    PROBLEMS_FILE,
    SNAPSHOTS_FOLDER,
    BuiltSet,
    hidden_tests,
    snapshots_of,
)
from caretbench.datasets.croissant import CROISSANT_FILE, croissant
from caretbench.datasets.datasheet import Datasheet
from caretbench.datasets.datasheet_page import render_datasheet
from caretbench.datasets.set_rows import INSTANCES_FILE, InstanceRow
from caretbench.errors import DataError
from caretbench.files import sha256_file, write_atomically, write_rows
from caretbench.languages import language
from caretbench.problem import Problem
from caretbench.suites.devbench.starter import TESTS

CHECKSUMS_FILE: Final = "checksums"
PAGE_FILE: Final = "datasheet.md"


def write_problems(built: BuiltSet, problems: Sequence[Problem], folder: Path, canary: str, licence: str | None) -> int:
    """Write the problems of a part; return the number of source files with the canary.

    ``licence`` is that of problems whose rows state none.
    """
    if built.as_rows:
        write_rows(folder / PROBLEMS_FILE, problems)
        for name in snapshots_of(problems):
            _copy_snapshot(built.root / SNAPSHOTS_FOLDER / name, folder / SNAPSHOTS_FOLDER / name)
        return 0
    marked = 0
    for one in problems:
        source, *others = built.source_paths(one)
        text = (built.root / source).read_text("utf-8-sig")
        with_canary = mark_program(text, language(one.caret.language).line_comment, canary)
        marked += canary in with_canary
        write_atomically(folder / source, with_canary)
        for path in others:
            write_atomically(folder / path, (built.root / path).read_bytes())
    write_rows(folder / INSTANCES_FILE, (_released_row(built, one, canary, licence) for one in problems))
    return marked


def _copy_snapshot(source: Path, target: Path) -> None:
    if not source.is_dir():
        raise DataError(f"{source}: the snapshot of a problem is missing; build the set again")
    shutil.copytree(source, target, symlinks=True)


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


def _released_row(built: BuiltSet, problem: Problem, canary: str, licence: str | None) -> InstanceRow:
    """Return the row of a problem with its texts and the canary."""
    caret = problem.caret
    texts = {
        "language": caret.language,
        "category": problem.label("category"),
        "path": built.source_paths(problem)[0],
        "prefix": caret.prefix,
        "reference": problem.reference,
        "suffix": caret.suffix,
        "tests": hidden_tests(problem),
        "licence": built.licence_of(problem) or licence,
        "canary": canary,
    }
    return InstanceRow.model_validate(built.row(problem).model_dump(mode="json") | texts)


def write_description(sheet: Datasheet, folder: Path) -> None:
    """Write datasheet, metadata and hashes next to the files of a part."""
    write_atomically(folder / DATASHEET_FILE, sheet.model_dump_json(indent=2) + "\n")
    write_atomically(folder / PAGE_FILE, render_datasheet(sheet))
    if sheet.part == "public":
        rows_file = next(name for name in (INSTANCES_FILE, PROBLEMS_FILE) if (folder / name).exists())
        rows = [json.loads(line) for line in (folder / rows_file).read_text("utf-8").splitlines()]
        metadata = croissant(sheet, rows_file, rows, file_hashes(folder))
        write_atomically(folder / CROISSANT_FILE, json.dumps(metadata, indent=2, ensure_ascii=False) + "\n")
    lines = (f"{digest}  {path}\n" for path, digest in sorted(file_hashes(folder).items()))
    write_atomically(folder / CHECKSUMS_FILE, "".join(lines))


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of all files of a folder by path, without links and without the file of hashes."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    found = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: sha256_file(path) for name, path in sorted(found.items()) if name != CHECKSUMS_FILE}
