"""Rows of a build's questions: ``asked.jsonl`` and ``errors.jsonl`` of its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from caretbench.files import read_rows
from caretbench.problem import SCHEMA_VERSION, Latency, Row, Usage

AskedKey = tuple[str, str, str, str, str]
"""Role, request, prompt, model, parameters."""


class _Question(Row):
    """The key of an answer. ``prompt`` and ``parameters`` are hashes, so that another text is another question."""

    schema_version: Literal[1] = SCHEMA_VERSION
    role: str
    request: str
    prompt: str
    model: str
    parameters: str

    @property
    def key(self) -> AskedKey:
        """The key."""
        return (self.role, self.request, self.prompt, self.model, self.parameters)


class BuildAnswer(_Question):
    """One answer of a model that helps to build: a line of ``asked.jsonl``.

    ``parameters`` is the hash of ``settings``: sampling and the client's identity. ``cost`` is in US dollars.
    """

    settings: Mapping[str, JsonValue]
    text: str | None
    finish_reason: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    latency: Latency | None = None


class MissingBuildAnswer(_Question):
    """An answer that did not come: a line of ``errors.jsonl`` of a build; the next call asks again."""

    kind: str
    message: str
    attempts: int = 1


class AskedFiles:
    """The two files in the folder of a build."""

    def __init__(self, folder: Path) -> None:
        self.answers_path = folder / "asked.jsonl"
        self.errors_path = folder / "errors.jsonl"

    def answers(self) -> Iterator[BuildAnswer]:
        """Yield the stored answers.

        Raises:
            DataError: a line is malformed.
        """
        if self.answers_path.exists():
            yield from read_rows(self.answers_path, BuildAnswer, torn_tail=True)
