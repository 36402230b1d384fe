"""``caretbench pull``: download of released data into the cache, checked by hash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.common import StepProgress, print_line, print_note
from caretbench.errors import UsageError

if TYPE_CHECKING:
    from caretbench.build.builder import Builder


def pull(
    suite_names: Annotated[
        list[str], typer.Argument(help="Names of suites, devbench or safim for example.", metavar="SUITE...")
    ],
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
    data: Annotated[
        str | None,
        typer.Option(metavar="EDITION", help="Edition of the record, or a built folder. Default: the newest."),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER|URL", help="Archives and bare repositories of the record, asked before the indexes."
        ),
    ] = None,
) -> None:
    """Download the released data of suites at a pinned revision. Run the same command again to resume.

    Examples:
      caretbench pull devbench --model gpt-4o
      caretbench pull record --mirror ~/archives
    """
    from caretbench.build import load_builder

    # All names first: a misspelled one is found before anything is fetched.
    builders = [load_builder(name) for name in suite_names]
    other = next((chosen.name for chosen in builders if not chosen.has_editions), None)
    if other is not None and (data or mirror):
        raise UsageError(f"--data and --mirror: {other} has no editions; they are options of `caretbench pull record`")
    for builder in builders:
        if builder.has_editions and source is None:
            _pull_edition(builder, data or "starter", mirror)
        else:
            _pull(builder, source, model or ())


def _pull_edition(builder: Builder, edition: str, mirror: str | None) -> None:
    with StepProgress() as steps:
        here, total = builder.pull_edition(
            edition, mirror, lambda added, total: steps("projects", added, total), print_note
        )
    use = "" if edition == "starter" else f" --data {edition}"
    print_line(f"{here} of {total} projects are here; use them with {builder.pull_use}{use}")
    if here < total:
        raise typer.Exit(1)


def _pull(builder: Builder, source: Path | None, models: Sequence[str]) -> None:
    counts = [0, 0]
    with StepProgress() as steps:

        def progress(added: int, total: int) -> None:
            counts[:] = counts[0] + added, total
            steps("files", added, total)

        folder = builder.pull(source, models, progress)
    missing = counts[1] - counts[0]
    optional = f"{missing} optional file{'s' if missing > 1 else ''}"
    state = f"complete but for {optional}, which the source lacks" if missing > 0 else "complete"
    print_line(f"{folder}: {state}; use it with {builder.pull_use}")
