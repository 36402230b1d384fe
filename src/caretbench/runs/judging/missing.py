"""Judgements that did not come: the lines of ``judge_errors.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from caretbench.files import read_rows
from caretbench.problem import SCHEMA_VERSION, Row
from caretbench.runs.folder import RunFolder

JudgementKey = tuple[str, str, str, str, str, int]


class MissingJudgement(Row):
    """A judgement that was asked for and did not come: a line of ``judge_errors.jsonl``; the next run asks again.

    ``kind`` is that of a :class:`~caretbench.models.ModelFailure`; ``budget`` means that it was not asked, since the
    money was spent. An answer that came and cannot be read is a :class:`Judgement` with a fault, not a line here.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    problem_id: str
    answer: str
    grader: str
    parameters: str
    criterion: str
    repeat: int = 0
    kind: str
    message: str
    attempts: int = 1

    @property
    def key(self) -> JudgementKey:
        """The key of the judgement that is missing."""
        return (self.problem_id, self.answer, self.grader, self.parameters, self.criterion, self.repeat)


def errors_path(folder: RunFolder) -> Path:
    """Where the judgements stand that did not come."""
    return folder.path / "judge_errors.jsonl"


def missing_judgements(folder: RunFolder) -> Iterator[MissingJudgement]:
    """The judgements that did not come, one at a time."""
    if errors_path(folder).exists():
        yield from read_rows(errors_path(folder), MissingJudgement, torn_tail=True)
