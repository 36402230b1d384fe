"""Options of a build, whose hash is part of every problem's id."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from caretbench.files import sha256_json
from caretbench.problem import Profile, Row
from caretbench.suites.efcb.problem_metadata import EasyTier, EfcbProfile, QueryVariant, efcb_profile


class Query(NamedTuple):
    """The text that describes a change in a question, and its variant."""

    variant: QueryVariant
    text: str


class EfcbOptions(Row):
    """Build options that all EFCB tasks share.

    ``rotations`` is the number of cyclic orders of the choices. The first order is the same for every number, so it is
    not part of the configuration's hash.
    """

    seed: int = 0
    profile: Profile = "default"
    rotations: int = Field(default=1, ge=1, le=4)

    @property
    def rules(self) -> EfcbProfile:
        """Rules of the profile."""
        return efcb_profile(self.profile)

    @property
    def configuration_hash(self) -> str:
        """Hash of all options that change the problems."""
        return sha256_json(self.model_dump(mode="json", exclude={"rotations"}))


class ChoiceOptions(EfcbOptions):
    """Options of multiple-choice tasks; empty ``queries`` means those of the profile."""

    queries: tuple[QueryVariant, ...] = ()

    @property
    def query_variants(self) -> tuple[QueryVariant, ...]:
        """The query variants; lexical scores use the first one."""
        return self.queries or self.rules.choice_queries


class EasyOptions(ChoiceOptions):
    """Options of GMCQ-Easy; empty ``tiers`` means those of the profile.

    ``window`` and ``wide_window`` are the maximum distance of two choices in the order of merges; the wide one is for
    the tiers ``same_file`` and ``adversarial``. The ratio of two choices' lines is between ``smallest`` and
    ``largest``.
    """

    tiers: tuple[EasyTier, ...] = ()
    window: int = Field(default=300, ge=3)
    wide_window: int = Field(default=1250, ge=3)
    smallest: float = Field(default=0.5, gt=0, le=1)
    largest: float = Field(default=2.0, ge=1)

    @property
    def selected_tiers(self) -> tuple[EasyTier, ...]:
        """The tiers to build."""
        return self.tiers or self.rules.easy_tiers
