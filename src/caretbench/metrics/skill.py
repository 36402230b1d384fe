"""Scores above a floor: what a model adds to what needs no model (the empty answer, chance, copying)."""

from __future__ import annotations

from collections.abc import Sequence


def skill(score: float, floor: float, ceiling: float = 1.0) -> float | None:
    """How far ``score`` goes from ``floor`` (0) to ``ceiling`` (1); negative below the floor.

    The form of chance-corrected scores such as Cohen's kappa. None where the floor reaches the ceiling:
    nothing can be told apart there.
    """
    return (score - floor) / (ceiling - floor) if floor < ceiling else None


def net_of_floor(scores: Sequence[float], floors: Sequence[float]) -> list[float]:
    """Score minus floor of each problem, such as pass rate net of the empty answer's.

    The differences can be averaged, and given to the intervals and paired tests.

    Raises:
        ValueError: the sequences differ in length.
    """
    return [score - floor for score, floor in zip(scores, floors, strict=True)]
