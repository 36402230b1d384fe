"""Command line: one module per verb. A verb's imports happen when it runs."""

from __future__ import annotations

import io
import signal
import sys

import typer

from caretbench.cli import (
    build,
    cache,
    compare,
    deps,
    doctor,
    judge,
    listing,
    models,
    pull,
    report,
    reproduce,
    run,
    score,
    show,
    validate,
)
from caretbench.errors import DataError, MachineError

_INTERRUPTED = 130

app = typer.Typer(
    name="caretbench",
    help="Measure a code-completion model at the caret.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("doctor")(doctor.doctor)
app.command("list")(listing.listing)
app.command("show")(show.show)
app.command("pull")(pull.pull)
app.command("run")(run.run)
app.command("score")(score.score)
app.command("judge")(judge.judge)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("validate")(validate.validate)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(build.app, name="build")
app.add_typer(models.app, name="models")
app.add_typer(deps.app, name="deps")
app.add_typer(cache.app, name="cache")


def main() -> None:
    """Run a verb; a foreseeable mistake ends with one clear line and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # a terminal that cannot show a character is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leaves no temporary folders behind
    try:
        app()
    except (DataError, MachineError, ValueError, KeyError) as error:
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        sys.stderr.write(f"caretbench: {message}\n")
        sys.exit(2)
    except SystemExit as end:  # typer ends with 130 itself when it is interrupted, and says nothing
        if end.code == _INTERRUPTED:
            sys.stderr.write("\ncaretbench: stopped; the same command goes on where this one ended\n")
        raise
    except BrokenPipeError:
        sys.exit(141)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"caretbench: {place}{error.strerror or error}\n")
        sys.exit(2)
