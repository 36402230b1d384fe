"""The released data: 1,800 instances, their programs as the released code joins them, and recorded completions.

Instances are in ``benchmark/<language>/<category>/<category>.jsonl``. Programs of the ``paper`` profile follow the
behaviour of the released ``execute_benchmark.py`` (commit b22ecf8), including its bugs; their data are in
``paper.toml``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from caretbench.files import DataError, cache_folder, read_lines, read_packaged_toml, replace_surrogates
from caretbench.grouping import grouped
from caretbench.problem import Caret, Completion, InlineSplice, Problem, ProgramCheck, Provenance
from caretbench.suites.completion_files import read_completions
from caretbench.suites.devbench.cells.cell_tables import RELEASED_LANGUAGES, cell_categories, problem_labels
from caretbench.suites.suite_types import unread_files

FIELDS = ("id", "testsource", "language", "prefix", "golden_completion", "suffix", "LLM_justification", "assertions")
REVISION = "b22ecf8"
COMPLETIONS: Final = "completions/"
"""Folder of the recorded completions in the release."""
# Marks of programs that open windows and need a display; the reference program is searched, not the completion.
_DISPLAY_MARKS = ("tkinter", "turtle")


@cache
def released_files() -> Mapping[str, Mapping[str, Any]]:
    """Return size and SHA-256 of the files of the release, by path."""
    text = resources.files("caretbench.suites.devbench").joinpath("released_files.json").read_text("utf-8")
    files: dict[str, dict[str, Any]] = json.loads(text)
    return files


def released_path() -> Path:
    """Return the path of the released data in the cache; they may be missing."""
    return cache_folder() / "data" / f"devbench-{REVISION}"


def released_folder() -> Path:
    """Return the folder of the released data in the cache.

    Raises:
        DataError: files are missing.
    """
    folder = released_path()
    paths = (path for path in released_files() if not path.startswith(COMPLETIONS))
    missing = sum(not (folder / path).is_file() for path in paths)
    if missing:
        raise DataError(f"{missing} files of the release are missing; run: caretbench pull devbench")
    return folder


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
        if any((folder / name).is_dir() for name in RELEASED_LANGUAGES):
            return folder
    raise DataError(
        f"{root}: no DevBench data here; expected benchmark/<language>/<category>/<category>.jsonl "
        "(fetched by caretbench pull devbench)"
    )


def _cell_files(benchmark: Path) -> Iterator[tuple[str, str, Path]]:
    for released_language, name in RELEASED_LANGUAGES.items():
        for category, table in cell_categories().items():
            path = benchmark / released_language / table.released / f"{table.released}.jsonl"
            if path.exists():
                yield name, category, path


def _problem(row: dict[str, Any], language: str, category: str, where: str) -> Problem:
    for field in FIELDS:
        if field not in row:
            raise DataError(f"{where}: the field {field!r} is missing")
        if not isinstance(row[field], str):
            raise DataError(f"{where}: the field {field!r} is {type(row[field]).__name__}, expected text")
    unknown = sorted(row.keys() - set(FIELDS))
    # Every row of the release has exactly these eight fields. Another one is the data of a later version, whose meaning
    # is not known here.
    if unknown:
        raise DataError(f"{where}: unknown field {unknown[0]!r}")
    if RELEASED_LANGUAGES.get(row["language"]) != language:
        raise DataError(f"{where}: language {row['language']!r} in a file of {language}")
    prefix, reference, suffix, assertions = (
        row[name] for name in ("prefix", "golden_completion", "suffix", "assertions")
    )
    shown_suffix = with_leading_newline(suffix)
    after = with_trailing_newline(shown_suffix) + with_trailing_newline(assertions)
    # Of 300 references in Python 6 need a display. A completion that opens a window must fail as such, not excuse
    # itself.
    program = "\n".join((prefix, reference, suffix, assertions))
    needs = ("display",) if any(mark in program for mark in _DISPLAY_MARKS) else ()
    identity = f"{language}/{category}/{row['id']}"
    # Ids of the release are 1 to 50 in each of its 36 files; language and category make them unique.
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
        labels=problem_labels(language, category, prefix, suffix),
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
            # Completions are recorded by id: with two problems of one id they would be scored against either.
            if problem.id in first_seen:
                raise DataError(f"{where}: id {row['id']!r} is already used at {first_seen[problem.id]}")
            first_seen[problem.id] = where
            problems.append(problem)
    if not problems:
        raise DataError(f"{root}: the folders contain no problem")
    return problems


def passed_over(root: Path) -> tuple[str, ...]:
    """Return a line for each folder of the benchmark with files that :func:`load` does not read."""
    folder = find_benchmark_folder(root)
    read = {path for _, _, path in _cell_files(folder)}
    return unread_files(folder, read, {".jsonl"}, "<language>/<category>/<category>.jsonl")


_NAMESPACE = re.compile(r"namespace\s+([\w.]+)")


@cache
def _settings() -> dict[str, Any]:
    return read_packaged_toml("caretbench.suites.devbench", "paper.toml")


def _scripted(language: str, released: Mapping[str, str], completion: str) -> str:
    """Join a program of Python, JavaScript or TypeScript: always newlines between parts, then the assertions."""
    settings = _settings()[language]
    # Always with a line feed, although 40 prefixes of Python, 86 of JavaScript and 105 of TypeScript end within a line:
    # `x = ` and `5` is then a syntax error.
    body = "\n".join((released["prefix"], completion, released["suffix"]))
    program = f"{body}\n\n{settings['assertions_mark']}\n{released['assertions']}\n"
    header = settings.get("header")
    return f"{header}\n\n{program}" if header else program


def _compiled(released: Mapping[str, str], completion: str) -> str:
    """Join a program of Java, C++ or C#: a newline if neither side has one; then the suffix loses leading blanks."""
    prefix, suffix = released["prefix"], released["suffix"]
    # Otherwise the suffix loses its leading blanks and line feed: after a completion that ends in a comment, its first
    # line, an assertion perhaps, is swallowed.
    if prefix.endswith("\n") or completion.startswith("\n"):
        return prefix + completion + suffix
    return prefix.rstrip() + "\n" + completion + suffix.lstrip()


