"""Licences under which a set may be passed on; data: ``redistribution.toml``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple, Self

from pydantic import TypeAdapter, model_validator

from caretbench.errors import DataError
from caretbench.files import read_packaged_toml
from caretbench.problem import Row

_SUFFIX: Final = re.compile(r"(?:-only|-or-later|\+)$")


class RedistributionRule(Row):
    """Terms of one licence for passing on, or the reason for which a set with such texts is not released."""

    terms: str | None = None
    refused: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.terms is None) == (self.refused is None):
            raise ValueError("expected either terms or refused")
        return self


class RedistributionError(ValueError):
    """Error: texts may not be passed on; the message is the reason."""


class SetLicence(NamedTuple):
    """Licence of a set: one expression, and the number of problems and the terms by licence."""

    expression: str
    problems: Mapping[str, int]
    terms: Mapping[str, str]


@cache
def redistribution_rules() -> Mapping[str, RedistributionRule]:
    """Return the rules of all known licences by SPDX name."""
    return TypeAdapter(dict[str, RedistributionRule]).validate_python(
        read_packaged_toml("caretbench.datasets", "redistribution.toml")
    )


def redistribution_terms(expression: str) -> str:
    """Return the terms under which texts with this SPDX expression may be passed on.

    Of alternatives (``OR``) the first that may be passed on holds; of joined licences (``AND``) all do.

    Raises:
        RedistributionError: they may not be passed on.
    """
    reasons = []
    for alternative in re.split(r"\s+OR\s+", expression.strip().strip("()")):
        try:
            parts = re.split(r"\s+AND\s+|\s*,\s*", alternative.strip("() "))
            return "; ".join(dict.fromkeys(_terms(part.strip("() ")) for part in parts))
        except RedistributionError as error:
            reasons.append(str(error))
    raise RedistributionError("; ".join(dict.fromkeys(reasons)))


def _terms(name: str) -> str:
    stem = _SUFFIX.sub("", name.partition(" WITH ")[0])
    known = {spdx.lower(): rule for spdx, rule in redistribution_rules().items()}
    rule = known.get(stem.lower())
    if rule is None:
        raise RedistributionError(f"the licence {name!r} is not known to allow it")
    if rule.terms is None:
        raise RedistributionError(f"{name}: {rule.refused}")
    return rule.terms


def set_licence(licences: Mapping[str, str | None], own: str | None, place: str) -> SetLicence:
    """Return the licence of a set.

    Args:
        licences: Licence of each problem by id; None: its row states none.
        own: Licence of the problems without one.
        place: Name of the set, for messages.

    Raises:
        DataError: a problem has no licence, or one that does not allow passing on; the message has the first ids.
    """
    holders: dict[str, list[str]] = defaultdict(list)
    for identity, licence in licences.items():
        holders[licence or own or ""].append(identity)
    if unknown := holders.get(""):
        raise DataError(
            f"{place}: {_named(unknown)} without a licence; state that of texts of your own with --licence MIT"
        )
    terms = {}
    for expression, found in sorted(holders.items()):
        try:
            terms[expression] = redistribution_terms(expression)
        except RedistributionError as error:
            raise DataError(f"{place}: {_named(found)} may not be passed on: {error}; remove them") from None
    names = [f"({name})" if " OR " in name and len(terms) > 1 else name for name in terms]
    return SetLicence(" AND ".join(names), {name: len(holders[name]) for name in terms}, terms)


def _named(identities: list[str]) -> str:
    shown = ", ".join(identities[:3])
    word = "problem" if len(identities) == 1 else "problems"
    return f"{len(identities)} {word} ({shown}{', …' if len(identities) > 3 else ''})"
