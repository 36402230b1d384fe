"""``caretbench cache``: known verdicts and compiled programs."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.common import AsJson, say, say_json

app = typer.Typer(
    help="Known verdicts and compiled programs: show them, prune them.", invoke_without_command=True
)


@app.callback()
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """What the cache holds."""
    if context.invoked_subcommand is not None:
        return
    from caretbench.execution.cache import ResultCache

    held = ResultCache().statistics()
    if as_json:
        say_json(held.model_dump())
        return
    say(held.folder)
    say(f"verdicts: {held.verdicts} ({held.verdict_bytes / 1e6:.1f} MB)")
    for name, counts in (("by language", held.by_language), ("by status", held.by_status)):
        if counts:
            say(f"  {name}: " + ", ".join(f"{key} {count}" for key, count in sorted(counts.items())))
    say(f"compiled programs: {held.artefacts} ({held.artefact_bytes / 1e6:.1f} MB)")


@app.command("prune")
def prune(
    unused_days: Annotated[float | None, typer.Option(help="What was not used for so many days.")] = None,
    keep_mb: Annotated[float | None, typer.Option(help="The oldest beyond so many megabytes.")] = None,
    language: Annotated[str | None, typer.Option(help="Only (or all) verdicts of this language.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of it.")] = False,
) -> None:
    """Take out what is old, too much, or of one language. Bundles and pulled data stay."""
    from caretbench.execution.cache import ResultCache
    from caretbench.languages import language as find_language

    if not everything and unused_days is None and keep_mb is None and language is None:
        raise ValueError("say what to prune: --unused-days, --keep-mb, --language or --all")
    cache = ResultCache()
    pruned = (
        cache.clear()
        if everything
        else cache.prune(
            unused_days=unused_days,
            keep_bytes=None if keep_mb is None else int(keep_mb * 1e6),
            language=None if language is None else find_language(language).name,
        )
    )
    say(
        f"removed {pruned.verdicts} verdicts and {pruned.artefacts} compiled programs, "
        f"{pruned.freed_bytes / 1e6:.1f} MB"
    )
