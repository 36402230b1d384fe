"""Progress of a run and its notes, as the stages report them; the command line shows them."""

from __future__ import annotations

import logging


class Progress:
    """Receiver of progress reports. By default notes are logged to ``caretbench``, and steps are ignored."""

    def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
        """Count ``added`` more of a step; ``total`` is None where it stays as it was."""

    def note(self, line: str) -> None:
        """Report one line that is not the result."""
        logging.getLogger("caretbench").info("%s", line)


class FolderProgress(Progress):
    """Progress of one folder of several: steps and notes begin with the folder's name, so that each counts alone."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress = progress
        self._name = name

    def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
        """Count ``added`` more of a step of this folder."""
        self._progress(f"{self._name}: {step}", added, total, detail)

    def note(self, line: str) -> None:
        """Report one line about this folder."""
        self._progress.note(f"{self._name}: {line}")
