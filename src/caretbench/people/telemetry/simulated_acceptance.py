"""Comparison of simulated with logged acceptance, and the logged share of completed code next to simulated savings."""

from __future__ import annotations

import numpy as np

from caretbench.judging.aggregation import separation
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
    area_simulated: float | None
    area_length: float | None
    completed_share: float | None
    sessions: int

    @property
    def note(self) -> str | None:
        """Comparison in words; None if there is nothing to compare."""
        if self.area_simulated is None or self.area_length is None:
            return None
        better = "better than" if self.area_simulated > self.area_length else "no better than"
        completed = "" if self.completed_share is None else f"; {self.completed_share:.1%} of the code was completed"
        return (
            f"simulated acceptance tells accepted completions from others with an area of {self.area_simulated:.2f}, "
            f"{better} their length alone ({self.area_length:.2f}), over {self.events} events{completed}"
        )


def simulated_acceptance(table: EventTable) -> SimulatedAcceptance:
    """Return the comparison over the events that were seen and whose later text is known."""
    saved, typed, characters, accepted = table.typing.values()
    known = np.isfinite(saved) & ~table.has_outcome("unseen")
    hits, saved, stated = table.has_outcome(*ACCEPTED_OUTCOMES)[known], saved[known], np.isfinite(typed)
    completed = float(accepted[stated].sum())
    written = float(typed[stated].sum()) + completed

    return SimulatedAcceptance(
        events=len(hits),
        area_simulated=separation([*saved[hits]], [*saved[~hits]]),
        area_length=separation([*characters[known][hits]], [*characters[known][~hits]]),
        completed_share=completed / written if written else None,
        sessions=len(table.sessions),
    )
