"""``caretbench cache``: cached verdicts, compiled programs and project snapshots."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import AsJson, print_json, print_line

app = typer.Typer(cls=HelpGroup, invoke_without_command=True)


@app.callback()
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the size of the cache: verdicts, compiled programs, project snapshots.

    Examples:
      caretbench cache
      caretbench cache prune --unused-days 30
    """
    if context.invoked_subcommand is not None:
        return
    from caretbench.execution.cache.result_cache import ResultCache
    from caretbench.execution.workspaces.snapshot_store import SnapshotStore

    statistics = ResultCache().statistics()
    store = SnapshotStore()
    snapshots, snapshot_bytes = len(store.list()), store.disk_bytes()
    if as_json:
        print_json({**statistics.model_dump(), "snapshots": snapshots, "snapshot_bytes": snapshot_bytes})
        return
    print_line(statistics.folder)
    print_line(f"verdicts: {statistics.verdicts} ({statistics.verdict_bytes / 1e6:.1f} MB)")
    for name, counts in (("by language", statistics.by_language), ("by status", statistics.by_status)):
        if counts:
            print_line(f"  {name}: " + ", ".join(f"{key} {count}" for key, count in sorted(counts.items())))
    print_line(f"compiled programs: {statistics.artefacts} ({statistics.artefact_bytes / 1e6:.1f} MB)")
    print_line(f"projects: {snapshots} snapshots ({snapshot_bytes / 1e6:.1f} MB)")


@app.command("prune", cls=HelpCommand)
def prune(
    unused_days: Annotated[
        float | None, typer.Option(help="Remove entries that were not used for this many days.")
    ] = None,
    keep_mb: Annotated[
        float | None,
        typer.Option(help="Remove the oldest verdicts and compiled programs until at most this many megabytes remain."),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Remove verdicts of this language; with other options, remove only these.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove everything.")] = False,
) -> None:
    """Remove entries from the cache. Bundles and downloaded data are kept.

    Examples:
      caretbench cache prune --unused-days 30
      caretbench cache prune --language java
    """
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
    print_line(
        f"removed {pruned.verdicts} verdicts, {pruned.artefacts} compiled programs and "
        f"{before - len(store.list())} snapshots of projects, {freed / 1e6:.1f} MB"
    )
