"""Recorded completions as rows of our own: what a suite without a released layout reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from caretbench.files import read_rows
from caretbench.problem import Completion, Problem


def completion_rows(
    path: Path,
    problems: Mapping[str, Problem],
    models: Sequence[str],
    passed_over: Callable[[str], None] = lambda _problem_id: None,
) -> Iterator[Completion]:
    """The completions of a JSONL file that are by the chosen models (all when empty) and about the problems.

    ``passed_over`` is called with the problem's id of every row that is about none of them.

    Raises:
        DataError: with file and line.
    """
    for row in read_rows(path, Completion):
        if row.problem_id not in problems:
            passed_over(row.problem_id)
        elif not models or row.model in models:
            yield row
