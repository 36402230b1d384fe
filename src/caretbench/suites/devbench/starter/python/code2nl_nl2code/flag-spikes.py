"""Cleaning of the readings that come in from field sensors."""

from statistics import median


def fill_gaps(readings: list[float | None]) -> list[float]:
    """Replace missing readings by the last known one.

    Args:
        readings: Values in the order of time; None where the sensor was silent.

    Returns:
        The values without gaps; silence before the first value is dropped.
    """
    filled: list[float] = []
    for value in readings:
        if value is not None:
            filled.append(value)
        elif filled:
            filled.append(filled[-1])
    return filled


def flag_spikes(readings: list[float], window: int, tolerance: float) -> list[int]:
⟦    """Find the readings that jump away from what came just before them.

    A reading is a spike if it differs by more than ``tolerance`` from the median of the ``window`` readings before
    it. The first ``window`` readings have too little history and are never flagged.

    Args:
        readings: Values in the order of time.
        window: How many earlier readings form the median; at least 2.
        tolerance: Largest difference from the median that is still normal.

    Returns:
        The positions of the spikes, in ascending order.

    Raises:
        ValueError: ``window`` is below 2.
    """
⟧    if window < 2:
        raise ValueError("a window needs at least two readings")
    spikes = []
    for position in range(window, len(readings)):
        usual = median(readings[position - window : position])
        if abs(readings[position] - usual) > tolerance:
            spikes.append(position)
    return spikes


def without_spikes(readings: list[float], window: int, tolerance: float) -> list[float]:
    """The readings without those that flag_spikes finds."""
    spikes = set(flag_spikes(readings, window, tolerance))
    return [value for position, value in enumerate(readings) if position not in spikes]
⟦tests⟧
assert flag_spikes.__doc__, "the function has no docstring"
assert flag_spikes([20, 21, 20, 35, 21, 20], 3, 5) == [3]
assert flag_spikes([20, 21, 20, 25], 3, 5) == []
assert flag_spikes([1, 2], 2, 0.5) == []
assert without_spikes(fill_gaps([None, 20, None, 21, 60, 20]), 3, 10) == [20, 20, 21, 20]
try:
    flag_spikes([1, 2, 3], 1, 1)
except ValueError:
    pass
else:
    raise AssertionError("a window of one was accepted")
