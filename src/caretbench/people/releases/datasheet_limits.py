"""Limits of a released set: sentences that follow from its figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caretbench.people.releases.datasheet import Datasheet
from caretbench.people.releases.part_figures import FAULT, PartFigures

_FEW: Final = 20
"""Number of problems below which the rate of a cell says little."""


def limits(sheet: Datasheet) -> Iterator[str]:
    """Yield the limits of a set, one sentence each."""
    yield from _of_problems(sheet.figures)
    yield from _of_making(sheet)
    if sheet.figures.marked is None:
        yield "The canary is in the datasheet and in the metadata alone."
    elif sheet.figures.marked < sheet.figures.problems:
        yield f"{sheet.figures.problems - sheet.figures.marked} source files have no canary."
    if sheet.figures.sizes:
        yield "Lines and tokens of the two countings differ; only one of them is comparable with the paper's."


def _of_problems(figures: PartFigures) -> Iterator[str]:
    small = sum(count < _FEW for count in figures.cells.values())
    if small:
        yield f"{small} of {len(figures.cells)} cells have fewer than {_FEW} problems: their rates say little."
    if figures.without_row:
        yield f"Of {figures.without_row} problems nothing but their texts is known: no generator, check or date."
    if figures.checks:
        yield "The checks are those of the build; a release does not repeat them."
    if unrun := figures.checks.get("gate", {}).get(FAULT):
        yield f"{unrun} programs never ran: the machine of the build could not run them."
    if figures.private_texts:
        yield f"{figures.private_texts} problems contain a text in the shape of a person's name or an address."


def _of_making(sheet: Datasheet) -> Iterator[str]:
    generators, review = sheet.generation.generators, sheet.review
    if generators:
        yield "The programs are written by models. They follow scenarios of developers' work and are not taken from it."
        yield "The terms of providers about texts that their models write were not examined."
        if len({one.family or name for name, one in generators.items()}) == 1:
            yield "One family of models wrote all of them: a gain of this family on its own texts cannot be seen."
    if sheet.generation.unpriced:
        yield f"{sheet.generation.unpriced} answers have no known price, so the cost of the whole is not known."
    if review is None:
        yield "No results of a review by people are part of this datasheet."
    elif review.settled < review.items:
        yield f"People have not settled {review.items - review.settled} items of the review."
