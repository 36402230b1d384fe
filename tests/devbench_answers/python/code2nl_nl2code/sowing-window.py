"""Sowing calendar of an allotment garden."""

from datetime import date, timedelta

WEEK = timedelta(weeks=1)
CROPS = {"peas": (3, 10), "beans": (0, 9), "kale": (2, 18)}
"""Hardiness and weeks until the harvest, by crop."""


def season_days(first: date, last: date) -> int:
    """Count the days of a season.

    Args:
        first: First day of the season.
        last: Last day of the season; it counts too.

    Returns:
        The number of days, 0 for a season that ends before it begins.
    """
    return max((last - first).days + 1, 0)


def sowing_window(last_frost: date, hardiness: int, weeks_to_harvest: int, first_frost: date) -> tuple[date, date]:
⟦    """Compute the days between which a crop can be sown outdoors.

    The window opens on the last day of frost in spring, one week earlier for each step of hardiness, and closes
    when the crop can only just be harvested before the frost returns in autumn.

    Args:
        last_frost: Last day of frost in spring.
        hardiness: How many weeks of cold before that day the seedlings survive.
        weeks_to_harvest: How long the crop grows.
        first_frost: First day of frost in autumn.

    Returns:
        The first and the last day for sowing, both included.

    Raises:
        ValueError: The summer is too short for the crop.
    """
⟧    opens = last_frost - hardiness * WEEK
    closes = first_frost - weeks_to_harvest * WEEK
    if closes < opens:
        raise ValueError(f"{weeks_to_harvest} weeks do not fit between {opens} and {first_frost}")
    return opens, closes


def days_left(today: date, window: tuple[date, date]) -> int:
    """Return the days that are left for sowing, today included."""
    return season_days(max(today, window[0]), window[1])
⟦tests⟧
assert sowing_window.__doc__, "the function has no docstring"
peas = sowing_window(date(2023, 5, 11), 3, 10, date(2023, 10, 1))
assert peas == (date(2023, 4, 20), date(2023, 7, 23))
assert sowing_window(date(2023, 5, 11), *CROPS["peas"], date(2023, 10, 1)) == peas
assert days_left(date(2023, 1, 1), peas) == 95
assert days_left(date(2023, 7, 22), peas) == 2
assert days_left(date(2023, 7, 24), peas) == 0
tight = sowing_window(date(2023, 5, 1), 0, 4, date(2023, 5, 29))
assert tight == (date(2023, 5, 1), date(2023, 5, 1))
try:
    sowing_window(date(2023, 5, 2), 0, 4, date(2023, 5, 29))
except ValueError as error:
    assert "4 weeks" in str(error)
else:
    raise AssertionError("a summer that is too short was accepted")
