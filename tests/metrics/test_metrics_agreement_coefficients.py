from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.agreement import (
    ItemStatistic,
    alpha_of_people,
    alpha_statistic,
    item_estimate,
    krippendorff_alpha,
)
from caretbench.metrics.intervals import Floats
from caretbench.metrics.kappa import cohen_statistic, equal_share, fleiss_kappa, fleiss_statistic


def test_krippendorffs_own_example() -> None:
    # "Computing Krippendorff's alpha-reliability" (2011), part C: four observers, twelve units.
    ratings: list[list[float | None]] = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert krippendorff_alpha(ratings) == pytest.approx(0.815, abs=5e-4)


def test_alpha_has_no_value_where_nothing_can_disagree() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1, 2, 3]]) is None
    assert krippendorff_alpha([[1, None], [None, 2]]) is None
    assert krippendorff_alpha([[2, 2], [2, 2]]) is None


def test_alpha_refuses_what_it_cannot_use() -> None:
    with pytest.raises(ValueError, match="every item"):
        krippendorff_alpha([[1, 2], [1]])
    with pytest.raises(ValueError, match="finite"):
        krippendorff_alpha([[1, float("inf")], [1, 2]])


@given(st.lists(st.integers(0, 5), min_size=2, max_size=30))
def test_alpha_is_one_where_all_agree(ratings: list[int]) -> None:
    assert krippendorff_alpha([ratings, ratings, ratings]) in (None, 1.0)


Table = list[list[float | None]]

TWO_PEOPLE: tuple[list[float], list[float]] = (
    [0.0] * 25 + [1.0] * 25,
    [0.0] * 20 + [1.0] * 5 + [0.0] * 10 + [1.0] * 15,
)
"""20 and 15 equal answers, 5 and 10 others: kappa is (0.7 - 0.5) / 0.5."""


def test_known_values_of_the_kappas() -> None:
    assert cohen_statistic(*TWO_PEOPLE).estimate == pytest.approx(0.4)
    # Two levels: quadratic weights are the same as none.
    assert cohen_statistic(*TWO_PEOPLE, "quadratic").estimate == pytest.approx(0.4)
    # Fleiss (1971) has a common distribution of both people: 55 of 100 are 0, chance gives 0.505.
    assert fleiss_kappa(list(TWO_PEOPLE)) == pytest.approx((0.7 - 0.505) / 0.495)
    assert equal_share(list(TWO_PEOPLE)) == pytest.approx(0.7)


def test_names_are_nominal_ratings() -> None:
    names = [["accept", "reject", "accept", None], ["accept", "reject", "reject", "accept"]]
    numbers: Table = [[0, 1, 0, None], [0, 1, 1, 0]]
    assert krippendorff_alpha(names, "nominal") == krippendorff_alpha(numbers, "nominal")
    with pytest.raises(ValueError, match="nominal"):
        krippendorff_alpha(names)


def test_items_with_too_few_ratings_do_not_count() -> None:
    whole: Table = [[1, 2, 3, 1], [1, 2, 2, 3], [1, 2, 3, 3]]
    gaps: Table = [[*row, 5.0 if place else None] for place, row in enumerate(whole)]
    assert fleiss_kappa(gaps) == fleiss_kappa(whole)
    assert equal_share([[1, None], [None, 1]]) is None


@pytest.mark.parametrize("undefined", [fleiss_kappa, krippendorff_alpha])
def test_agreement_is_undefined_where_all_give_one_answer(undefined: Callable[[Table], float | None]) -> None:
    assert undefined([[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]) is None
    assert cohen_statistic([3, 3], [3, 3]).estimate is None
    assert cohen_statistic([], []).estimate is None


def test_ratings_of_two_raters_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="paired"):
        cohen_statistic([1, 2], [1])


