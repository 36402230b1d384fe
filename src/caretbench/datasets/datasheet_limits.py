"""Limits of a released set: sentences that follow from its figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caretbench.datasets.datasheet import Datasheet

_FEW: Final = 20
"""Number of problems below which the rate of a cell says little."""


def limits(sheet: Datasheet) -> Iterator[str]:
    """Yield the limits of a set, one sentence each."""
    figures, generation = sheet.figures, sheet.generation
    if generation.generators:
        families = {one.family or name for name, one in generation.generators.items()}
        yield (
            "The programs are written by models. They follow scenarios of developers' work and are not taken from it."
        )
        if len(families) == 1:
            yield "One family of models wrote all of them: a gain of this family on its own texts cannot be seen."
    small = [cell for cell, count in figures.cells.items() if count < _FEW]
    if small:
        yield f"{len(small)} of {len(figures.cells)} cells have fewer than {_FEW} problems: their rates say little."
    if figures.without_row:
        yield f"Of {figures.without_row} problems nothing but their texts is known: no generator, check or date."
    if figures.checks:
        yield "The checks are those of the build. A text that was edited afterwards has not passed them again."
        faults = {name: counts["fault"] for name, counts in figures.checks.items() if counts.get("fault")}
        if faults:
            found = ", ".join(f"{name} {count}" for name, count in faults.items())
            yield f"Problems with a fault that a check found: {found}."
    if figures.private_texts:
        yield f"{figures.private_texts} problems contain a text in the shape of a secret, a name or an address."
    if sheet.review is None:
        yield "No results of a review by people are part of this datasheet."
    elif sheet.review.settled < sheet.review.items:
        yield f"People have not settled {sheet.review.items - sheet.review.settled} items of the review."
    if generation.unpriced:
        yield f"The cost of {generation.unpriced} answers is not known: the sum is too low."
    if sheet.suite == "devbench" and figures.marked < figures.problems:
        yield f"{figures.problems - figures.marked} source files have no canary."
    if sheet.suite != "devbench":
        yield "The canary is in the datasheet and in the metadata alone."
    yield "Lines and tokens of the two countings differ; only one of them is comparable with the paper's."
    yield "The terms of providers about texts that their models write were not examined."
