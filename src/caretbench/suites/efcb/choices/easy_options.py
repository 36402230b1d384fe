"""What GMCQ-Easy is built with."""

from __future__ import annotations

from pydantic import Field

from caretbench.suites.efcb.options import EfcbOptions, QueryVariant, Tier


class EasyOptions(EfcbOptions):
    """Options of GMCQ-Easy. ``tiers`` and ``queries``, left empty, are those of the profile.

    ``window`` and ``wide_window`` bound how many places in the order of merging two choices may be apart; the wide
    one holds for the tiers that search by words. A choice has at least ``smallest`` and
    at most ``largest`` times the lines of any other.
    """

    tiers: tuple[Tier, ...] = ()
    queries: tuple[QueryVariant, ...] = ()
    window: int = Field(default=300, ge=3)
    wide_window: int = Field(default=1250, ge=3)
    smallest: float = Field(default=0.5, gt=0, le=1)
    largest: float = Field(default=2.0, ge=1)

    @property
    def all_tiers(self) -> tuple[Tier, ...]:
        """The tiers to build."""
        return self.tiers or self.rules.easy_tiers

    @property
    def variants(self) -> tuple[QueryVariant, ...]:
        """The texts to ask by; the first is what words are compared with."""
        return self.queries or self.rules.choice_queries