def random_table(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return ratings of 2 to 5 raters (rows), whole and with gaps (NaN)."""
    raters, items, levels = rng.integers(2, 6), rng.integers(3, 40), rng.integers(2, 7)
    truth = rng.integers(0, levels, items)
    agrees = rng.random((raters, items)) < rng.random()
    whole: Floats = np.where(agrees, truth, rng.integers(0, levels, (raters, items))).astype(np.float64)
    gaps = whole.copy()
    gaps[rng.random(gaps.shape) < 0.25] = np.nan
    return whole, gaps


def as_rows(table: Floats) -> Table:
    return [[None if np.isnan(value) else float(value) for value in row] for row in table]


@pytest.mark.long  # 11 CPU seconds; the examples above are of the same formulas
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the other libraries divide by zero where ours is undefined
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_thousand_tables_agree_with_other_libraries() -> None:
    # Here, since each worker of pytest imports all files: these cost 2 CPU seconds.
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as other_fleiss

    rng = np.random.default_rng(1)
    compared = 0
    for _ in range(1000):
        whole, gaps = random_table(rng)
        pairs: list[tuple[float | None, float]] = []
        for level in ("nominal", "ordinal", "interval"):
            try:
                other = float(krippendorff.alpha(gaps, level_of_measurement=level))
            except ValueError:  # one level, or no item with two ratings
                other = math.nan
            pairs.append((krippendorff_alpha(as_rows(gaps), level), other))  # type: ignore[arg-type]
        first, second = ([float(value) for value in row] for row in whole[:2])
        labels = list(range(7))
        pairs.append((cohen_statistic(first, second).estimate, cohen_kappa_score(first, second, labels=labels)))
        pairs.append((cohen_statistic(first, second, "quadratic").estimate,
                      cohen_kappa_score(first, second, labels=labels, weights="quadratic")))  # fmt: skip
        counts, _ = aggregate_raters(whole.T.astype(int), n_cat=7)
        pairs.append((fleiss_kappa(as_rows(whole)), float(other_fleiss(counts))))
        for ours, theirs in pairs:
            assert (ours is None) == math.isnan(theirs)
            assert ours is None or abs(ours - theirs) < 1e-9
            compared += ours is not None
    assert compared > 5800


def made_ratings(seed: int, items: int, noise: float) -> Floats:
    """Return ratings from 0 to 5 of three people with equal noise."""
    rng = np.random.default_rng(seed)
    return np.clip(np.rint(rng.normal(2.5, 1.2, items) + rng.normal(0, noise, (3, items))), 0, 5)


STATISTICS: Mapping[str, Callable[[Floats], ItemStatistic]] = {
    "nominal": lambda table: alpha_statistic(as_rows(table), "nominal"),
    "ordinal": lambda table: alpha_statistic(as_rows(table), "ordinal"),
    "interval": lambda table: alpha_statistic(as_rows(table), "interval"),
    "fleiss": lambda table: fleiss_statistic(as_rows(table)),
    "cohen": lambda table: cohen_statistic(list(table[0]), list(table[1])),
    "quadratic": lambda table: cohen_statistic(list(table[0]), list(table[1]), "quadratic"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("noise", [0.4, 1.0])
def test_intervals_hold_the_true_agreement(name: str, noise: float) -> None:
    statistic = STATISTICS[name]
    truth = statistic(made_ratings(0, 60_000, noise)).estimate
    assert truth is not None
    held = 0
    for seed in range(1, 1001):
        found = item_estimate(statistic(made_ratings(seed, 200, noise)), seed=seed, resamples=1000)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert 925 <= held <= 975


def test_alpha_of_people_is_that_of_the_table() -> None:
    values = {"t": {"x": 1.0, "y": 2.0}, "u": {"x": 3.0, "z": 3.0}, "v": {"y": 1.0, "z": 2.0}}
    table: Table = [[1.0, 3.0, None], [2.0, None, 1.0], [None, 3.0, 2.0]]
    assert alpha_of_people(values) == krippendorff_alpha(table)
    assert alpha_of_people({"t": {"x": 1.0}, "u": {"y": 0.0}}) is None
