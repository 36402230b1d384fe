"""``caretbench pull``: download of released data into the cache, checked by hash."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caretbench.cli.common import Steps, SuiteName, say


def pull(
    suite_name: SuiteName,
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
    """Fetch a suite's released data at a pinned revision. A pull that broke off goes on.

    Example: caretbench pull devbench --model gpt-4o
    """
    from caretbench.suites import load_suite, usable_suites

    house = load_suite(suite_name)
    if not house.pull_about:
        released = ", ".join(one.name for one in usable_suites()[0] if one.pull_about)
        raise ValueError(f"nothing to pull for {suite_name!r}; suites with released data: {released}")
    with Steps() as steps:
        folder = house.pull(source, model or (), lambda added, total: steps("files", added, total))
    say(f"{folder}: complete; use it with --data released")
