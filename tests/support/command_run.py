"""A run of the command line in this process."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from caretbench import cli
from caretbench.errors import DataError


class CommandRun:
    """One command; ``err`` ends with the error that it reports."""

    def __init__(self, *arguments: str | Path, verb: tuple[str, ...] = ("build", "efcb")) -> None:
        result = CliRunner().invoke(cli.app, [*verb, *map(str, arguments)])
        mistake = result.exception
        if mistake is not None and not isinstance(mistake, DataError | ValueError | SystemExit):
            raise mistake
        self.told = isinstance(mistake, DataError | ValueError)
        self.code, self.out = result.exit_code, result.stdout
        self.err = result.stderr + (str(mistake) if self.told else "")
