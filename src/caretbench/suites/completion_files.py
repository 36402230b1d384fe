"""Reader of recorded completions in JSONL files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from caretbench.errors import did_you_mean
from caretbench.files import DataError, describe_validation_error, read_lines
from caretbench.problem import Completion, CompletionKey, Problem

ROW_FORM: Final = '{"problem_id": ..., "text": ...}'
"""Required fields of a recorded completion, for messages."""


def read_completions(
    path: Path,
    problems: Mapping[str, Problem],
    models: Sequence[str],
    on_skipped: Callable[[str], None] = lambda _problem_id: None,
) -> Iterator[Completion]:
    """Yield the completions in a JSONL file.

    A row is ``{"problem_id": ..., "text": ...}`` and may have the other fields of a completion, and further ones.
    ``model`` is the file's name by default; rows without ``sample`` are numbered in their order.

    Args:
        path: The file.
        problems: The selected problems by id; rows of other problems are skipped.
        models: Names of the models to read; empty: all.
        on_skipped: Called with the problem id of every skipped row.

    Raises:
        DataError: the file is missing or a row is malformed; the message has file and line.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file of completions")
    lines: dict[CompletionKey, int] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for number, row in read_lines(path, keep_surrogates=True):
        where = f"{path}:{number}"
        # Further fields are kept, but a misspelled one would be a model or a sample that nobody sees.
        for name in row.keys() - Completion.model_fields.keys():
            if guess := did_you_mean(name, Completion.model_fields.keys() - row.keys()):
                raise DataError(f"{where}: unknown field {name!r}{guess}; correct it, or give it another name")
        try:
            completion = Completion.model_validate(
                {"model": path.stem, "parameters": "recorded"} | row | {"sample": row.get("sample") or 0}
            )
        except ValidationError as error:
            raise DataError(
                f"{where}: not a completion ({describe_validation_error(error)}); a row is "
                f'{ROW_FORM}, and may have "model" and "sample"'
            ) from None
        answered = completion.key[:3]
        if row.get("sample") is None:
            completion = completion.model_copy(update={"sample": counts[answered]})
        counts[answered] += 1
        first = lines.setdefault(completion.key, number)
        if first != number:
            raise DataError(
                f"{where}: sample {completion.sample} of {completion.problem_id} by {completion.model} is already in "
                f"line {first}; number several samples 0, 1, 2, ..., or omit the field everywhere"
            )
        if completion.at or (models and completion.model not in models):
            continue
        if completion.problem_id in problems:
            yield completion
        else:
            on_skipped(completion.problem_id)
