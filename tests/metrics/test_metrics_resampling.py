from __future__ import annotations

import numpy as np
import pytest

from caretbench.metrics.intervals import means_together, resampled_means, units_of


def test_units_of_single_problems() -> None:
    units = units_of([0.0, 1.0, 1.0])
    assert (units.number, units.problems, units.clustered, units.warning) == (3, 3, False, None)
    assert units.mean == pytest.approx(2 / 3)


def test_units_of_many_clusters() -> None:
    units = units_of([1.0, 0.0, *[0.5] * 20], clusters=["a", "a", *map(str, range(20))])
    assert (units.number, units.problems, units.clustered, units.warning) == (21, 22, True, None)
    assert sorted(units.sums) == [0.5] * 20 + [1.0]


def test_few_clusters_fall_back_to_overlap_groups() -> None:
    units = units_of([1.0, 2.0, 3.0, 4.0], ["a", "a", "b", "b"], ["1", "1", None, None])
    assert units.number == 3
    assert sorted(units.sums) == [3.0, 3.0, 4.0]
    assert units.warning is not None
    assert "2 clusters" in units.warning
    assert "overlap group" in units.warning


def test_few_clusters_without_overlap_groups_warn() -> None:
    units = units_of([1.0, 2.0, 3.0], ["a", "a", "b"])
    assert units.number == 2
    assert "too narrow" in (units.warning or "")


def test_clusters_of_one_problem_each_are_no_clusters() -> None:
    units = units_of([1.0, 2.0], ["a", "b"])
    assert not units.clustered
    assert units.warning is None


@pytest.mark.parametrize(
    ("values", "clusters"), [([], None), ([float("nan")], None), ([1.0], ["a", "b"]), ([[1.0]], None)]
)
def test_impossible_values_are_errors(values: list[float], clusters: list[str] | None) -> None:
    with pytest.raises(ValueError, match=r"problem|finite|labels"):
        units_of(values, clusters)


@pytest.mark.parametrize("levels", [6, 1000])
def test_both_ways_of_drawing_have_the_mean_and_spread_of_the_mean(levels: int) -> None:
    values = np.random.default_rng(1).integers(0, levels, 400) / (levels - 1)
    means = resampled_means(units_of(values), 20_000, 2)
    assert means.mean() == pytest.approx(values.mean(), abs=0.001)
    assert means.std() == pytest.approx(values.std() / 20, rel=0.03)


def test_means_of_many_sets_of_units_are_those_of_the_same_draws() -> None:
    rng = np.random.default_rng(3)
    clusters = [str(place // 3) for place in range(90)]
    family = [units_of(rng.random(90), clusters), units_of(rng.random(70)), units_of(rng.random(90), clusters)]
    together = dict(means_together(family, 500, 7))
    for place, units in enumerate(family):
        assert together[place] == pytest.approx(resampled_means(units, 500, 7))


def test_what_metrics_and_pairs_share_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    new = np.random.default_rng

    def counted(seed: int) -> np.random.Generator:
        drawn.append(seed)
        return new(seed)

    values = [new(number).random(count) for number in range(5) for count in (30, 300)]
    monkeypatch.setattr(np.random, "default_rng", counted)
    for one in values:
        resampled_means(units_of(one), 1_000, 77)
    assert len(drawn) <= 4  # today 4: two numbers of units twice; 10 without
