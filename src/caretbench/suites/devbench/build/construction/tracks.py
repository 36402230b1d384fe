"""Tracks: the attempts at one scenario, the request that follows from them, and the tracks of the next round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from caretbench.problem import Problem
from caretbench.suites.devbench.build.construction.build_folder import (
    ConstructionOptions,
    InstanceAttempt,
    InstanceRequest,
    StoredAnswer,
)
from caretbench.suites.devbench.build.construction.scenario_grid import (
    Cell,
    GeneratorTemplate,
    instance_request,
    repeated_request,
    scenario,
    sibling_scenario,
)
from caretbench.suites.devbench.built_instances import BuiltInstance, Scenario

SHOWN_CHARACTERS: Final = 20_000
"""Characters of a faulty answer that are sent back."""
Answers = Mapping[tuple[str, str], StoredAnswer]
"""Stored answers by model and request."""


@dataclass
class Track:
    """Attempts at one scenario by some generators, in the order of the requests.

    Each generator gets one request and up to ``repairs`` retries, which quote the diagnosis; then the next generator
    follows. A rejection by reviewers resets all counts and starts with the generator of the rejected problem.
    """

    id: str
    scenario: Scenario
    generators: tuple[str, ...]
    requests: list[InstanceRequest] = field(default_factory=list)
    ends: dict[str, InstanceAttempt] = field(default_factory=dict)
    """The last end of each request, by its key."""

    @property
    def instance(self) -> str | None:
        """Id of the track's instance, if it has one."""
        last = self.ends.get(self.requests[-1].key) if self.requests else None
        return last.instance if last is not None and last.outcome == "instance" else None

    def pending(self) -> InstanceRequest | None:
        """Return the request whose answer has not been examined yet."""
        last = self.requests[-1] if self.requests else None
        return last if last and last.key not in self.ends and last.generator in self.generators else None

    def next_generator(self, repairs: int) -> tuple[str, InstanceRequest | None] | None:
        """Return the next generator, and its request that failed, if it is asked again; None if all have failed."""
        recent, rejected = self._recent()
        order = list(self.generators)
        # Scenarios begin with the generators in turn, so that each writes the same number; after a rejection the one
        # that knows the instance tries first.
        first = rejected.generator if rejected is not None else order[(self.scenario.number - 1) % len(order)]
        if first in order:
            order = order[order.index(first) :] + order[: order.index(first)]
        for name in order:
            asked = [request for request in recent if request.generator == name]
            if len(asked) <= repairs:
                before = [rejected] if rejected is not None and rejected.generator == name else []
                return name, next(reversed(before + asked), None)
        return None

    def requests_left(self, repairs: int) -> int:
        """Return the largest number of answers that the track may still need; 0 if it has an instance."""
        if self.instance is not None:
            return 0
        recent, _ = self._recent()
        asked = Counter(request.generator for request in recent)
        return sum(max(0, 1 + repairs - asked[name]) for name in self.generators)

    def _recent(self) -> tuple[list[InstanceRequest], InstanceRequest | None]:
        """Return the examined requests since the last rejection, and the request of the rejected instance."""
        recent: list[InstanceRequest] = []
        rejected = None
        for request in self.requests:
            end = self.ends.get(request.key)
            if end is not None and end.outcome == "rejected":
                recent, rejected = [], request
            elif end is not None:
                recent.append(request)
        return recent, rejected

    def is_open(self, repairs: int) -> bool:
        """Return whether the track has no instance, and a generator may still be asked."""
        return self.instance is None and (self.pending() is not None or self.next_generator(repairs) is not None)

    def next_request(
        self,
        repairs: int,
        template: GeneratorTemplate,
        existing: Sequence[str],
        answers: Answers,
        original: Problem | None = None,
    ) -> InstanceRequest | None:
        """Return the request to send: the pending one, or a new one; None if all generators have failed."""
        if (waiting := self.pending()) is not None:
            return waiting
        following = self.next_generator(repairs)
        if following is None:
            return None
        name, failed = following
        if failed is None:
            prompt = instance_request(template, self.scenario, existing, original)
        else:
            answer = answers.get((name, failed.key))
            # Only the first request and the last answer: with all attempts in it, the conversation would grow by a
            # program each time.
            first = failed.prompt.model_copy(update={"messages": failed.prompt.messages[:2]})
            text = (answer.text or "")[:SHOWN_CHARACTERS] if answer is not None else ""
            prompt = repeated_request(template, first, text, self.ends[failed.key].detail)
        number = len(self.requests) + 1
        request = InstanceRequest(
            key=f"{self.id}#{number}",
            track=self.id,
            scenario=self.scenario,
            generator=name,
            attempt=number,
            prompt=prompt,
        )
        self.requests.append(request)
        return request


def read_tracks(
    requests: Iterable[InstanceRequest], ends: Iterable[InstanceAttempt], generators: Sequence[str]
) -> dict[str, Track]:
    """Return the tracks of a folder by id; a track of one generator (``…@NAME``) stays with it."""
    tracks: dict[str, Track] = {}
    for request in requests:
        track = tracks.get(request.track)
        if track is None:
            of_track = (request.generator,) if "@" in request.track else tuple(generators)
            track = tracks[request.track] = Track(request.track, request.scenario, of_track)
        # A kill between two appends may repeat a row.
        if all(earlier.key != request.key for earlier in track.requests):
            track.requests.append(request)
    for end in ends:
        if end.track in tracks:
            tracks[end.track].ends[end.request] = end
    return tracks


ROUND_PER_CELL: Final = 5
"""Largest number of requests of a cell in one round; the next round shows their instances."""


