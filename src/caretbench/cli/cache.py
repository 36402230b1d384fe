"""``caretbench cache``: files that builds and runs leave in the cache, by kind; their removal."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import AsJson, join_counts, print_json, print_line, print_table
from caretbench.errors import UsageError

app = typer.Typer(cls=HelpGroup, invoke_without_command=True)


@app.callback()
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what the cache contains, by kind: place, number, size and last use.

    Examples:
      caretbench cache
      caretbench cache prune --unused-days 30
    """
    if context.invoked_subcommand is not None:
        return
    from datetime import UTC, datetime

    from caretbench.execution.cache.result_cache import ResultCache
    from caretbench.execution.cache.stored_kinds import LIMIT_VARIABLE, StoredFiles, cache_limit_bytes

    limit, cache = cache_limit_bytes(), ResultCache()
    kinds, statistics = StoredFiles(cache).kinds(), cache.statistics()
    if as_json:
        print_json({**statistics.model_dump(), "limit_bytes": limit, "kinds": [kind.model_dump() for kind in kinds]})
        return
    bound = "no limit" if limit is None else f"at most {limit / 1e9:g} GB"
    size = sum(kind.size_bytes for kind in kinds if kind.limited)
    print_line(f"{statistics.folder}: verdicts, programs and snapshots take {_size(size)}, {bound} ({LIMIT_VARIABLE})")
    rows = [
        (
            kind.kind,
            str(kind.entries),
            _size(kind.size_bytes),
            "" if kind.last_used is None else f"{datetime.fromtimestamp(kind.last_used, UTC):%Y-%m-%d %H:%M}",
            kind.about,
            kind.place.removeprefix(f"{statistics.folder}/"),
        )
        for kind in kinds
    ]
    print_table([list(row) for row in rows], ("kind", "entries", "size", "last use (UTC)", "", "place"))
    for name, counts in (("language", statistics.by_language), ("status", statistics.by_status)):
        if counts:
            print_line(f"verdicts by {name}: " + ", ".join(f"{key} {count}" for key, count in sorted(counts.items())))


@app.command("prune", cls=HelpCommand)
def prune(
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Kind to remove, as shown by `caretbench cache`; may be repeated. "
            "Default: verdicts, programs and snapshots.",
        ),
    ] = None,
    unused_days: Annotated[
        float | None, typer.Option(min=0, help="Remove entries that were not used for this many days.")
    ] = None,
    keep_mb: Annotated[
        float | None,
        typer.Option(min=0, help="Remove the longest unused entries until at most this many megabytes remain."),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Remove verdicts of this language; with --unused-days, remove only these.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all entries of these kinds.")] = False,
) -> None:
    """Remove entries from the cache; what a build or a run uses at this moment is kept.

    Examples:
      caretbench cache prune --unused-days 30
      caretbench cache prune --kind snapshots --keep-mb 2000
    """
    from caretbench.execution.cache.result_cache import ResultCache
    from caretbench.execution.cache.stored_kinds import Freed, StoredFiles, chosen_kinds
    from caretbench.languages import get_language

    if not everything and unused_days is None and keep_mb is None and language is None:
        raise UsageError("say what to prune: --unused-days, --keep-mb, --language or --all")
    if everything and (unused_days is not None or keep_mb is not None):
        raise UsageError("--all removes all entries: omit --unused-days and --keep-mb")
    kinds, cache = chosen_kinds(kind), ResultCache()
    if language is not None:
        if kind or keep_mb is not None or everything:
            raise UsageError("--language is about verdicts alone: only --unused-days goes with it")
        count, size = cache.prune_verdicts(unused_days=unused_days, language=get_language(language).name)
        freed = Freed(removed={"verdicts": count}, freed_bytes=size)
    else:
        keep_bytes = None if keep_mb is None else int(keep_mb * 1e6)
        freed = StoredFiles(cache).free(kinds, unused_days=unused_days, keep_bytes=keep_bytes)
    print_line(f"removed {join_counts(freed.removed) or 'nothing'}; freed {_size(freed.freed_bytes)}")
    if freed.in_use:
        print_line(f"kept {freed.in_use} that a build or a run uses; run the same command again after it")


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 10**9 else f"{count / 1e6:.1f} MB"
