"""Readers of recorded completions: the released layout, and plain JSONL files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from caretbench.files import DataError, read_lines, replace_surrogates
from caretbench.problem import Completion, Problem
from caretbench.suites.completion_files import read_completions
from caretbench.suites.devbench import layout
from caretbench.suites.devbench.released_problems import FIELDS


class CompletionFile(NamedTuple):
    """One released file of completions, of one language, category and model."""

    language: str
    category: str
    model: str
    path: Path


def find_completion_files(root: Path) -> list[CompletionFile]:
    """Return all completion files of the released layout under ``root``, ordered by model, language and category."""
    folder = root / "completions" if (root / "completions").is_dir() else root
    cells = [
        CompletionFile(language, category.name, path.stem.removeprefix(f"{category.released}-"), path)
        for released_language, language in layout.RELEASED_LANGUAGES.items()
        for category in layout.categories().values()
        for path in sorted((folder / released_language / category.released).glob(f"{category.released}-*.jsonl"))
    ]
    return sorted(cells, key=lambda cell: cell.model)


def _released_rows(row: dict[str, Any], model: str, problem: Problem, where: str) -> Iterator[Completion]:
    samples = row.get(f"{model}_completions")
    if samples is None:
        if not isinstance(row.get(model), str):
            raise DataError(f"{where}: neither {model}_completions nor {model} is there")
        # A failed request: the row has an error message in place of completions.
        yield Completion(problem_id=problem.id, model=model, parameters="recorded", text=row[model], error=True)
        return
    if not isinstance(samples, list) or not all(text is None or isinstance(text, str) for text in samples):
        raise DataError(f"{where}: {model}_completions is not a list of texts")
    for sample, text in enumerate(samples):
        yield Completion(
            problem_id=problem.id, model=model, parameters="recorded", sample=sample, text=text
        )  # fmt: skip


def _released(
    cells: Sequence[CompletionFile], problems: Mapping[str, Problem], passed_over: Callable[[str], None]
) -> Iterator[Completion]:
    for language, category, model, path in cells:
        for number, row in read_lines(path, keep_surrogates=True):
            where = f"{path}:{number}"
            missing = [field for field in FIELDS if field not in row]
            if missing:
                raise DataError(f"{where}: the field {missing[0]!r} is missing")
            identity = f"{language}/{category}/{row['id']}"
            problem = problems.get(identity)
            if problem is None:
                passed_over(identity)
                continue
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
    cells = find_completion_files(path)
    known = sorted({cell.model for cell in cells})
    if not cells:
        raise DataError(f"{path}: no completions here; expected <language>/<category>/<category>-<model>.jsonl")
    for model in models:
        if model not in known:
            raise DataError(f"{path}: no completions of {model!r}; models here: {', '.join(known)}")
    selected = [cell for cell in cells if not models or cell.model in models]
    yield from _released(selected, problems, on_skipped)
