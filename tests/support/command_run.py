"""Runs of the command line: in this process, which costs a tenth, or in one of its own."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

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


def in_this_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``caretbench`` as its entry point does, without the start of an interpreter and of libraries."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    handler = signal.getsignal(signal.SIGTERM)
    with (
        patch.object(sys, "argv", ["caretbench", *arguments]),
        patch.dict(os.environ, environment),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            signal.signal(signal.SIGTERM, handler)
    return subprocess.CompletedProcess(["caretbench", *arguments], code, out.getvalue(), err.getvalue())


def in_own_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``caretbench`` as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "caretbench", *arguments], env={**os.environ, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
