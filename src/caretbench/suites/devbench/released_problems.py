"""Loader of the released layout: ``benchmark/<language>/<category>/<category>.jsonl``, 1,800 instances."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from caretbench.files import DataError, read_lines
from caretbench.problem import Caret, InlineSplice, Problem, ProgramCheck, Provenance
from caretbench.suites.devbench import layout

FIELDS = (
    "id", "testsource", "language", "prefix", "golden_completion", "suffix", "LLM_justification", "assertions",
)  # fmt: skip
REVISION = "b22ecf8"
# Marks of programs that open windows and need a display; the reference program is searched, not the completion.
_DISPLAY_MARKS = ("tkinter", "turtle")


def with_trailing_newline(text: str) -> str:
    """Return ``text`` with a newline at its end; the empty text stays empty."""
    return text if not text or text.endswith("\n") else text + "\n"


def with_leading_newline(text: str) -> str:
    """Return ``text`` with a newline at its beginning; blank text stays as it is."""
    return text if not text.strip() or text.startswith("\n") else "\n" + text


def find_benchmark_folder(root: Path) -> Path:
    """Return the ``benchmark`` folder in ``root``, or ``root`` itself.

    Raises:
        DataError: there is none.
    """
    for folder in (root / "benchmark", root):
        if any((folder / name).is_dir() for name in layout.RELEASED_LANGUAGES):
            return folder
    raise DataError(
        f"{root}: no DevBench data here; expected benchmark/<language>/<category>/<category>.jsonl "
        "(fetched by caretbench pull devbench)"
    )


def _cell_files(benchmark: Path) -> Iterator[tuple[str, str, Path]]:
    for released_language, name in layout.RELEASED_LANGUAGES.items():
        for category in layout.categories().values():
            path = benchmark / released_language / category.released / f"{category.released}.jsonl"
            if path.exists():
                yield name, category.name, path


def _problem(row: dict[str, Any], language: str, category: str, where: str) -> Problem:
    for field in FIELDS:
        if field not in row:
            raise DataError(f"{where}: the field {field!r} is missing")
        if not isinstance(row[field], str):
            raise DataError(f"{where}: the field {field!r} is {type(row[field]).__name__}, expected text")
    unknown = sorted(row.keys() - set(FIELDS))
    if unknown:
        raise DataError(f"{where}: unknown field {unknown[0]!r}")
    if layout.RELEASED_LANGUAGES.get(row["language"]) != language:
        raise DataError(f"{where}: language {row['language']!r} in a file of {language}")
    prefix, reference, suffix, assertions = (
        row[name] for name in ("prefix", "golden_completion", "suffix", "assertions")
    )
    shown_suffix = with_leading_newline(suffix)
    after = with_trailing_newline(shown_suffix) + with_trailing_newline(assertions)
    program = "\n".join((prefix, reference, suffix, assertions))
    needs = ("display",) if any(mark in program for mark in _DISPLAY_MARKS) else ()
    identity = f"{language}/{category}/{row['id']}"
    return Problem(
        id=identity,
        suite="devbench",
        shown=Caret(language=language, prefix=with_trailing_newline(prefix), suffix=shown_suffix),
        # A completion may end in mid-line, so what follows it starts a line of its own.
        splice=InlineSplice(
            before=with_trailing_newline(prefix), after=after if after.startswith("\n") else "\n" + after
        ),
        reference=reference,
        checks=(ProgramCheck(needs=needs),),
        labels=layout.problem_labels(language, category, prefix, suffix),
        cluster=identity,
        provenance=Provenance(source="github.com/microsoft/devbench", revision=REVISION, licence="MIT"),
        released={"prefix": prefix, "suffix": suffix, "assertions": assertions},
    )


def load(root: Path) -> list[Problem]:
    """Return all problems under ``root``.

    Raises:
        DataError: there are no data, or a line is malformed; the message has file and line.
    """
    problems: list[Problem] = []
    first_seen: dict[str, str] = {}
    for language, category, path in _cell_files(find_benchmark_folder(root)):
        for number, row in read_lines(path):
            where = f"{path}:{number}"
            problem = _problem(row, language, category, where)
            if problem.id in first_seen:
                raise DataError(f"{where}: id {row['id']!r} is already used at {first_seen[problem.id]}")
            first_seen[problem.id] = where
            problems.append(problem)
    if not problems:
        raise DataError(f"{root}: the folders contain no problem")
    return problems
