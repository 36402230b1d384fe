"""Reader of recorded answers: JSONL, a row needs no more than the problem and the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from caretbench.files import DataError, describe_validation_error, read_lines
from caretbench.problem import Completion, CompletionKey, Problem


def completion_rows(
    path: Path,
    problems: Mapping[str, Problem],
    models: Sequence[str],
    passed_over: Callable[[str], None] = lambda _problem_id: None,
) -> Iterator[Completion]:
    """Yield the completions of a JSONL file that are by the chosen models (all when empty) and about the problems.

    A row is ``{"problem_id": ..., "text": ...}`` and may have every other field of a completion. Without ``model`` it
    is the file's name; rows without ``sample`` are numbered in the order in which they come.

    Args:
        path: The file.
        problems: The chosen problems by id.
        models: The models to take; all of them when empty.
        passed_over: Called with the problem's id of every row that is about none of the problems.

    Raises:
        DataError: with file and line.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file of completions")
    lines: dict[CompletionKey, int] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for number, row in read_lines(path):
        where = f"{path}:{number}"
        try:
            completion = Completion.model_validate(
                {"model": path.stem, "parameters": "recorded"} | row | {"sample": row.get("sample") or 0}
            )
        except ValidationError as error:
            raise DataError(
                f"{where}: not a completion ({describe_validation_error(error)}); a row is "
                '{"problem_id": ..., "text": ...}, and may have "model" and "sample"'
            ) from None
        answered = completion.key[:3]
        if row.get("sample") is None:
            completion = completion.model_copy(update={"sample": counts[answered]})
        counts[answered] += 1
        first = lines.setdefault(completion.key, number)
        if first != number:
            raise DataError(
                f"{where}: sample {completion.sample} of {completion.problem_id} by {completion.model} stands already "
                f"in line {first}; number several samples 0, 1, 2, ..., or leave the field out everywhere"
            )
        if models and completion.model not in models:
            continue
        if completion.problem_id in problems:
            yield completion
        else:
            passed_over(completion.problem_id)
