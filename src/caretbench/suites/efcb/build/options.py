"""Options of a build, and the ids of problems, of which their hash is a part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic import Field

from caretbench.files import sha256_json, sha256_text
from caretbench.problem import Profile, Row
from caretbench.suites.efcb.problem_metadata import TASKS, EasyTier, EfcbProfile, EfcbTask, QueryVariant, efcb_profile


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


# The version is hashed into every id, so that results of other questions never meet under one id.
VERSIONS: Final[Mapping[str, int]] = dict.fromkeys(TASKS, 2) | {EfcbTask.HARD: 3}
"""Versions of the construction by task; changes of shown or drawn contents need a new one, and give new ids."""


# 40 bits: of 10,000 ids two are alike with a probability of 5e-5.
_DIGITS: Final = 10


def problem_id(
    task: str, tier: str, repo: str, merge_sha: str, configuration: str, *, variant: str = "", rotation: int = 0
) -> str:
    """Return the id of a problem: ``tailscale/gmcq-easy-matched/1a2b3c4d5e``.

    The last part is ten digits of a hash over version, task, tier, query variant, repository, merge commit and
    configuration. A rotation of the same choices has the suffix ``-r1``, and the same digits. Tier and variant may be
    empty.
    """
    digits = sha256_text(str(VERSIONS[task]), task, tier, variant, repo, merge_sha, configuration)[:_DIGITS]
    kind = "-".join(_slug(part) for part in (task, tier, variant) if part)
    turned = f"-r{rotation}" if rotation else ""
    return f"{_slug(repo.rsplit('/', 1)[-1])}/{kind}/{digits}{turned}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "x"
