"""Options of a build, whose hash is part of the id of every problem, and the rules of the suite's profiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from pydantic import Field

from caretbench.files import sha256_json
from caretbench.problem import Profile, Row
from caretbench.profiles import ProfileRule, ProfileRules
from caretbench.suites.efcb.efcb_score import EASY, HARD, MASKED

QueryVariant = Literal["title_and_description", "title_only", "description_only", "scrubbed"]
"""How a change is asked for; ``queries.py`` says what each shows."""

DEFAULT_VARIANT: Final[QueryVariant] = "title_and_description"


Tier = Literal["random", "matched", "adversarial", "resistant"]
"""How the other choices of a question of GMCQ-Easy are drawn."""


class Query(NamedTuple):
    """The text that asks for a change, and which variant it is."""

    variant: QueryVariant
    text: str


class EfcbProfile(ProfileRules):
    """The rules of EFCB's profiles: how questions are made, and how answers to them are read."""

    policy = ProfileRule("Truncation policy where none is named", paper="raw", default="raw")
    cleaned_texts = ProfileRule(
        "How is a change described?",
        paper=False,
        default=True,
        said=(
            "by title and description as written",
            "without forms, trailers, references and marks of the review",
        ),
    )
    generated_shown = ProfileRule("Are generated files shown?", paper=True, default=False)
    own_filters = ProfileRule(
        "Which changes are accepted?",
        paper=False,
        default=True,
        said=(
            "those of readable length with a description",
            "the same, without bots, reverts, releases, backports, near-duplicates and changes with little prose",
        ),
    )
    easy_tiers = ProfileRule[tuple[Tier, ...]](
        "Tiers of GMCQ-Easy", paper=("random",), default=("random", "matched", "adversarial", "resistant")
    )
    # The paper's release shows the description alone; the paper says that the title is shown, too.
    choice_queries = ProfileRule[tuple[QueryVariant, ...]](
        "Texts by which choices are asked for",
        paper=("description_only", "title_and_description"),
        default=(DEFAULT_VARIANT,),
    )
    balanced_choices = ProfileRule(
        "How are choices drawn?",
        paper=False,
        default=True,
        said=("at random, as released", "so that no count finds the right one"),
    )
    whole_patch = ProfileRule(
        "What is asked for in MPR-Gen?",
        paper=True,
        default=False,
        said=("the whole patch", "the hidden lines"),
    )
    leaks_refuse = ProfileRule(
        "Is a build refused whose questions are found by counting?", paper=False, default=True
    )
    strict_letters = ProfileRule(
        "Which letter does an answer to a choice give?",
        paper=False,
        default=True,
        said=('its first character: "A patch that" answers A', "the one that it names as its answer"),
    )
    counted = ProfileRule[Mapping[str, Mapping[str, str]]](
        "Problems that the score counts",
        paper={EASY: {"tier": "random", "query": "description_only"}, HARD: {"query": "description_only"}},
        default={EASY: {"tier": "matched"}, MASKED: {"tier": "added"}},
        said=(
            "GMCQ-Easy at random and GMCQ-Hard, both by the description alone; all others",
            "GMCQ-Easy matched, MPR-Gen of added lines; all others",
        ),
    )


@cache
def efcb_rules(profile: Profile) -> EfcbProfile:
    """Return the rules of a profile."""
    return EfcbProfile(profile)


class EfcbOptions(Row):
    """Options that all tasks share; each task derives its own from them.

    ``rotations`` asks the same choices in so many cyclic orders. It changes no problem that is there without it, so
    it is no part of the configuration's hash.
    """

    seed: int = 0
    profile: Profile = "default"
    rotations: int = Field(default=1, ge=1, le=4)

    @property
    def rules(self) -> EfcbProfile:
        """The rules of the profile."""
        return efcb_rules(self.profile)

    @property
    def configuration(self) -> str:
        """Hash of all options that change what is built."""
        return sha256_json(self.model_dump(mode="json", exclude={"rotations"}))


class ChoiceOptions(EfcbOptions):
    """Options of multiple-choice tasks. ``queries``, left empty, are those of the profile."""

    queries: tuple[QueryVariant, ...] = ()

    @property
    def variants(self) -> tuple[QueryVariant, ...]:
        """The texts to ask by; the first is what words are compared with."""
        return self.queries or self.rules.choice_queries


class EasyOptions(ChoiceOptions):
    """Options of GMCQ-Easy. ``tiers``, left empty, are those of the profile.

    ``window`` and ``wide_window`` bound how many places in the order of merging two choices may be apart; the wide
    one holds for the tiers that search by words. A choice has at least ``smallest`` and
    at most ``largest`` times the lines of any other.
    """

    tiers: tuple[Tier, ...] = ()
    window: int = Field(default=300, ge=3)
    wide_window: int = Field(default=1250, ge=3)
    smallest: float = Field(default=0.5, gt=0, le=1)
    largest: float = Field(default=2.0, ge=1)

    @property
    def all_tiers(self) -> tuple[Tier, ...]:
        """The tiers to build."""
        return self.tiers or self.rules.easy_tiers
