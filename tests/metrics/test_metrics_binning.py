"""Raw distances into parts, and the paper's interval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.binning import bin_index, bin_title, quantile_bounds
from caretbench.metrics.intervals import bootstrap_mean, parametric_bootstrap, plus_minus, wilson


def test_terciles_end_at_values_and_hold_equal_parts() -> None:
    values = [float(number) for number in range(1, 10)]
    bounds = quantile_bounds(values)
    assert bounds == (3.0, 6.0)
    assert [bin_index(value, bounds) for value in values] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [bin_title(number, bounds) for number in range(3)] == ["up to 3", "above 3 up to 6", "above 6"]


def test_ties_leave_fewer_parts() -> None:
    assert quantile_bounds([1.0] * 5) == ()
    assert bin_title(0, ()) == "all"
    assert quantile_bounds([1.0, 1.0, 1.0, 2.0]) == (1.0,)
    with pytest.raises(ValueError, match="need values"):
        quantile_bounds([])


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(2, 5))
def test_every_part_holds_something(values: list[int], parts: int) -> None:
    bounds = quantile_bounds(values, parts)
    held = {bin_index(value, bounds) for value in values}
    assert held == set(range(len(bounds) + 1))
    assert all(bin_index(low, bounds) <= bin_index(high, bounds) for low in values for high in values if low <= high)


@pytest.mark.parametrize(
    ("passed", "trials", "printed"),
    [
        (300, 382, ("78.5 ± 4.1", "78.5 ± 4.1")),
        (148, 212, ("69.8 ± 6.2", "69.8 ± 6.1")),
        (221, 283, ("78.1 ± 4.8", "78.1 ± 4.8")),
        (157, 286, ("54.9 ± 5.7", "54.9 ± 5.7")),
    ],
)
def test_rates_print_as_the_paper_has_them(passed: int, trials: int, printed: tuple[str, str]) -> None:
    drawn = parametric_bootstrap(passed, trials, seed=0)
    assert drawn == parametric_bootstrap(passed, trials, seed=0)
    assert drawn != parametric_bootstrap(passed, trials, seed=1)
    mean = (drawn.low + drawn.high) / 2  # what the paper prints in place of the rate
    assert f"{100 * mean:.1f}" == printed[0].split()[0]
    rate = passed / trials
    assert (plus_minus(rate, drawn), plus_minus(rate, wilson(passed, trials))) == printed


def test_300_of_382_prints_the_same_under_the_bootstrap_over_problems() -> None:
    interval = bootstrap_mean([1.0] * 300 + [0.0] * 82, seed=0, method="percentile")
    assert plus_minus(300 / 382, interval) == "78.5 ± 4.1"


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="no proportion"):
        parametric_bootstrap(2, 1, seed=0)
    with pytest.raises(ValueError, match="resamples"):
        parametric_bootstrap(1, 1, seed=0, resamples=0)
