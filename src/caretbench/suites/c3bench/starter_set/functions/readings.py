"""Readings of sensors: smoothing, gaps and limits."""


def count_above(readings: list[float], limit: float) -> int:
    """Return the number of readings above a limit."""
    count = 0
    for reading in readings:
        if reading > limit:
            count += 1
    return count


def largest_jump(readings: list[int]) -> int:
    """Return the largest difference between neighbouring readings; 0 for fewer than two."""
    largest = 0
    for first, second in zip(readings, readings[1:]):
        jump = abs(second - first)
        if jump > largest:
            largest = jump
    return largest


def moving_average(readings: list[float], width: int) -> list[float]:
    """Return the means of all windows of a width; empty if the width is below 1."""
    if width < 1:
        return []
    means = []
    for start in range(len(readings) - width + 1):
        window = readings[start : start + width]
        means.append(sum(window) / width)
    return means


def fill_gaps(readings: list[int | None], default: int) -> list[int]:
    """Return the readings with every gap filled by the last known reading, or by a default at the beginning."""
    filled = []
    last = default
    for reading in readings:
        if reading is not None:
            last = reading
        filled.append(last)
    return filled


def clamp_all(readings: list[int], low: int, high: int) -> list[int]:
    """Return the readings with each moved into the range from low to high."""
    clamped = []
    for reading in readings:
        clamped.append(min(max(reading, low), high))
    return clamped


def first_alarm(readings: list[int], limit: int) -> int:
    """Return the position of the first reading above a limit, or -1."""
    for position, reading in enumerate(readings):
        if reading > limit:
            return position
    return -1


def longest_rise(readings: list[int]) -> int:
    """Return the length of the longest run in which each reading is above the one before."""
    if not readings:
        return 0
    longest = 1
    current = 1
    for position in range(1, len(readings)):
        if readings[position] > readings[position - 1]:
            current += 1
        else:
            current = 1
        if current > longest:
            longest = current
    return longest


def level_of(reading: int) -> str:
    """Return the name of a level: off, low, normal or high."""
    if reading <= 0:
        return "off"
    elif reading < 10:
        return "low"
    elif reading < 50:
        return "normal"
    else:
        return "high"


def squared_sum(readings: list[int]) -> int:
    """Return the sum of the squares of all readings."""
    total = 0
    for reading in readings:
        total += reading * reading
    return total


def positive_readings(readings: list[int]) -> list[int]:
    """Return the readings above zero, in their order."""
    positive = []
    for reading in readings:
        if reading > 0:
            positive.append(reading)
    return positive