@dataclass
class TrackList:
    """Tracks of a folder by id.

    The number of instances per cell applies to all generators together, or with ``every_generator`` to each: a
    *counter* is one of these. The id of a track of one generator ends with ``@GENERATOR``.
    """

    options: ConstructionOptions
    generators: tuple[str, ...]
    counts: Mapping[Cell, int]
    seed: int
    tracks: dict[str, Track] = field(default_factory=dict)

    def is_rejected(self, row: BuiltInstance) -> bool:
        """Return whether people rejected an instance, as its track says."""
        track = self.tracks.get(row.track)
        ends = track.ends.values() if track is not None else ()
        return any(end.outcome == "rejected" and (end.instance, end.attempt) == (row.id, row.attempts) for end in ends)

    def rejected_names(self, scenario_id: str) -> list[str]:
        """Return the names in the twin index of rejected instances of a scenario."""
        return [
            f"rejected/{end.instance}-{end.attempt}"
            for track in self.tracks.values()
            if track.scenario.id == scenario_id
            for end in track.ends.values()
            if end.outcome == "rejected"
        ]

    def end(self, row: InstanceAttempt) -> None:
        """Store the end of an attempt in its track."""
        self.tracks[row.track].ends[row.request] = row

    @property
    def counters(self) -> tuple[str, ...]:
        """Generators whose instances are counted apart; one empty name if they are counted together."""
        return self.generators if self.options.every_generator else ("",)

    def instance_count(self, cell: Cell, counter: str, instances: Iterable[BuiltInstance]) -> int:
        """Return the number of instances of a cell, siblings not counted."""
        return sum(1 for row in _originals(cell, instances) if counter in {"", row.generator})

    def expected(self, instances: Iterable[BuiltInstance]) -> tuple[int, int]:
        """Return the least and the largest number of requests that are still needed.

        The least is one for each instance that is missing; the largest all repairs of all generators, and all scenarios
        that may be drawn.
        """
        rows, least, most = list(instances), 0, 0
        for cell, count in self.counts.items():
            originals = _originals(cell, rows)
            for counter in self.counters:
                turns = (1 if counter else len(self.generators)) * (1 + self.options.repairs)
                missing = max(0, count - self.instance_count(cell, counter, rows))
                of_cell = [track for track in self.tracks.values() if _belongs(track, cell, counter)]
                if missing:
                    drawn = max((track.scenario.number for track in of_cell), default=0)
                    left = sum(track.requests_left(self.options.repairs) for track in of_cell)
                    least += missing
                    most += left + max(0, self.options.patience * count - drawn) * turns
                if self.options.siblings:
                    existing = [row for row in originals if counter in {"", row.generator}]
                    tracks = [self.tracks.get(f"{row.track}-sibling") for row in existing]
                    siblings = [track for track in tracks if track is not None]
                    least += missing + len(tracks) - sum(track.instance is not None for track in siblings)
                    most += sum(track.requests_left(self.options.repairs) for track in siblings)
                    most += (missing + len(tracks) - len(siblings)) * turns
        return least, most

    def open_tracks(self, cell: Cell, instances: Iterable[BuiltInstance]) -> list[Track]:
        """Return the tracks of a cell to go on with: open ones, then new ones, as many as instances are missing."""
        rows = list(instances)
        return [
            track
            for counter in self.counters
            for track in (*self._main_tracks(cell, counter, rows), *self._sibling_tracks(cell, counter, rows))
        ]

    def _main_tracks(self, cell: Cell, counter: str, rows: Sequence[BuiltInstance]) -> list[Track]:
        # At most five of a cell at a time, since the next requests list what these have become.
        missing = max(0, min(self.counts[cell] - self.instance_count(cell, counter, rows), ROUND_PER_CELL))
        existing = [track for track in self.tracks.values() if _belongs(track, cell, counter)]
        tracks = [track for track in existing if track.is_open(self.options.repairs)][:missing]
        drawn = max((track.scenario.number for track in existing), default=0)
        limit = self.options.patience * self.counts[cell]
        # Without a limit a cell whose rules a generator never meets would be paid for without end.
        while len(tracks) < missing and drawn < limit:
            drawn += 1
            tracks.append(self._new_track(cell, drawn, counter))
        return tracks

    def _new_track(self, cell: Cell, number: int, counter: str) -> Track:
        drawn = scenario(*cell, number, self.seed)
        name = f"{drawn.id}@{counter}" if counter else drawn.id
        track = self.tracks[name] = Track(name, drawn, (counter,) if counter else self.generators)
        return track

    def _sibling_tracks(self, cell: Cell, counter: str, rows: Sequence[BuiltInstance]) -> list[Track]:
        if not self.options.siblings:
            return []
        tracks = []
        for row in _originals(cell, rows):
            if counter not in {"", row.generator}:
                continue
            name = f"{row.track}-sibling"
            if name not in self.tracks:
                # Counted by generator, a sibling by another one would compare two generators, not two programs.
                generators = (row.generator,) if counter else self.generators
                self.tracks[name] = Track(name, sibling_scenario(row.scenario, row.id), generators)
            if self.tracks[name].is_open(self.options.repairs):
                tracks.append(self.tracks[name])
        return tracks[:ROUND_PER_CELL]


def _originals(cell: Cell, instances: Iterable[BuiltInstance]) -> list[BuiltInstance]:
    name = "/".join(cell)
    return [row for row in instances if row.scenario.cell == name and not row.scenario.sibling_of]


def _belongs(track: Track, cell: Cell, counter: str) -> bool:
    """Return whether a track, no sibling's, counts for a cell and a counter."""
    is_counted = track.generators == (counter,) if counter else "@" not in track.id
    return track.scenario.cell == "/".join(cell) and is_counted and not track.scenario.sibling_of
