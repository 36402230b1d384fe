"""Comparison of simulated with logged acceptance, and the logged share of completed code next to simulated savings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caretbench.people.telemetry.event_table import EventTable
from caretbench.people.telemetry.events import ACCEPTED_OUTCOMES
from caretbench.problem import Row


class SimulatedAcceptance(Row):
    """Prediction of logged acceptance by the simulated developer, who types the later text; None: not known.

    The areas under the ROC curve, from 0 to 1, are of the keys that a suggestion saves in the simulation, and of its
    length alone: a simulation that is no better than the length says nothing. ``completed_share``: accepted characters
    among these and the typed ones, of the events that state characters typed.
    """

    events: int
    accepted_if_taken: float | None
    accepted_if_left: float | None
    area_simulated: float | None
    area_length: float | None
    completed_share: float | None
    sessions: int


def simulated_acceptance(table: EventTable) -> SimulatedAcceptance:
    """Return the comparison over the events that were seen and whose later text is known."""
    columns, accepted = table.typing, table.has_outcome(*ACCEPTED_OUTCOMES)
    saved = columns.simulated_keys
    known = np.isfinite(saved) & ~table.has_outcome("unseen")
    taken, left = known & (saved > 0), known & (saved == 0)
    stated = np.isfinite(columns.typed)
    completed = float(columns.accepted[stated].sum())
    written = float(columns.typed[stated].sum()) + completed
    return SimulatedAcceptance(
        events=int(known.sum()),
        accepted_if_taken=float(accepted[taken].mean()) if taken.any() else None,
        accepted_if_left=float(accepted[left].mean()) if left.any() else None,
        area_simulated=_area(saved[known], accepted[known]),
        area_length=_area(columns.characters[known], accepted[known]),
        completed_share=completed / written if written else None,
        sessions=columns.sessions,
    )


def _area(values: NDArray[np.float64], hits: NDArray[np.bool_]) -> float | None:
    """Return the chance that a hit has a greater value than another event, ties counted half."""
    from scipy.stats import rankdata  # takes a third of a second to load

    positive, negative = int(hits.sum()), int((~hits).sum())
    if not (positive and negative):
        return None
    return float(rankdata(values)[hits].sum() - positive * (positive + 1) / 2) / (positive * negative)
