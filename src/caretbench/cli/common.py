"""Output, progress and shared options of the commands."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from caretbench.errors import DataError, describe_os_error, write_trial_file
from caretbench.progress import Progress
from caretbench.runs.plans.options import OUTPUT
from caretbench.text_tables import align_columns, stacked_rows

if TYPE_CHECKING:
    from caretbench.models import ClientOptions, ModelClient
    from caretbench.suites.selection import Selection

_FIRST_WORD_S = 3.0

SELECTION = ("select", "limit", "per_cell", "sample_seed")
"""Names of the options that select problems."""

SuiteName = Annotated[str, typer.Argument(help="Name of the suite, devbench for example.", metavar="SUITE")]
DATA_HELP = "Problems: starter (in the package), released (downloaded by `caretbench pull`), or a folder."
Data = Annotated[str, typer.Option(help=DATA_HELP)]
Html = Annotated[
    bool, typer.Option("--html/--no-html", help="Write the page report.html, or leave it out.", rich_help_panel=OUTPUT)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=OUTPUT)]


_CONTROLS = {
    number: f"\\u{number:04x}"
    for number in (*range(32), *range(127, 160), *range(0xD800, 0xE000))
    if chr(number) not in "\n\t"
}


def escape_control_characters(text: str) -> str:
    """Return the text with control characters and lone surrogates escaped, as in JSON.

    Text of models and programs must not control a terminal. JSON stays JSON.
    """
    return text.translate(_CONTROLS)


def print_line(line: str = "") -> None:
    """Print one line to standard output."""
    # Also into a pipe or a file: what is kept there is shown on a terminal later.
    sys.stdout.write(escape_control_characters(line) + "\n")


def print_note(line: str) -> None:
    """Print one line to standard error."""
    sys.stderr.write(escape_control_characters(line) + "\n")


def print_lines(lines: Iterable[str]) -> None:
    """Print lines to standard output."""
    for line in lines:
        print_line(line)


def print_notes(lines: Iterable[str]) -> None:
    """Print lines to standard error."""
    for line in lines:
        print_note(line)


def print_table(rows: Sequence[Sequence[str]], head: Sequence[str]) -> None:
    """Print aligned columns with their heads to standard output; on a terminal that is too narrow, stacked rows."""
    lines = align_columns(rows, head)
    width = shutil.get_terminal_size().columns
    if sys.stdout.isatty() and max(map(len, lines)) > width:
        lines = [line for text in stacked_rows(rows, head, width) for line in text.split("\n")]
    print_lines(lines)


def print_json(value: Any) -> None:
    """Print JSON to standard output."""
    print_line(json.dumps(value, indent=2, ensure_ascii=False))


def open_client(spec: str, options: ClientOptions) -> ModelClient:
    """Return the client of a model (imports Inspect); say so while a server is waited for."""
    from caretbench.inspect import open_client as opened

    opening = threading.Event()
    if spec.startswith("server/"):
        threading.Thread(target=_report_waiting, args=(spec, opening), name="opening", daemon=True).start()
    try:
        return opened(spec, options)
    finally:
        opening.set()


def _report_waiting(spec: str, opened: threading.Event) -> None:
    """Print a line after some seconds, and again now and then, until the model is open."""
    begin, pause = time.monotonic(), _FIRST_WORD_S
    while not opened.wait(pause):
        print_note(f"{spec}: asking the server what it has, for {time.monotonic() - begin:.0f} s now")
        pause = 15.0


def check_access(spec: str, options: ClientOptions) -> None:
    """Raise if it is already known that a model cannot be asked (does not import Inspect)."""
    from caretbench.inspect.client.provider_facts import check_access as checked

    checked(spec, options)


def selection(options: Mapping[str, Any]) -> Selection:
    """Return the selection of problems that ``--select``, ``--limit``, ``--per-cell`` and ``--sample-seed`` define."""
    from caretbench.suites.selection import Selection

    select, limit, per_cell, seed = map(options.get, SELECTION)
    return Selection.from_options(select, limit, per_cell, seed)


class StepProgress(Progress):
    """Progress of several steps: bars on a terminal, a plain line every 15 seconds elsewhere.

    A step during which nothing is reported is shown too, with the seconds since its last report. It is the
    :class:`caretbench.progress.Progress` of commands.
    """

    def __init__(self, *, quiet: bool = False, every_s: float = 15.0) -> None:
        self._quiet = quiet
        self._every_s = every_s
        self._ended = threading.Event()
        self._current = ""
        self._reported = time.monotonic()
        self._counts: dict[str, list[int]] = {}
        self._begun: dict[str, tuple[float, int]] = {}
        self._details: dict[str, str] = {}
        self._last = time.monotonic()
        self._progress: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            self._progress = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._progress.start()
        elif not self._quiet:
            threading.Thread(target=self._report_silence, name="progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._progress is not None:
            self._progress.stop()
        elif not self._quiet and kind is None:
            for step in self._counts:
                print_note(self._line(step))

    def _line(self, step: str) -> str:
        done, total = self._counts[step]
        detail = f" ({self._details[step]})" if self._details.get(step) else ""
        return f"{step}: {done} of {total}{self._pace(step)}{detail}" if total else f"{step}: {done}{detail}"

    def _pace(self, step: str) -> str:
        """Return the rate of a step and the time that is left; empty at its end, or as long as neither is known."""
        (begun, stored), (done, total) = self._begun[step], self._counts[step]
        # What an earlier call has stored is counted at once, and says nothing about the rate.
        rate = (done - stored) / max(time.monotonic() - begun, 0.1)
        return f", {rate:.3g} a second, {(total - done) / rate:.0f} s left" if rate > 0 and done < total else ""

    def _report_silence(self) -> None:
        """Print the current step whenever nothing was printed for a while."""
        while not self._ended.wait(self._every_s / 5):
            now = time.monotonic()
            if self._current and now - self._last > self._every_s:
                self._last = now
                print_note(f"{self._line(self._current)}, for {now - self._reported:.0f} s now")

    def note(self, line: str) -> None:
        """Print one line to standard error."""
        print_note(line)

    def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
        """Count ``added`` more of a step; ``detail`` is shown next to the numbers, the newest one."""
        self._details[step] = detail
        self._current, self._reported = step, time.monotonic()
        counts = self._counts.setdefault(step, [0, 0])
        counts[0] += added
        counts[1] = total if total is not None else counts[1]
        self._begun.setdefault(step, (time.monotonic(), counts[0]))
        if self._progress is not None:
            if step not in self._tasks:
                self._tasks[step] = self._progress.add_task(step, total=counts[1] or None)
            described = f"{step} ({escape_control_characters(detail)})" if detail else step
            described += self._pace(step) if counts[1] else ""
            self._progress.update(
                self._tasks[step], description=described, completed=counts[0], total=counts[1] or None
            )
        elif not self._quiet and time.monotonic() - self._last > self._every_s:
            self._last = time.monotonic()
            print_note(self._line(step))


def join_counts(values: Mapping[str, int]) -> str:
    """Return counts as text: ``3 valid, 1 invalid``."""
    return ", ".join(f"{count} {name}" for name, count in values.items())


def exit_on_complaints(complaints: Sequence[str]) -> None:
    """Print the complaints; exit with status 1 if there are any.

    Raises:
        Exit: there are complaints.
    """
    print_notes(complaints)
    if complaints:
        raise typer.Exit(1)


def check_file_is_writable(path: Path, remedy: str = "choose another file with -o") -> None:
    """Raise if a file cannot be written; nothing is created or changed.

    Raises:
        DataError: with path, cause and remedy.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        write_trial_file(path.parent)
    except OSError as error:
        raise DataError(describe_os_error(error, remedy, path)) from error
