"""Usage of synthetic events: planted rates, shares and failures come out within intervals over users."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

import numpy as np
import pytest

from caretbench.people.telemetry.event_files import analyse_events
from caretbench.people.telemetry.event_table import EventTable, number_class
from caretbench.people.telemetry.events import CompletionEvent
from caretbench.people.telemetry.usage_analysis import ScenarioRow, UsageAnalysis, UserRate, UserRates, analyse_usage
from caretbench.suites.devbench.build.construction.build_folder import ConstructionOptions
from caretbench.suites.devbench.build.construction.scenario_grid import instances_per_cell
from caretbench.suites.usage_weights import read_weights
from tests.support.made_events import FEATURES, made_event
from tests.support.synthetic_events import (
    PLANTED,
    Planted,
    event_lines,
    expected_acceptance,
    expected_share,
    write_events,
)


def usage(count: int, users: int, planted: Planted = PLANTED, *, seed: int = 0) -> UsageAnalysis:
    table = EventTable()
    for line in event_lines(count, users, planted, seed=seed):
        table.add(CompletionEvent.model_validate_json(line))
    return analyse_usage(table)


def row(found: UsageAnalysis, dimension: str, value: str) -> ScenarioRow:
    [only] = [one for one in found.scenarios if (one.dimension, one.value) == (dimension, value)]
    return only


def holds(rate: UserRate, expected: float) -> bool:
    assert rate.low is not None
    assert rate.high is not None
    return rate.low <= expected <= rate.high


def planted_hits(found: UsageAnalysis, planted: Planted) -> list[bool]:
    """Return whether each planted number is in its interval."""
    hits = [holds(row(found, "block", name).share, expected_share(planted, name)) for name in planted.blocks]
    hits += [holds(row(found, "block", name).acceptance, expected_acceptance(planted, name)) for name in planted.blocks]
    hits += [holds(row(found, "language", name).survival, planted.kept) for name in planted.languages]
    rates = {one.kind: one.among_not_accepted for one in found.failures if one.dimension == "all"}
    return hits + [holds(rates[kind], rate) for kind, rate in planted.failures.items()]


def test_planted_numbers_are_within_their_intervals() -> None:
    hits = [hit for seed in range(4) for hit in planted_hits(usage(3_000, 80, seed=seed), PLANTED)]
    assert len(hits) == 68
    assert np.mean(hits) >= 0.88


def test_intervals_over_users_are_wider_than_over_events() -> None:
    """With users who differ much, events taken singly promise too much."""
    planted = PLANTED._replace(spread=2.0)
    rate = row(usage(3_000, 40, planted), "all", "all").acceptance
    assert rate.value is not None
    assert rate.low is not None
    assert rate.high is not None
    single = 2 * 1.96 * (rate.value * (1 - rate.value) / rate.events) ** 0.5
    assert rate.high - rate.low > 2.5 * single


@pytest.mark.long
def test_coverage_of_intervals() -> None:
    hits = [hit for seed in range(60) for hit in planted_hits(usage(1_500, 60, seed=100 + seed), PLANTED)]
    assert 0.92 <= np.mean(hits) <= 0.98


def test_known_rates() -> None:
    users = np.array([0, 0, 1, 2])
    rates = UserRates(users, 3)
    hits, among = np.array([True, False, True, True]), np.array([True, True, True, False])
    whole = np.zeros(4, dtype=np.int64)
    [rate] = rates.by_value(whole, 1, hits, among)
    assert (rate.value, rate.events, rate.users) == (2 / 3, 3, 2)
    [none] = rates.by_value(whole, 1, hits, np.zeros(4, dtype=bool))
    assert none == UserRate(value=None, low=None, high=None, events=0, users=0)
    assert [rate.value for rate in rates.by_value(np.array([0, 1, 1, 1]), 2, hits, among)] == [1.0, 0.5]
    assert [share.value for share in rates.shares(np.array([0, 1, 1, 1]), 2, among)] == [1 / 3, 2 / 3]


def test_number_classes() -> None:
    bounds = (1, 2, 5, 10)
    assert [number_class(number, bounds) for number in (0, 1, 2, 3, 5, 6, 10, 11)] == [
        "1", "1", "2", "3-5", "3-5", "6-10", "6-10", "11+",
    ]  # fmt: skip
    assert [number_class(number, (3, 5)) for number in (1, 3, 4, 6)] == ["1-3", "1-3", "4-5", "6+"]
    assert [number_class(number, (0, 5)) for number in (0, 1)] == ["0", "1-5"]


def test_the_folder_of_an_analysis(tmp_path: Path) -> None:
    events = write_events(tmp_path / "events.jsonl", 1_200, 30)
    progress: list[tuple[str, int]] = []
    found = analyse_events(events, tmp_path / "usage")
    analyse_events(events, tmp_path / "again", progress=lambda step, count, _: progress.append((step, count)))
    assert progress == [("analysed", 1_000)]
    summary = json.loads((tmp_path / "usage/summary.json").read_text())
    assert (summary["events"], summary["users"]) == (1_200, found.table.user_count)
    weights = read_weights(str(tmp_path / "usage/weights.toml"))
    assert weights.source == f"1200 events of {found.table.user_count} users"
    seen = row(found.usage, "block", "statement").share
    assert seen.value is not None
    assert weights.block.statement == pytest.approx(100 * seen.value, abs=1e-3)
    assert weights.block.while_ == 0
    assert sum(weights.language.values()) == pytest.approx(100)
    assert weights.scenario.full_block + weights.scenario.inner_block == pytest.approx(100)
    assert (weights.line.whole, weights.line.partial) == (1, 1)
    assert weights.category == {}
    counts = instances_per_cell(ConstructionOptions(weights=tmp_path / "usage/weights.toml", per_cell=10))
    assert sum(counts.values()) == 10 * len(counts)  # a build of DevBench takes the shares of the languages
    most = max(weights.language, key=lambda name: weights.language[name])
    assert max(counts, key=lambda cell: counts[cell])[0] == most
    again = analyse_events(events, tmp_path / "again")
    files = [sorted(path.read_text() for path in one.written[:3]) for one in (found, again)]
    assert files[0] == files[1]


def test_weights_are_written_with_their_intervals(tmp_path: Path) -> None:
    events = write_events(tmp_path / "events.jsonl", 300, 30)
    folder = tmp_path / 'our "usage" \U0001f600\x7f'
    found = analyse_events(events, folder)
    seen = row(found.usage, "block", "statement").share
    assert seen.value is not None
    assert seen.low is not None
    assert seen.high is not None
    lines = (folder / "weights.toml").read_text("utf-8").splitlines()
    known = f"statement = {100 * seen.value:.4f}  # {100 * seen.low:.2f} to {100 * seen.high:.2f}"
    assert known in lines
    assert "while = 0.0000" in lines
    assert read_weights(str(folder / "weights.toml")).name == folder.name


def test_values_without_examined_events_have_no_failures() -> None:
    table = EventTable()
    for number, language in enumerate(("python", "go", "python")):
        failures = None if language == "go" else ("wrong_name",)
        table.add(
            made_event(number=number, language=language, outcome="rejected", features=FEATURES | {"failures": failures})
        )
    found = analyse_usage(table)
    values = {one.value for one in found.failures if one.dimension == "language"}
    assert values == {"python"}
    assert all(one.share.events for one in found.failures)


def test_names_beyond_the_limit_are_one_value() -> None:
    table = EventTable()
    for number, line in enumerate(event_lines(100, 5)):
        event = CompletionEvent.model_validate_json(line)
        table.add(event.model_copy(update={"model": f"model-{number}"}))
    assert len(table.values("model")) == 61
    assert table.values("model")[-1] == "other"


@pytest.mark.long
def test_time_and_memory_of_many_events(tmp_path: Path) -> None:
    events = write_events(tmp_path / "events.jsonl", 200_000, 5_000)
    begin = time.process_time()
    analyse_events(events, tmp_path / "usage")
    assert time.process_time() - begin < 12  # 60 s for a million
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2e6
