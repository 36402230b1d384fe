"""Licence of a set: the expressions of its problems, if all of them may be passed on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from caretbench.errors import DataError
from caretbench.sources.redistribution import RedistributionError, redistribution_terms


class SetLicence(NamedTuple):
    """Licence of a set: one expression, and the number of problems and the terms by licence."""

    expression: str
    problems: Mapping[str, int]
    terms: Mapping[str, str]


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
