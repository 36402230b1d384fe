"""Number of instances of each cell that a build makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from caretbench.errors import DataError
from caretbench.suites.devbench.build.construction.build_rows import ConstructionManifest
from caretbench.suites.devbench.build.construction.options import ConstructionOptions
from caretbench.suites.devbench.build.construction.scenario_grid import cells
from caretbench.suites.devbench.built_instances import BuiltInstance
from caretbench.suites.devbench.cells.cell_tables import cell_categories, cell_languages
from caretbench.suites.usage_weights import Weights, read_weights

Cell = tuple[str, str]
"""Language and category."""


PER_CELL: Final = 10
"""Number of instances of each cell in a new folder."""


def counts_to_restore(
    manifest: ConstructionManifest | None, rows: Mapping[str, BuiltInstance], *, every_generator: bool
) -> dict[Cell, int]:
    """Return the number of instances that each cell had at the end of the last build, siblings not counted.

    With ``every_generator``, it is the number of one generator.
    """
    siblings = Counter(row.scenario.cell for row in rows.values() if row.scenario.sibling_of)
    generators = len(manifest.models) if manifest is not None and every_generator else 1
    counts = manifest.instances.items() if manifest is not None else ()
    return {
        (language, category): -(-(count - siblings[cell]) // max(1, generators))
        for cell, count in counts
        for language, category in [cell.split("/")]
    }


def instances_per_cell(options: ConstructionOptions) -> dict[Cell, int]:
    """Return the number of instances of each chosen cell: ``per_cell``, or by weights the same total.

    Raises:
        DataError: the weights are malformed, or give all chosen cells nothing.
    """
    chosen = list(cells(options.languages, options.categories))
    per_cell = options.per_cell or PER_CELL
    if options.weights is None:
        return dict.fromkeys(chosen, per_cell)
    weights = read_weights(str(options.weights))
    if not weights.language and not weights.category:
        raise DataError(
            f"{options.weights}: neither a table [language] nor [category]; without them, leave --weights out"
        )
    for table, shares, known in _tables(weights):
        if shares and not shares.keys() & set(known):
            raise DataError(
                f"{options.weights}: [{table}] has no {table} of a cell, but {', '.join(shares)}; "
                f"known: {', '.join(known)}"
            )
    products = {cell: _share(weights.language, cell[0]) * _share(weights.category, cell[1]) for cell in chosen}
    if not sum(products.values()):
        zero = [
            f"[{table}]"
            for index, (table, values, _) in enumerate(_tables(weights))
            if not any(_share(values, cell[index]) for cell in chosen)
        ]
        place = " and ".join(zero) or "[language] or [category]"
        raise DataError(
            f"{options.weights}: all chosen cells have the weight 0 in {place}; choose others with "
            "--language and --category, or change the file"
        )
    return _apportioned(products, per_cell * len(chosen))


def weights_notes(options: ConstructionOptions) -> list[str]:
    """Return one line for each table of the weights with names that no cell has: the names and their share.

    Raises:
        DataError: the weights are malformed.
    """
    if options.weights is None:
        return []
    lines = []
    for table, shares, known in _tables(read_weights(str(options.weights))):
        if strange := [name for name in shares if name not in known]:
            share = sum(shares[name] for name in strange) / sum(shares.values())
            lines.append(
                f"{options.weights}: [{table}] no cell has {', '.join(strange)}; {share:.1%} of the table is left out; "
                f"known: {', '.join(known)}"
            )
    return lines


def _tables(weights: Weights) -> tuple[tuple[str, Mapping[str, float], list[str]], ...]:
    """Return the tables of languages and categories: name, shares and known names."""
    return (
        ("language", weights.language, list(cell_languages())),
        ("category", weights.category, list(cell_categories())),
    )


def _share(table: Mapping[str, float], name: str) -> float:
    """Return the share of a name; 1 in an empty table, 0 for a name that a table does not have."""
    return table.get(name, 0.0) if table else 1.0


def _apportioned(shares: Mapping[Cell, float], total: int) -> dict[Cell, int]:
    """Return whole numbers in the ratio of the shares that add up to ``total``: the method of largest remainders."""
    scale = total / sum(shares.values())
    exact = {cell: share * scale for cell, share in shares.items()}
    counts = {cell: int(value) for cell, value in exact.items()}
    order = sorted(exact, key=lambda cell: counts[cell] - exact[cell])
    for cell in order[: total - sum(counts.values())]:
        counts[cell] += 1
    return counts
