"""Tracks: the attempts at one scenario, and the request that follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from caretbench.problem import Problem
from caretbench.suites.devbench.build.construction.build_folder import StoredAnswer
from caretbench.suites.devbench.build.construction.build_rows import InstanceAttempt, InstanceRequest
from caretbench.suites.devbench.build.construction.generator_prompt import (
    GeneratorTemplate,
    instance_request,
    repeated_request,
)
from caretbench.suites.devbench.built_instances import Scenario

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
        last = self._last_end()
        return last.instance if last is not None and last.outcome == "instance" else None

    def _last_end(self) -> InstanceAttempt | None:
        return self.ends.get(self.requests[-1].key) if self.requests else None

    def pending(self) -> InstanceRequest | None:
        """Return the request whose answer has not been examined yet."""
        if self.requests and self.requests[-1].key not in self.ends and self.requests[-1].generator in self.generators:
            return self.requests[-1]
        return None

    def next_generator(self, repairs: int) -> tuple[str, InstanceRequest | None] | None:
        """Return the next generator, and its request that failed, if it is asked again; None if all have failed."""
        recent, rejected = self._recent()
        order = list(self.generators)
        first = rejected.generator if rejected is not None else order[(self.scenario.number - 1) % len(order)]
        if first in order:
            order = order[order.index(first) :] + order[: order.index(first)]
        for name in order:
            own = [request for request in recent if request.generator == name]
            if len(own) <= repairs:
                failed = own[-1] if own else rejected if rejected is not None and rejected.generator == name else None
                return name, failed
        return None

    def requests_left(self, repairs: int) -> int:
        """Return the largest number of answers that the track may still need; 0 if it has an instance."""
        if self.instance is not None:
            return 0
        recent, _ = self._recent()
        return sum(max(0, 1 + repairs - sum(one.generator == name for one in recent)) for name in self.generators)

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
    found: dict[str, Track] = {}
    for request in requests:
        track = found.get(request.track)
        if track is None:
            own = (request.generator,) if "@" in request.track else tuple(generators)
            track = found[request.track] = Track(request.track, request.scenario, own)
        if all(one.key != request.key for one in track.requests):
            track.requests.append(request)
    for end in ends:
        if end.track in found:
            found[end.track].ends[end.request] = end
    return found
