"""Answers that hide checks, as data: one file a language below ``forgeries/``.

``frames``: a program in parts, ``before`` and ``after`` the caret, with the ``reference`` answer. ``forgeries``: wrong
answers to a frame that pass all the same, because the check behind the caret does not run; each must be flagged. With
``passes = false`` the answer ends in another way, and is flagged too. ``honest``: right answers, which must pass
without a flag.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

FOLDER = Path(__file__).with_name("forgeries")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Frame(_Entry):
    """A program without its answer."""

    before: str
    reference: str
    after: str

    def program(self, answer: str) -> str:
        """The whole program."""
        return self.before + answer + self.after


class Forgery(_Entry):
    """One answer."""

    frame: str
    answer: str
    passes: bool = True


class Forgeries(_Entry):
    """The answers of one language."""

    language: str
    frames: dict[str, Frame]
    forgeries: dict[str, Forgery]
    honest: dict[str, Forgery]


def tables() -> dict[str, Forgeries]:
    """Return all tables by language."""
    found = (Forgeries.model_validate(tomllib.loads(path.read_text("utf-8"))) for path in sorted(FOLDER.glob("*.toml")))
    return {table.language: table for table in found}
