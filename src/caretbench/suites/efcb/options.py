"""What a build of the suite is made with; its hash stands in the id of every problem."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from pydantic import Field

from caretbench.files import sha256_json
from caretbench.problem import Profile, Row

QueryVariant = Literal["title_and_description", "title_only", "description_only", "scrubbed"]
"""How a change is asked for; ``queries.py`` says what each shows."""

DEFAULT_VARIANT: Final[QueryVariant] = "title_and_description"


class Query(NamedTuple):
    """The text that asks for a change, and which variant it is."""

    variant: QueryVariant
    text: str


class BuildOptions(Row):
    """Options that all tasks share; each task derives its own from them.

    ``rotations`` asks the same choices in so many cyclic orders. It changes no problem that is there without it, so
    it is no part of the configuration's hash.
    """

    seed: int = 0
    profile: Profile = "default"
    rotations: int = Field(default=1, ge=1, le=4)

    @property
    def configuration(self) -> str:
        """Hash of all options that change what is built."""
        return sha256_json(self.model_dump(mode="json", exclude={"rotations"}))
