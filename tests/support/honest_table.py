"""Honest programs as data: one file a language below ``honest/``, and how they are run.

Fields of a program: ``source``; ``status``, the outcome under ``default`` (``passed`` where none is given);
``answer_lines``, the first and last
line of the answer: an exit behind them is an end; ``shows``, a text that standard error has to hold.
Programs that pass are run by the plain command too, which shows that they are honest.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status
from caretbench.execution.local_executor import LocalExecutor

FOLDER = Path(__file__).with_name("honest")
_LIMITS = Limits(wall_s=60, cpu_s=20, memory_mb=1024)


class HonestProgram(BaseModel):
    """One row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str
    status: Status = Status.PASSED
    answer_lines: tuple[int, int] | None = None
    shows: str = ""


class HonestTable(BaseModel):
    """The programs of one language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: str
    programs: tuple[HonestProgram, ...]


def honest_tables() -> dict[str, HonestTable]:
    """Return all tables, by language."""
    texts = (path.read_text("utf-8") for path in sorted(FOLDER.glob("*.toml")))
    return {table.language: table for table in (HonestTable.model_validate(tomllib.loads(t)) for t in texts)}


def run_honest(
    table: HonestTable, profile: Literal["default", "paper"], programs: Sequence[HonestProgram]
) -> dict[str, ExecutionResult]:
    """Return results by name, nothing from a cache."""

    def requests() -> Iterator[ExecutionRequest]:
        for program in programs:
            yield ExecutionRequest(
                id=program.name,
                language=table.language,
                source=program.source,
                profile=profile,
                answer_lines=program.answer_lines,
                limits=_LIMITS,
            )

    return {result.id: result for result in LocalExecutor(workers=4, use_cache=False).submit(requests())}