def _cpp(released: Mapping[str, str], completion: str) -> str:
    """Join a C++ program: a header goes first if its bare name occurs nowhere; without ``int main(`` it is wrapped."""
    headers = _settings()["cpp"]["headers"]
    program = _compiled(released, completion)
    # 24 of 300 references in C++ lack a standard header, most of them `<functional>`; the runner adds only five others.
    program = _includes(name for name in headers if name not in program) + program
    if "int main(" not in program:
        return f"{_includes(headers)}int main() {{\n{program}\n{released['assertions']}\nreturn 0;\n}}\n"
    if released["assertions"].strip():
        # Where the last `return` is, even in a comment: the runner searches the text.
        head, keyword, tail = program.rpartition("return ")
        if keyword:
            program = f"{head}{released['assertions']}\n{keyword}{tail}"
    return program


def _includes(names: Iterable[str]) -> str:
    return "".join(f"#include <{name}>\n" for name in names)


def csharp_variant(program: str) -> str | None:
    """Return ``release`` if the released runner would build the program with ``-c Release``, else None."""
    settings = _settings()["csharp"]
    namespace = _NAMESPACE.search(program)  # of several, the first one decides
    names = namespace[1] if namespace else ""
    # `-c Release` compiles `Debug.Assert` away. 49 references take this path, and 47 of them assert in no other way:
    # they test that the program compiles.
    marked = any(mark in program for mark in settings["release_marks"])
    return "release" if marked or any(name in names for name in settings["release_namespaces"]) else None


