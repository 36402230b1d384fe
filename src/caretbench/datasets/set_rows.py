"""Rows of a built set that a release reads: instances, attempts and answers. Fields of other programs are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import ConfigDict, Field, JsonValue

from caretbench.problem import Latency, Row

INSTANCES_FILE: Final = "instances.jsonl"
ATTEMPTS_FILE: Final = "attempts.jsonl"
MANIFEST_FILE: Final = "manifest.json"
ACCEPTED: Final = "instance"
"""Outcome of an attempt that became an instance."""
OK: Final = "ok"
"""Result of a check without a fault."""


class OpenRow(Row):
    """Base of rows that another program writes: fields that are not named here are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)


class InstanceRow(OpenRow):
    """One instance: a line of ``instances.jsonl``, or a problem about which nothing is known.

    ``sibling`` is the id of the instance with the same shape in another domain.
    """

    id: str = Field(min_length=1)
    scenario: Mapping[str, JsonValue] = Field(default_factory=dict)
    generator: str | None = None
    generator_family: str | None = None
    prompt_version: str | int | None = None
    attempts: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)
    checks: Mapping[str, str] = Field(default_factory=dict)
    licence: str | None = None
    sibling: str | None = None
    created: str | None = None


class AttemptRow(OpenRow):
    """One attempt: a line of ``attempts.jsonl``; its outcome is :data:`ACCEPTED` or the reason of its rejection."""

    scenario: str = ""
    cell: str = ""
    generator: str = ""
    outcome: str


class AnswerCost(OpenRow):
    """Cost in US dollars and seconds of one answer: a line of ``asked.jsonl``, whose text is never released."""

    model: str = ""
    cost: float | None = None
    latency: Latency | None = None
