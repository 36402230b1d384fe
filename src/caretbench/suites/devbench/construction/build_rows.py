"""Rows of a build: requests, attempts and instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from caretbench.models import ChatPrompt
from caretbench.problem import SCHEMA_VERSION, Row
from caretbench.suites.devbench.construction.scenario_grid import Scenario
from caretbench.suites.devbench.construction.shown_texts import quoted_line

SUMMARY_CHARACTERS: Final = 120
"""Maximum number of characters of a justification in the requests of the same cell."""
LONGEST_SUMMARY: Final = 400
"""Largest number of characters of such a line: id, domain, construct and justification."""

AttemptOutcome = Literal[
    "instance", "empty", "cut_off", "refused", "malformed", "text", "twin", "gate", "unverified", "rejected"
]
"""End of an attempt. ``text``: a check of the text failed; ``gate``: the program, or a wrong answer to it, did;
``unverified``: this machine cannot run it; ``rejected``: people rejected the instance."""


def _instance_id(name: str) -> str:
    parts = name.split("/")
    if len(parts) != 3 or any(not part or part.startswith(".") or "\\" in part or "\x00" in part for part in parts):
        raise ValueError(f"{name!r} is no id of an instance: expected LANGUAGE/CATEGORY/NAME")
    return name


InstanceId = Annotated[str, AfterValidator(_instance_id)]
"""Language, category and name; a path of a file below the folder."""


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


class BuiltInstance(Row):
    """One instance of a built set: a line of ``instances.jsonl``; its program is the file of the same id.

    ``attempts`` and ``cost`` (US dollars, None where no price is known) cover its scenario up to this instance.
    ``kind``, ``band``, ``boundary`` and ``mode`` are measured; the requested ones are in the scenario. ``text_hash`` is
    that of the file when it was checked. ``sibling`` is the id of the instance with the same shape.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    id: InstanceId
    track: str
    scenario: Scenario
    generator: str
    generator_family: str
    prompt_version: str
    attempts: int
    cost: float | None
    justification: str
    library: str
    kind: str
    band: str
    boundary: str
    mode: str
    checks: Mapping[str, str]
    killed_by: str = ""
    """The wrong answer that the assertions found."""
    licence: str | None = None
    created: str
    sibling: str | None = None
    text_hash: str
    problem_hash: str
    """Hash of the texts that people review."""

    @property
    def summary(self) -> str:
        """One line for the requests of the same cell; the justification, which a model wrote, is quoted."""
        words = quoted_line(self.justification, SUMMARY_CHARACTERS)
        return f"{self.id.rpartition('/')[2]} ({self.scenario.domain}; {self.scenario.language_construct}): {words}"


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