def paper_program(language: str, released: Mapping[str, str], completion: str | None) -> str | None:
    """Return the program that the released runner would execute.

    A null completion is the text ``None`` in scripted languages. In compiled ones the released code raises an
    exception; here the result is None, a failure without execution.
    """
    if language in ("python", "javascript", "typescript"):
        return _scripted(language, released, "None" if completion is None else completion)
    # `None + str` is an exception of the runner itself, which it counts as an unexpected error.
    if completion is None:
        return None
    return (_cpp if language == "cpp" else _compiled)(released, completion)


def _completion_files(root: Path) -> dict[str, list[tuple[str, str, Path]]]:
    """Return the completion files of the released layout under ``root`` by model, with language and category."""
    folder = root / "completions" if (root / "completions").is_dir() else root
    return grouped(
        (path.stem.removeprefix(f"{table.released}-"), (language, category, path))
        for released_language, language in RELEASED_LANGUAGES.items()
        for category, table in cell_categories().items()
        for path in sorted((folder / released_language / table.released).glob(f"{table.released}-*.jsonl"))
    )


def _released_rows(row: dict[str, Any], model: str, problem: Problem, where: str) -> Iterator[Completion]:
    samples = row.get(f"{model}_completions")
    if samples is None:
        if not isinstance(row.get(model), str):
            raise DataError(f"{where}: neither {model}_completions nor {model} is there")
        # A failed request: the row has an error message in place of completions.
        yield Completion(problem_id=problem.id, model=model, parameters="recorded", text=row[model], error=True)
        return
    # Empty and null samples are answers: 1,191 of the 80,988 recorded ones. Only another type is a fault of the file.
    if not isinstance(samples, list) or not all(text is None or isinstance(text, str) for text in samples):
        raise DataError(f"{where}: {model}_completions is not a list of texts")
    for sample, text in enumerate(samples):
        yield Completion(problem_id=problem.id, model=model, parameters="recorded", sample=sample, text=text)


def _released(
    model: str,
    files: Sequence[tuple[str, str, Path]],
    problems: Mapping[str, Problem],
    on_skipped: Callable[[str], None],
) -> Iterator[Completion]:
    for language, category, path in files:
        for number, row in read_lines(path, keep_surrogates=True):
            where = f"{path}:{number}"
            missing = [field for field in FIELDS if field not in row]
            if missing:
                raise DataError(f"{where}: the field {missing[0]!r} is missing")
            identity = f"{language}/{category}/{row['id']}"
            problem = problems.get(identity)
            if problem is None:
                on_skipped(identity)
                continue
            # The released runner pairs rows by their number. The repeated fields show whether a file belongs to these
            # problems.
            repeated = replace_surrogates([row["golden_completion"], row["prefix"]])
            if repeated != [problem.reference, problem.released["prefix"]]:
                raise DataError(f"{where}: the repeated fields differ from the problem {problem.id}")
            yield from _released_rows(row, model, problem, where)


def recorded_completions(
    path: Path,
    problems: Mapping[str, Problem],
    models: Sequence[str] = (),
    on_skipped: Callable[[str], None] = lambda _problem_id: None,
) -> Iterator[Completion]:
    """Yield the completions in ``path``, a plain JSONL file or a folder of the released layout.

    ``models`` are the models to read; empty: all. Rows of other problems are skipped, and ``on_skipped`` is called
    with their problem id.

    Raises:
        DataError: a row is malformed, with file and line; or a model has no completions there.
    """
    if path.is_file():
        yield from read_completions(path, problems, models, on_skipped)
        return
    if not path.is_dir():
        raise DataError(f"{path}: no such file or folder of completions")
    files = _completion_files(path)
    if not files:
        raise DataError(f"{path}: no completions here; expected <language>/<category>/<category>-<model>.jsonl")
    for model in models:
        if model not in files:
            raise DataError(f"{path}: no completions of {model!r}; models here: {', '.join(sorted(files))}")
    for model in sorted({*models} or files):
        yield from _released(model, files[model], problems, on_skipped)
