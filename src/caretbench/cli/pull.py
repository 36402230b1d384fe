"""``caretbench pull``: released data into the cache, by hash."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caretbench.cli.common import Steps, say


def pull(
    suite_name: Annotated[str, typer.Argument(metavar="SUITE", help="The suite, devbench for example.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Take the files from this local copy of the release.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Also this model's recorded completions (gpt-4o, Ministral-3B); may be repeated.",
        ),
    ] = None,
) -> None:
    """Fetch a suite's released data at a pinned revision. A pull that broke off goes on."""
    if suite_name != "devbench":
        raise ValueError(f"nothing to pull for {suite_name!r}; devbench has released data")
    from caretbench.suites.devbench.pull import pull as fetch_all

    with Steps() as steps:
        folder = fetch_all(
            source=source, models=model or (), progress=lambda added, total: steps("files", added, total)
        )
    say(f"{folder}: complete; use it with --data released")
