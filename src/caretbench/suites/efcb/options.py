"""Options of a build, whose hash is part of every problem's id, and the rules of EFCB's profiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal

from caretbench.problem import Profile
from caretbench.profiles import ProfileRule, ProfileRules, default_only, paper_only
from caretbench.suites.efcb.problem_metadata import EASY_TASK, HARD_TASK, MASKED_TASK

QueryVariant = Literal["title_and_description", "title_only", "description_only", "scrubbed", "written"]
"""Text that describes the change in a question; ``written``: for one version of its patch."""

DEFAULT_VARIANT: Final[QueryVariant] = "title_and_description"


EasyTier = Literal["random", "matched", "same_file", "adversarial", "resistant"]
"""Difficulty of GMCQ-Easy, by the selection of the wrong choices."""


class EfcbProfile(ProfileRules):
    """Rules of EFCB's profiles: construction of questions, and parsing of answers."""

    # A policy that truncates code would cut descriptions, patches and single letters; the suite parses its answers
    # itself.
    policy = ProfileRule("Default truncation policy", paper="raw", default="raw")
    # Of 1,161 released descriptions 109 have only references or trailers, and 36 have fewer than 20 characters.
    cleans_descriptions = default_only(
        "Description of a change",
        paper="by title and description as written",
        default="without templates, trailers, references and marks of the review",
    )
    shows_generated_files = paper_only("Generated files shown")
    additional_filters = default_only(
        "Accepted changes",
        paper="those of readable length with a description",
        default="the same, without bots, reverts, releases, backports, near-duplicates and changes with little prose",
    )
    easy_tiers = ProfileRule[tuple[EasyTier, ...]](
        "Tiers of GMCQ-Easy", paper=("random",), default=("random", "matched", "same_file", "adversarial", "resistant")
    )
    # The paper's release shows only the description; according to the paper the title is shown, too.
    choice_queries = ProfileRule[tuple[QueryVariant, ...]](
        "Query variants of choices", paper=("description_only", "title_and_description"), default=(DEFAULT_VARIANT,)
    )
    # In the release the choice that is most similar to the others is right in 98.7 % of GMCQ-Hard, without a look at
    # the question.
    balanced_choices = default_only(
        "Selection of choices",
        paper="at random, as released",
        default="balanced against attacks that do not understand",
    )
    # A whole patch is mostly copied: without the marks of its masks it is .927 alike to the released reference.
    asks_whole_patch = paper_only("Requested answer in MPR-Gen", paper="the whole patch", default="the hidden lines")
    refuses_leaks = default_only("Builds with exceeded leak limits refused")
    # A sentence that begins with the article "A" is an answer to the released scorer.
    strict_parsing = default_only(
        "Letter of an answer to a choice",
        paper='its first character: "A patch that" answers A',
        default="the one that it names as its answer",
    )
    scored_problems = ProfileRule[Mapping[str, Mapping[str, str]]](
        "Problems in the score",
        paper={EASY_TASK: {"tier": "random", "query": "description_only"}, HARD_TASK: {"query": "description_only"}},
        # Of random sets TF-IDF finds .96 by title and description, of matched ones .89 (150 changes of tailscale).
        # Lines beside their removed form are nearly given away: copying those reaches .494.
        default={EASY_TASK: {"tier": "matched"}, MASKED_TASK: {"tier": "added"}},
        descriptions=(
            "GMCQ-Easy at random and GMCQ-Hard, both by the description alone; all others",
            "GMCQ-Easy matched, MPR-Gen of added lines; all others",
        ),
    )


@cache
def efcb_profile(profile: Profile) -> EfcbProfile:
    """Return the rules of a profile."""
    return EfcbProfile(profile)
