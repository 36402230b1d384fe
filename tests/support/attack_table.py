"""Attacks as data: one file a language below ``attacks/``, and how they are run beside good programs.

Fields of an attack:

``answer``: what stands at the caret of the file's ``frame``, whose assertion does not hold; with ``whole``, all of the
program, but for the ``rest`` that follows it. ``head``: what the frame wants on top. ``statuses``: the outcomes that
are right under ``default``; ``paper``: those under ``paper``, where the program is run under it too. ``flags``: what
the scan of the answer must say, at least. ``limits``: bounds other than the table's. A program that looks for what it
must not find prints ``REACHED`` where it does, and ``held`` where it does not.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.languages import languages

FOLDER = Path(__file__).with_name("attacks")
BOUNDS: Mapping[str, Any] = {
    "wall_s": 30, "cpu_s": 4, "memory_mb": 300, "pids": 64, "tmp_mb": 16, "fsize_mb": 8, "output_kill_mb": 1,
    "compile_wall_s": 60,
}  # fmt: skip
NO_VERDICT = frozenset({Status.SANDBOX_ERROR, Status.SKIPPED, Status.MISSING_DEPENDENCY})
_DECEIVING = frozenset({Status.PASSED, Status.FAILED, Status.INCOMPLETE, Status.COMPILE_ERROR})
GOOD = "good"
_NEIGHBOUR = "NEIGHBOUR-MARK"


class Attack(BaseModel):
    """One row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    answer: str
    statuses: tuple[Status, ...]
    paper: tuple[Status, ...] = ()
    flags: tuple[str, ...] = ()
    head: str = ""
    rest: str = ""
    whole: bool = False
    limits: dict[str, float] = {}

    @property
    def searches(self) -> bool:
        """Return whether the attack passes honestly, having found nothing."""
        return "held" in self.answer

    @property
    def leaves_its_process(self) -> bool:
        """Return whether it reaches files, other processes or more than its limits, beyond our criterion."""
        text = self.head + self.answer + self.rest
        bounded = bool(self.limits) or not set(self.statuses) <= _DECEIVING
        return self.searches or bounded or any(mark in text for mark in ("@", "/proc", "/dev"))


class Table(BaseModel):
    """The attacks of one language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: str
    frame: str
    good: str
    attacks: tuple[Attack, ...]

    def program(self, attack: Attack) -> str:
        """The whole program."""
        if attack.whole:
            return attack.answer + attack.rest
        return self.frame.replace("@HEAD@", attack.head).replace("@ANSWER@", attack.answer)


def tables() -> dict[str, Table]:
    """All tables, by language."""
    found = (Table.model_validate(tomllib.loads(path.read_text("utf-8"))) for path in sorted(FOLDER.glob("*.toml")))
    return {table.language: table for table in found}


def requests(
    table: Table,
    places: Mapping[str, str],
    profile: Literal["default", "paper"] = "default",
    attacks: Sequence[Attack] | None = None,
    repeat: int = 0,
) -> Iterator[ExecutionRequest]:
    """The attacks, a good program before and after them."""
    chosen = table.attacks if attacks is None else attacks

    def request(name: str, source: str, bounds: Mapping[str, float]) -> ExecutionRequest:
        for mark, text in places.items():
            source = source.replace(mark, text)
        limits = Limits.model_validate({**BOUNDS, **bounds})
        return ExecutionRequest(
            id=name, language=table.language, source=source, profile=profile, limits=limits, repeat=repeat
        )

    comment = languages()[table.language].line_comment
    for number, first in enumerate((True, False)):
        yield request(f"{GOOD}-{number}", f"{table.good}\n{comment} {_NEIGHBOUR} {number}\n", {})
        if first:
            for attack in chosen:
                yield request(attack.name, table.program(attack), attack.limits)


def run(
    table: Table,
    places: Mapping[str, str],
    profile: Literal["default", "paper"] = "default",
    workers: int = 8,
    attacks: Sequence[Attack] | None = None,
) -> dict[str, ExecutionResult]:
    """Results by name: all of a table, or these, through one executor, nothing remembered."""
    if attacks is None:
        attacks = [attack for attack in table.attacks if profile == "default" or attack.paper]
    executor = LocalExecutor(workers=workers, use_cache=False)
    return {result.id: result for result in executor.submit(requests(table, places, profile, attacks))}
