"""Options of a build, whose hash is part of every problem's id, and the rules of EFCB's profiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from pydantic import Field

from caretbench.files import sha256_json
from caretbench.problem import Profile, Row
from caretbench.profiles import ProfileRule, ProfileRules
from caretbench.suites.efcb.efcb_score import EASY_TASK, HARD_TASK, MASKED_TASK

QueryVariant = Literal["title_and_description", "title_only", "description_only", "scrubbed"]
"""Text that describes the change in a question; ``change_queries.py`` explains the variants."""

DEFAULT_VARIANT: Final[QueryVariant] = "title_and_description"


EasyTier = Literal["random", "matched", "adversarial", "resistant"]
"""Difficulty of GMCQ-Easy, by the selection of the wrong choices."""


class Query(NamedTuple):
    """The text that describes a change in a question, and its variant."""

    variant: QueryVariant
    text: str


class EfcbProfile(ProfileRules):
    """Rules of EFCB's profiles: construction of questions, and parsing of answers."""

    policy = ProfileRule("Default truncation policy", paper="raw", default="raw")
    cleans_descriptions = ProfileRule(
        "Description of a change",
        paper=False,
        default=True,
        said=("by title and description as written", "without templates, trailers, references and marks of the review"),
    )
    shows_generated_files = ProfileRule("Generated files shown", paper=True, default=False)
    additional_filters = ProfileRule(
        "Accepted changes",
        paper=False,
        default=True,
        said=(
            "those of readable length with a description",
            "the same, without bots, reverts, releases, backports, near-duplicates and changes with little prose",
        ),
    )
    easy_tiers = ProfileRule[tuple[EasyTier, ...]](
        "Tiers of GMCQ-Easy", paper=("random",), default=("random", "matched", "adversarial", "resistant")
    )
    # The paper's release shows only the description; according to the paper the title is shown, too.
    choice_queries = ProfileRule[tuple[QueryVariant, ...]](
        "Query variants of choices", paper=("description_only", "title_and_description"), default=(DEFAULT_VARIANT,)
    )
    balanced_choices = ProfileRule(
        "Selection of choices",
        paper=False,
        default=True,
        said=("at random, as released", "balanced against attacks that do not understand"),
    )
    asks_whole_patch = ProfileRule(
        "Requested answer in MPR-Gen", paper=True, default=False, said=("the whole patch", "the hidden lines")
    )
    refuses_leaks = ProfileRule("Builds with exceeded leak limits refused", paper=False, default=True)
    strict_parsing = ProfileRule(
        "Letter of an answer to a choice",
        paper=False,
        default=True,
        said=('its first character: "A patch that" answers A', "the one that it names as its answer"),
    )
    scored_problems = ProfileRule[Mapping[str, Mapping[str, str]]](
        "Problems in the score",
        paper={EASY_TASK: {"tier": "random", "query": "description_only"}, HARD_TASK: {"query": "description_only"}},
        default={EASY_TASK: {"tier": "matched"}, MASKED_TASK: {"tier": "added"}},
        said=(
            "GMCQ-Easy at random and GMCQ-Hard, both by the description alone; all others",
            "GMCQ-Easy matched, MPR-Gen of added lines; all others",
        ),
    )


@cache
def efcb_profile(profile: Profile) -> EfcbProfile:
    """Return the rules of a profile."""
    return EfcbProfile(profile)


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
    the tiers ``adversarial`` and ``resistant``. The ratio of two choices' lines is between ``smallest`` and
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
