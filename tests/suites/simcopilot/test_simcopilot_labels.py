"""Distances of references: which of them count for a label."""

from __future__ import annotations

from typing import Any

import pytest

from caretbench.suites.simcopilot.build.tasks import reference_distances
from caretbench.syntax.names.references import Definition, Reference


def definition(line: int) -> Definition:
    return Definition("a.py", "n", "local", (line * 10, line * 10 + 1), line)


def reference(line: int, declared: int | None, *reaching: int, **fields: Any) -> Reference:
    values: dict[str, Any] = {
        "path": "a.py", "name": "n", "span": (line * 10 + 5, line * 10 + 6), "line": line, "binding": "local",
        "origin": "same_function", "declaration": None if declared is None else definition(declared),
        "reaching": tuple(map(definition, reaching)),
    }  # fmt: skip
    return Reference(**values | fields)


@pytest.mark.parametrize(
    ("one", "distances"),
    [
        pytest.param(reference(9, 4), {"reference_distance": 5}, id="lines to the declaration"),
        pytest.param(reference(4, 9), {"reference_distance": 5}, id="also where it comes later"),
        pytest.param(reference(9, 9), {}, id="declared on its own line"),
        pytest.param(reference(9, 9, binding="comprehension"), {"reference_distance": 0}, id="of a comprehension"),
        pytest.param(reference(9, None, binding="comprehension"), {}, id="declared elsewhere"),
        pytest.param(reference(9, 4, library="os.path"), {}, id="of a library"),
    ],
)
def test_the_distance_to_the_declaration(one: Reference, distances: dict[str, int]) -> None:
    assert reference_distances((one,)) == distances


def test_the_greatest_distance_counts_and_the_nearest_definition_reaches() -> None:
    found = reference_distances((reference(9, 4, 4, 7), reference(9, 1, 1, origin="same_file"), reference(9, 8, 8)))
    assert found == {"reference_distance": 8, "reaching_distance": 8, "local_distance": 2, "nonlocal_distance": 8}
