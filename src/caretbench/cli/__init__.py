"""Command line: one module per command. The imports of a command happen when it runs."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from caretbench.cli import (
    build,
    cache,
    compare,
    dataset,
    deps,
    doctor,
    formula,
    judge,
    listing,
    models,
    pull,
    report,
    reproduce,
    review,
    run,
    score,
    show,
    telemetry,
    validate,
)
from caretbench.cli.command_help import CONTEXT_SETTINGS, HelpCommand, HelpGroup
from caretbench.errors import DataError, MachineError, describe_os_error

_INTERRUPTED = 130

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
    "validate": validate.validate,
    "reproduce": reproduce.reproduce,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=HelpCommand)(_command)
for _group in (build, review, dataset, telemetry, models, deps, cache):
    app.add_typer(_group.app, name=_group.__name__.rpartition(".")[2])


def main() -> None:
    """Run a command; an expected error ends with a one-line message and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # do not stop where a terminal cannot show a character
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # removes temporary folders
    try:
        app()
    except (DataError, MachineError, ValueError, KeyError) as error:
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        sys.stderr.write(f"caretbench: {message}\n")
        sys.exit(2)
    except SystemExit as end:  # typer exits with 130 without a message when it is interrupted
        if end.code == _INTERRUPTED:
            sys.stderr.write("\ncaretbench: stopped; run the same command again to resume\n")
        raise
    except BrokenPipeError:
        sys.exit(141)
    except OSError as error:
        sys.stderr.write(f"caretbench: {_describe(error)}\n")
        sys.exit(2)


def _describe(error: OSError) -> str:
    """Return an error of the system in one line, with the remedy for the cache or for any other path."""
    from caretbench.files import ANOTHER_CACHE, cache_folder

    if error.filename and Path(os.fsdecode(error.filename)).is_relative_to(cache_folder()):
        return describe_os_error(error, ANOTHER_CACHE)
    return describe_os_error(error)
