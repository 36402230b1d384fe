"""Rows of a build: requests, attempts and instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from caretbench.models import ChatPrompt
from caretbench.problem import SCHEMA_VERSION, Row
from caretbench.suites.devbench.build.construction.shown_texts import quoted_line
from caretbench.suites.devbench.built_instances import BuiltInstance, InstanceId, Scenario

SUMMARY_CHARACTERS: Final = 120
"""Maximum number of characters of a justification in the requests of the same cell."""
LONGEST_SUMMARY: Final = 400
"""Largest number of characters of such a line: id, domain, construct and justification."""

AttemptOutcome = Literal[
    "instance", "empty", "cut_off", "refused", "malformed", "text", "twin", "gate", "unverified", "rejected"
]
"""End of an attempt. ``text``: a check of the text failed; ``gate``: the program, or a wrong answer to it, did;
``unverified``: this machine cannot run it; ``rejected``: people rejected the instance."""


class InstanceRequest(Row):
    """One request to a generator: a line of ``requests.jsonl``, written before it is sent.

    A resumed build sends the same text, so that a stored answer is found again.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    key: str
    track: str
    scenario: Scenario
    generator: str
    attempt: int = Field(ge=1)
    prompt: ChatPrompt


class InstanceAttempt(Row):
    """The end of one attempt: a line of ``attempts.jsonl``.

    ``scenario`` is an id; ``request`` the key of the request; ``detail`` the diagnosis; ``checks`` have ``ok`` or a
    fault. ``instance`` is the id of the accepted or rejected instance. ``cost`` is in US dollars.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    request: str
    track: str
    scenario: str
    cell: str
    generator: str
    attempt: int
    outcome: AttemptOutcome
    detail: str = ""
    checks: Mapping[str, str] = Field(default_factory=dict)
    instance: InstanceId | None = None
    killed_by: str = ""
    cost: float | None = None
    seconds: float | None = None
    """Seconds from the request to the end of the answer."""


def summary_line(row: BuiltInstance) -> str:
    """Return one line for the requests of the same cell; the justification, which a model wrote, is quoted."""
    words = quoted_line(row.justification, SUMMARY_CHARACTERS)
    return f"{row.id.rpartition('/')[2]} ({row.scenario.domain}; {row.scenario.language_construct}): {words}"


class ConstructionManifest(Row):
    """Manifest of a built set: seed, canary, options of the last build, generators, yields, hours and cost.

    ``models`` are the ``-m`` options of the last build that had some. ``yields`` count attempts by cell and outcome.
    ``cost`` is in US dollars, None if that of an answer is unknown. ``request_hours`` are the sum of the waiting times
    of all requests, ``wall_hours`` the time of the builds.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    suite: str = "devbench"
    seed: int
    canary: str
    models: tuple[str, ...] = ()
    options: Mapping[str, object] = Field(default_factory=dict)
    instances: Mapping[str, int] = Field(default_factory=dict)
    yields: Mapping[str, Mapping[str, int]] = Field(default_factory=dict)
    cost: float | None = None
    request_hours: float = 0.0
    wall_hours: float = 0.0
    versions: Mapping[str, str] = Field(default_factory=dict)
