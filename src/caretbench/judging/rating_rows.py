"""Rows that people filled in, of every rating sheet: who rated what, and how far people agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from caretbench.errors import DataError
from caretbench.metrics.agreement.coefficients import krippendorff_alpha


class RatedRow(Protocol):
    """Row of a rating sheet."""

    @property
    def problem_id(self) -> str:
        """Problem of the rated text."""
        ...

    @property
    def rater(self) -> str:
        """Name of the person."""
        ...


RowT = TypeVar("RowT", bound=RatedRow)
TextT = TypeVar("TextT")


def checked_ratings(path: Path, rows: Iterable[RowT], text_of: Callable[[RowT], str]) -> list[RowT]:
    """Return filled rows of a sheet, in which those of several people may follow each other.

    Args:
        path: The sheet, for messages.
        rows: Rows that are filled in.
        text_of: Hash of the text that a row rates.

    Raises:
        DataError: a row does not name its rater, or a person rated a text twice.
    """
    found: dict[tuple[str, str, str], RowT] = {}
    for row in rows:
        key = (row.rater, row.problem_id, text_of(row))
        if not row.rater:
            raise DataError(f"{path}: a rating of {row.problem_id} does not name its rater")
        if key in found:
            raise DataError(f"{path}: {row.rater} rated one text of {row.problem_id} twice")
        found[key] = row
    return list(found.values())


def alpha_of_people(values: Mapping[TextT, Mapping[str, float]]) -> float | None:
    """Return Krippendorff's alpha among people, from values by text and rater; None if it is not defined."""
    raters = sorted({rater for by_rater in values.values() for rater in by_rater})
    return krippendorff_alpha([[by_rater.get(rater) for by_rater in values.values()] for rater in raters])
