"""Printed result of a build of instances."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from caretbench.suites.devbench.build.construction.build_folder import BuildFolder
from caretbench.suites.devbench.build.construction.build_rows import ConstructionManifest
from caretbench.suites.devbench.build.construction.cell_counts import Cell
from caretbench.suites.suite_types import BuildResult
from caretbench.text_tables import align_columns, counted

_SHOWN_CELLS: Final = 6


def build_summary(
    folder: BuildFolder,
    manifest: ConstructionManifest,
    counts: Mapping[Cell, int],
    counters: Sequence[str],
    instance_count: Callable[[Cell, str], int],
) -> BuildResult:
    """Return the printed result: instances and attempts of the cells of this build, and what became of attempts.

    Args:
        folder: The folder.
        manifest: Its manifest.
        counts: Number of instances to make, by cell.
        counters: Generators that are counted apart; one empty name if they are counted together.
        instance_count: Returns the number of instances of a cell by a generator.
    """
    total = sum(manifest.instances.values())
    short = [
        f"{'/'.join(cell)}{f' by {one}' if one else ''}: {instance_count(cell, one)} of {count}"
        for cell, count in counts.items()
        for one in counters
        if instance_count(cell, one) < count
    ]
    outcomes: Counter[str] = Counter()
    for yields in manifest.yields.values():
        outcomes.update(yields)
    cost = f"${manifest.cost:.2f}" if manifest.cost is not None else "cost not known"
    place = shlex.quote(str(folder.path))
    text = [
        *_table(manifest, counts),
        "",
        _attempts(outcomes),
        f"{place}: {counted(total, 'instance')}; {cost}, {manifest.request_hours:.2f} hours of requests; "
        f"caretbench run devbench --data {place} -m …",
    ]
    if short:
        text.append(_missing(place, short, manifest))
    numbers = {**manifest.model_dump(mode="json"), "output": str(folder.path), "short": short}
    return BuildResult(tuple(text), numbers, usable=total > 0 and not short)


def _attempts(outcomes: Mapping[str, int]) -> str:
    """Return the sum of the attempts: how many became instances, and why the others did not."""
    made = outcomes.get("instance", 0)
    rest = ", ".join(
        f"{count} {outcome}" for outcome, count in Counter(outcomes).most_common() if outcome != "instance"
    )
    why = f"; {rest} (attempts.jsonl has the diagnoses)" if rest else ""
    return f"{counted(sum(outcomes.values()), 'answer')}: {counted(made, 'instance')}{why}"


def _missing(place: str, short: Sequence[str], manifest: ConstructionManifest) -> str:
    """Return the last line of a build that did not fill each cell: what is missing, and how to go on."""
    more = f" and {len(short) - _SHOWN_CELLS} more" if len(short) > _SHOWN_CELLS else ""
    return (
        f"{place}: no scenario is left for {'; '.join(short[:_SHOWN_CELLS])}{more}. Go on with the same command and a "
        f"higher --patience (now {manifest.options.get('patience')})"
    )


def _table(manifest: ConstructionManifest, counts: Mapping[Cell, int]) -> Iterator[str]:
    rows = []
    for cell, wanted in counts.items():
        name = "/".join(cell)
        yields = manifest.yields.get(name, {})
        rest = ", ".join(f"{count} {outcome}" for outcome, count in yields.items() if outcome != "instance")
        rows.append((name, str(manifest.instances.get(name, 0)), str(wanted), str(sum(yields.values())), rest))
    yield from align_columns(rows, ("cell", "instances", "wanted", "attempts", "without an instance"))
