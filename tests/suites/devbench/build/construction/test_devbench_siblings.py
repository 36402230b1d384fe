"""A sibling has the shape of its original and other words."""

from __future__ import annotations

import pytest

from caretbench.suites.devbench.build.construction.candidates import sibling_fault
from caretbench.suites.devbench.starter import problem_of_text

ORIGINAL = """def freight(parcels, surcharge):
    heavy = [parcel.weight for parcel in parcels if parcel.weight > 30]
    ⟦return sum(heavy) * surcharge⟧
"""
SIBLING = """def royalties(albums, percentage):
    popular = [album.plays for album in albums if album.plays > 900]
    ⟦return sum(popular) * percentage⟧
"""
OTHER_SHAPE = """def royalties(albums, percentage):
    popular = 0
    for album in albums:
        popular += album.plays
    ⟦return popular * percentage⟧
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (SIBLING, ""),
        (OTHER_SHAPE, "it has not the shape of the original: 0."),
        (ORIGINAL, "it has 100% of its words in common with the original, at most 60% allowed"),
        (ORIGINAL.replace("surcharge", "fee"), "of its words in common"),
    ],
)
def test_sibling_fault(text: str, fault: str) -> None:
    original = problem_of_text(ORIGINAL, "python/low_context/a", "made")
    found = sibling_fault(original, problem_of_text(text, "python/low_context/b", "made"))
    assert fault in found
    assert bool(found) is bool(fault)
