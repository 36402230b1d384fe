"""Score rows with the keys of their completions; what several rows have in common is made or validated once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from caretbench.files import read_values
from caretbench.problem import CompletionKey, Score

_SAMPLE, _SCORER = b',"sample":', b',"scorer":'

KeyedScore = tuple[CompletionKey, Score]


def keyed_scores(path: Path) -> Iterator[KeyedScore]:
    """Yield the scores of a file, each with the key of its completion; rows of equal content share a score.

    Of the 161,880 rows of nine models, 8,858 differ in what was measured.

    Raises:
        DataError: a row is damaged.
    """
    known = _KnownScores()
    yield from read_values(path, Score, known.find, known.add, allow_partial_last_line=True, keep_surrogates=True)


def score_line(key: bytes, sample: int, content: bytes) -> bytes:
    """Return the row with the key of one row, a sample's number and the content of another one, as JSON."""
    beginning, content = _parts(key)[0], _parts(content)[2]
    return b"%b%b%d%b%b" % (beginning, _SAMPLE, sample, _SCORER, content)


class _KnownScores:
    """Scores and beginnings of keys by their bytes: a written row is a beginning, a sample's number and a content."""

    def __init__(self) -> None:
        self._beginnings: dict[bytes, tuple[str, str, str]] = {}
        self._scores: dict[bytes, Score] = {}

    def find(self, raw: bytes) -> KeyedScore | None:
        """Return the score of a row whose parts are known."""
        beginning, sample, content = _parts(raw)
        if beginning in self._beginnings and content in self._scores and sample.isdigit():
            return (*self._beginnings[beginning], int(sample)), self._scores[content]
        return None

    def add(self, raw: bytes, row: Score) -> KeyedScore:
        """Return a row that was validated, and remember its parts if it was written as rows are here."""
        beginning, sample, content = _parts(raw)
        key = row.completion_key
        if beginning == _beginning(row) and sample == b"%d" % row.sample and content:
            self._beginnings[beginning] = key[:3]
            row = self._scores.setdefault(content, row)
        return key, row


def _parts(raw: bytes) -> tuple[bytes, bytes, bytes]:
    beginning, _, rest = raw.partition(_SAMPLE)
    sample, _, content = rest.partition(_SCORER)
    return beginning, sample, content


def _beginning(row: Score) -> bytes:
    """Return how a row begins, without escapes and former names: others are validated one by one."""
    return json.dumps(
        {"schema_version": 1, "problem_id": row.problem_id, "model": row.model, "parameters": row.parameters},
        ensure_ascii=False, separators=(",", ":"),
    ).encode(errors="replace")[:-1]  # fmt: skip
