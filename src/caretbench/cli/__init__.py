"""Command line: one module per command. The imports of a command happen when it runs."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from caretbench.cli import (
    bench,
    board,
    build,
    cache,
    compare,
    dataset,
    deps,
    doctor,
    formula,
    init,
    judge,
    listing,
    memory,
    models,
    pull,
    report,
    reproduce,
    review,
    run,
    score,
    sft,
    show,
    telemetry,
    validate,
    watch,
)
from caretbench.cli.command_help import CONTEXT_SETTINGS, DEBUG, HelpCommand, HelpGroup
from caretbench.errors import CaretBenchError, describe_os_error

# 128 + SIGINT, as shells report it: a script can tell that the user stopped the command.
_INTERRUPTED = 130
_FAULT = 70
"""EX_SOFTWARE of sysexits.h: told apart from 1 (a requirement is not met) and 2 (the user can correct it)."""

app = typer.Typer(
    name="caretbench",
    cls=HelpGroup,
    context_settings=CONTEXT_SETTINGS,
    help="""Benchmark code-completion models at the caret.

Examples:
  caretbench list devbench
  caretbench run devbench -m gguf/smollm2 --limit 12""",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "doctor": doctor.doctor,
    "list": listing.listing,
    "show": show.show,
    "pull": pull.pull,
    "run": run.run,
    "score": score.score,
    "judge": judge.judge,
    "report": report.report,
    "formula": formula.formula,
    "compare": compare.compare,
    "memory": memory.memory,
    "validate": validate.validate,
    "reproduce": reproduce.reproduce,
    "watch": watch.watch,
    "init": init.init,
    "bench": bench.bench,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=HelpCommand)(_command)
for _group in (board, build, review, dataset, telemetry, sft, models, deps, cache):
    app.add_typer(_group.app, name=_group.__name__.rpartition(".")[2])


def main() -> None:
    """Run a command; a foreseen error ends with a one-line message and exit status 2, a fault of ours with 70."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # do not stop where a terminal cannot show a character
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # removes temporary folders
    debug = DEBUG in sys.argv
    if debug:
        _log_everything()
    try:
        app()
    except SystemExit as end:  # typer exits with 130 without a message when it is interrupted
        if end.code == _INTERRUPTED:
            sys.stderr.write("\ncaretbench: stopped; run the same command again to resume\n")
        raise
    except BrokenPipeError:
        sys.exit(141)
    except Exception as error:
        if debug:
            _print_traceback(error)
        if isinstance(error, CaretBenchError | OSError):
            message, status = _describe(error), 2
        else:
            message, status = _fault(error), _FAULT
        sys.stderr.write(f"caretbench: {message}\n")
        sys.exit(status)


def _log_everything() -> None:
    """Print what is logged for developers, tracebacks of faults that did not end the command among it."""
    import logging

    logging.basicConfig(format="%(name)s: %(message)s")
    logging.getLogger("caretbench").setLevel(logging.DEBUG)


def _print_traceback(error: Exception) -> None:
    from traceback import format_exception

    from caretbench.redaction import redact

    sys.stderr.write(redact("".join(format_exception(error))))


def _fault(error: Exception) -> str:
    """Return the message about an exception that nobody foresaw: its type, where it was raised, and what to do."""
    from traceback import extract_tb

    from caretbench.redaction import redact

    frames = extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(Path(__file__).parents[1])] or frames
    cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    command = shlex.join(["caretbench", *(word for word in sys.argv[1:] if word != DEBUG), DEBUG])
    return redact(
        f"{cause} ({Path(ours[-1].filename).name}:{ours[-1].lineno})\n"
        "This is a fault of CaretBench, not of your input. The traceback shows where it is:\n"
        f"  {command}\n"
        'Please report it with this output, by the form "A command fails" of CaretBench\'s repository.'
    )


def _describe(error: CaretBenchError | OSError) -> str:
    """Return a foreseen error in one line; one of the system with the remedy for the cache or for any other path."""
    from caretbench.files import ANOTHER_CACHE, cache_folder
    from caretbench.redaction import redact

    # A message names what was typed, and an address may hold a password.
    if not isinstance(error, OSError):
        return redact(str(error))

    if error.filename and Path(os.fsdecode(error.filename)).is_relative_to(cache_folder()):
        return describe_os_error(error, ANOTHER_CACHE)
    return describe_os_error(error)
