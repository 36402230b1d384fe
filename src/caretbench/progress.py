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
