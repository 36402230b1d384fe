"""``caretbench cache``: cached verdicts, compiled programs and snapshots of projects."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.common import AsJson, say, say_json

app = typer.Typer(
    help="Known verdicts, compiled programs and snapshots of projects: show them, prune them.",
    invoke_without_command=True,
)


@app.callback()
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """What the cache holds."""
    if context.invoked_subcommand is not None:
        return
    from caretbench.execution.cache.result_cache import ResultCache
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore

    held = ResultCache().statistics()
    store = SnapshotStore()
    snapshots, snapshot_bytes = len(store.list()), store.disk_bytes()
    if as_json:
        say_json({**held.model_dump(), "snapshots": snapshots, "snapshot_bytes": snapshot_bytes})
        return
    say(held.folder)
    say(f"verdicts: {held.verdicts} ({held.verdict_bytes / 1e6:.1f} MB)")
    for name, counts in (("by language", held.by_language), ("by status", held.by_status)):
        if counts:
            say(f"  {name}: " + ", ".join(f"{key} {count}" for key, count in sorted(counts.items())))
    say(f"compiled programs: {held.artefacts} ({held.artefact_bytes / 1e6:.1f} MB)")
    say(f"projects: {snapshots} snapshots ({snapshot_bytes / 1e6:.1f} MB)")


@app.command("prune")
def prune(
    unused_days: Annotated[float | None, typer.Option(help="What was not used for so many days.")] = None,
    keep_mb: Annotated[
        float | None, typer.Option(help="The oldest verdicts and programs beyond so many megabytes.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Only (or all) verdicts of this language.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of it.")] = False,
) -> None:
    """Take out what is old, too much, or of one language. Bundles and pulled data stay."""
    from caretbench.execution.cache.result_cache import ResultCache
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore
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
    store = SnapshotStore()
    before = len(store.list())
    freed = pruned.freed_bytes
    if everything or (unused_days is not None and language is None):
        freed += store.prune(unused_days=0 if everything or unused_days is None else unused_days)
    say(
        f"removed {pruned.verdicts} verdicts, {pruned.artefacts} compiled programs and "
        f"{before - len(store.list())} snapshots of projects, {freed / 1e6:.1f} MB"
    )
