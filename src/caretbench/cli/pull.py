"""``caretbench pull``: download of released data into the cache, checked by hash."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caretbench.cli.common import StepProgress, SuiteName, print_line
from caretbench.errors import UsageError


def pull(
    suite_name: SuiteName,
    source: Annotated[
        Path | None, typer.Option("--from", help="Local copy of the release to copy from. Default: the network.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Also download the recorded completions of this model (gpt-4o, Ministral-3B); may be repeated.",
        ),
    ] = None,
) -> None:
    """Download the released data of a suite at a pinned revision. Run the same command again to resume.

    Examples:
      caretbench pull devbench --model gpt-4o
      caretbench pull humaneval-infilling
    """
    from caretbench.build import load_builder, usable_builders

    named = (one for one in usable_builders() if one.pull_name == suite_name)
    builder = next(named, None) or load_builder(suite_name)
    if not builder.pull_about:
        released = ", ".join(one.pull_name or one.name for one in usable_builders() if one.pull_about)
        raise UsageError(f"nothing to pull for {suite_name!r}; suites with released data: {released}")
    counts = [0, 0]
    with StepProgress() as steps:

        def progress(added: int, total: int) -> None:
            counts[:] = counts[0] + added, total
            steps("files", added, total)

        folder = builder.pull(source, model or (), progress)
    missing = counts[1] - counts[0]
    optional = f"{missing} optional file{'s' if missing > 1 else ''}"
    state = f"complete but for {optional}, which the source lacks" if missing > 0 else "complete"
    print_line(f"{folder}: {state}; use it with {builder.pull_use}")
