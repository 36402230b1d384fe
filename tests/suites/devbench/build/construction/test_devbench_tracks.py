from __future__ import annotations

from caretbench.suites.devbench.build.construction.build_folder import (
    ConstructionOptions,
    InstanceRequest,
    StoredAnswer,
)
from caretbench.suites.devbench.build.construction.instance_store import attempt_end
from caretbench.suites.devbench.build.construction.scenario_grid import instances_per_cell, read_template, scenario
from caretbench.suites.devbench.build.construction.tracks import ROUND_PER_CELL, Track, TrackList, read_tracks

TEMPLATE = read_template()
CELL = ("go", "low_context")


def track(number: int = 1, *generators: str) -> Track:
    drawn = scenario(*CELL, number, 1)
    return Track(drawn.id, drawn, generators or ("one", "two"))


def ask(found: Track, repairs: int = 1) -> InstanceRequest | None:
    answers = {
        (one.generator, one.key): StoredAnswer(role="generator", request=one.key, model=one.generator, text="{odd}")
        for one in found.requests
    }
    return found.next_request(repairs, TEMPLATE, [], answers)


def end(found: Track, outcome: str, detail: str = "bad") -> None:
    request = found.requests[-1]
    row = attempt_end(
        request, outcome, detail, instance="go/low_context/x" if outcome in {"instance", "rejected"} else None
    )
    found.ends[row.request] = row


def test_a_fault_is_asked_once_more_with_its_diagnosis_and_then_the_next_generator_has_its_turn() -> None:
    found = track()
    seen = []
    while (request := ask(found)) is not None:
        seen.append((request.generator, len(request.prompt.messages)))
        end(found, "malformed", "no JSON")
    assert seen == [("one", 2), ("one", 4), ("two", 2), ("two", 4)]
    assert "no JSON" in found.requests[1].prompt.messages[-1].text
    assert "{odd}" in found.requests[1].prompt.messages[-2].text
    assert not found.is_open(1)
    assert found.instance is None


def test_scenarios_begin_with_each_generator_in_turn() -> None:
    first = [ask(track(number)) for number in (1, 2, 3)]
    assert [request.generator for request in first if request] == ["one", "two", "one"]


def test_a_pending_request_is_sent_as_it_is_stored() -> None:
    found = track()
    request = ask(found)
    assert ask(found) == request
    again = read_tracks([request, request], [], ["one", "two"])[found.id]  # type: ignore[list-item]
    assert again.pending() == request
    assert len(again.requests) == 1
    assert read_tracks([request], [], ["three"])[found.id].pending() is None  # type: ignore[list-item]


def test_a_rejection_reopens_a_track_with_the_author_and_the_reasons() -> None:
    found = track(2)
    ask(found)
    end(found, "instance")
    assert not found.is_open(1)
    end(found, "rejected", "reviewers rejected it: too simple")
    assert found.is_open(1)
    request = ask(found)
    assert request is not None
    assert request.generator == "two"
    assert "too simple" in request.prompt.messages[-1].text
    end(found, "text")
    assert ask(found).generator == "two"  # type: ignore[union-attr]
    end(found, "text")
    assert ask(found).generator == "one"  # type: ignore[union-attr]


def test_a_cell_draws_scenarios_until_its_patience_ends() -> None:
    options = ConstructionOptions(languages=("go",), categories=("low_context",), per_cell=7, patience=2, repairs=0)
    tracks = TrackList(options, ("one",), instances_per_cell(options), 1)
    numbers = []
    for _ in range(20):
        opened = tracks.open_tracks(CELL, [])
        assert len(opened) <= ROUND_PER_CELL
        for found in opened:
            numbers.append(found.scenario.number)
            ask(found, 0)
            end(found, "text")
    assert sorted(numbers) == list(range(1, 15))


def test_with_every_generator_each_has_the_same_scenarios() -> None:
    options = ConstructionOptions(languages=("go",), categories=("low_context",), per_cell=2, every_generator=True)
    tracks = TrackList(options, ("one", "two"), instances_per_cell(options), 1)
    opened = tracks.open_tracks(CELL, [])
    assert [(found.scenario.number, found.generators) for found in opened] == [
        (1, ("one",)), (2, ("one",)), (1, ("two",)), (2, ("two",)),
    ]  # fmt: skip
    assert len({found.id for found in opened}) == 4
