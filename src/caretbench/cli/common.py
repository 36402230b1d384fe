"""What several verbs share: selecting problems, writing output, showing progress."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self, TextIO

import typer

if TYPE_CHECKING:
    from caretbench.problem import Problem
    from caretbench.suites.base import Suite

SuiteName = Annotated[str, typer.Argument(help="The suite, devbench for example.", metavar="SUITE")]
Data = Annotated[
    str,
    typer.Option(
        help="The problems: starter (ours, ships with the package), released (what `pull` fetched), or a folder."
    ),
]
Select = Annotated[
    str | None,
    typer.Option(
        "--select",
        help="Only problems with these labels: language=python,category=low_context (| between values).",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        help="Only the first N problems of every cell: language × category, or × mode; of efcb task × tier × "
        "repository."
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Programs in flight; by default eight times the processors.")
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine", help="Where programs run: local; ray, or a cluster by ray://HOST:PORT (extra `ray`)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


_CONTROLS = {
    number: f"\\u{number:04x}"
    for number in (*range(32), *range(127, 160), *range(0xD800, 0xE000))
    if chr(number) not in "\n\t"
}


def harmless(text: str) -> str:
    """Return the text with control characters and lone surrogates spelt out, as in JSON.

    A model or a program wrote it: it must not steer a terminal, and must be possible to write. JSON stays JSON.
    """
    return text.translate(_CONTROLS)


def _print(line: str, stream: TextIO) -> None:
    # Also into a pipe or a file: what is kept there is shown on a terminal later.
    stream.write(harmless(line) + "\n")


def say(line: str = "") -> None:
    """One line on standard output."""
    _print(line, sys.stdout)


def note(line: str) -> None:
    """One line on standard error: what is not the result."""
    _print(line, sys.stderr)


def say_json(value: Any) -> None:
    """JSON on standard output."""
    say(json.dumps(value, indent=2, ensure_ascii=False))


def select(suite: Suite, problems: Sequence[Problem], text: str | None, limit: int | None) -> list[Problem]:
    """The problems that ``--select`` and ``--limit`` name, in their order.

    Raises:
        ValueError: an unknown label, or nothing is left.
    """
    from caretbench.suites.selection import select as chosen

    return chosen(suite, problems, text, limit)


def aligned(rows: Sequence[Sequence[str]], header: Sequence[str]) -> list[str]:
    """Plain lines with aligned columns."""
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


class Steps:
    """Progress of several steps: bars on a terminal, now and then a plain line elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._counts: dict[str, list[int]] = {}
        self._details: dict[str, str] = {}
        self._last = time.monotonic()
        self._progress: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
        elif not self._quiet and kind is None:
            for step in self._counts:
                note(self._line(step))

    def _line(self, step: str) -> str:
        done, total = self._counts[step]
        detail = f" ({self._details[step]})" if self._details.get(step) else ""
        return f"{step}: {done} of {total}{detail}" if total else f"{step}: {done}{detail}"

    def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
        """Count ``added`` more of a step; ``detail`` stands beside the numbers, the newest one."""
        self._details[step] = detail
        counts = self._counts.setdefault(step, [0, 0])
        counts[0] += added
        counts[1] = total if total is not None else counts[1]
        if self._progress is not None:
            if step not in self._tasks:
                self._tasks[step] = self._progress.add_task(step, total=counts[1] or None)
            described = f"{step} ({harmless(detail)})" if detail else step
            self._progress.update(
                self._tasks[step], description=described, completed=counts[0], total=counts[1] or None
            )
        elif not self._quiet and time.monotonic() - self._last > 15:
            self._last = time.monotonic()
            note(self._line(step))


def counted(values: Mapping[str, int]) -> str:
    """``3 valid, 1 invalid``."""
    return ", ".join(f"{count} {name}" for name, count in values.items())
