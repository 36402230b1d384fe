"""Rows with the keys of their completions; what several rows have in common is made or validated once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final, Generic, TypeVar

from caretbench.files import read_values
from caretbench.problem import Completion, CompletionKey, Score, StoredCompletion

_SAMPLE, _SCORER, _TEXT = b',"sample":', b',"scorer":', b',"text":'
_MAX_DIGITS: Final = 9
"""Maximum length of a sample's number that is not validated: all of them are allowed."""
_content = attrgetter(*StoredCompletion._fields[4:])

RowT = TypeVar("RowT", bound=Score | Completion)

KeyedScore = tuple[CompletionKey, Score]


def keyed_scores(path: Path) -> Iterator[KeyedScore]:
    """Yield the scores of a file, each with the key of its completion; rows of equal content share a score.

    Of the 161,880 rows of nine models, 8,858 differ in what was measured.

    Raises:
        DataError: a row is damaged.
    """
    known = _KnownRows[Score](_SCORER)
    yield from read_values(path, Score, known.find, known.add, allow_partial_last_line=True, keep_surrogates=True)


def stored_completions(path: Path) -> Iterator[StoredCompletion]:
    """Yield the completions of a file that are scored.

    Raises:
        DataError: a row is damaged.
    """
    known = _KnownRows[Completion](_TEXT)
    rows = read_values(path, Completion, known.find, known.add, allow_partial_last_line=True, keep_surrogates=True)
    for key, row in rows:
        if not row.at:
            yield StoredCompletion(*key, *_content(row))


def score_line(key: bytes, sample: int, content: bytes) -> bytes:
    """Return the row with the key of one row, a sample's number and the content of another one, as JSON."""
    beginning, content = _parts(key, _SCORER)[0], _parts(content, _SCORER)[2]
    return b"%b%b%d%b%b" % (beginning, _SAMPLE, sample, _SCORER, content)


class _KnownRows(Generic[RowT]):
    """Rows and beginnings of keys by their bytes: a written row is a beginning, a sample's number and a content.

    ``mark`` is the beginning of the content: its first field.
    """

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._beginnings: dict[bytes, tuple[str, str, str]] = {}
        self._rows: dict[bytes, RowT] = {}

    def find(self, raw: bytes) -> tuple[CompletionKey, RowT] | None:
        """Return the key of a row whose parts are known, and the first row of this content."""
        beginning, sample, content = _parts(raw, self._mark)
        whose, row = self._beginnings.get(beginning), self._rows.get(content)
        if whose is not None and row is not None and sample.isdigit() and len(sample) <= _MAX_DIGITS:
            return (*whose, int(sample)), row
        return None

    def add(self, raw: bytes, row: RowT) -> tuple[CompletionKey, RowT]:
        """Return a row that was validated, and remember its parts if it was written as rows are here."""
        beginning, sample, content = _parts(raw, self._mark)
        key = (row.problem_id, row.model, row.parameters, row.sample)
        if beginning == _beginning(row) and sample == b"%d" % row.sample and content:
            self._beginnings[beginning] = key[:3]
            row = self._rows.setdefault(content, row)
        return key, row


def _parts(raw: bytes, mark: bytes) -> tuple[bytes, bytes, bytes]:
    beginning, _, rest = raw.partition(_SAMPLE)
    sample, _, content = rest.partition(mark)
    return beginning, sample, content


def _beginning(row: Score | Completion) -> bytes:
    """Return how a row begins, without escapes: others are validated one by one."""
    return json.dumps(
        {"schema_version": 1, "problem_id": row.problem_id, "model": row.model, "parameters": row.parameters},
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode(errors="replace")[:-1]
