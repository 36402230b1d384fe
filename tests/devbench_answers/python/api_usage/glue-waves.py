"""Assembly plan of a wooden model ship: parts that wait for other parts, and rounds of gluing."""

from graphlib import CycleError, TopologicalSorter

DRYING_HOURS = 6


class ImpossiblePlan(Exception):
    """Parts that wait for each other in a ring."""

    def __init__(self, ring):
        super().__init__(" -> ".join(ring))
        self.ring = ring


def gluing_rounds(supports):
    """Return the rounds in which the parts are glued, each a sorted list.

    ``supports`` maps a part to the parts that must have dried before it is glued. A part is glued in the
    first round in which that is possible; parts that are only named as supports belong to the plan too.
    """
    plan = TopologicalSorter(supports)
    try:
        plan.prepare()
    except CycleError as error:
        raise ImpossiblePlan(error.args[1]) from error
    rounds = []
    while plan.is_active():
        free = plan.⟦get_ready()
        rounds.append(sorted(free))
        plan.done(*free)
⟧    return rounds


def workshop_hours(supports):
    """Return the hours until the last part is dry."""
    return DRYING_HOURS * len(gluing_rounds(supports))
⟦tests⟧
ship = {
    "deck": {"frame-1", "frame-2"},
    "frame-1": {"keel"},
    "frame-2": {"keel"},
    "mast": {"deck", "mast step"},
    "rudder": {"keel"},
}
assert gluing_rounds(ship) == [
    ["keel", "mast step"],
    ["frame-1", "frame-2", "rudder"],
    ["deck"],
    ["mast"],
]
assert workshop_hours(ship) == 24
assert gluing_rounds({}) == []
assert workshop_hours({"flag": ()}) == 6
assert gluing_rounds({"b": ["a"], "c": ["a"], "a": []}) == [["a"], ["b", "c"]]
try:
    gluing_rounds({"lid": ["hinge"], "hinge": ["pin"], "pin": ["lid"], "knob": []})
except ImpossiblePlan as error:
    assert set(error.ring) == {"lid", "hinge", "pin"}
    assert error.ring[0] == error.ring[-1]
else:
    raise AssertionError("a ring of parts was glued")
