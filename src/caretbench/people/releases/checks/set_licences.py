"""Licence of a set: the expressions of its problems, if all of them may be passed on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from caretbench.build.sources.licences import RedistributionError, redistribution_terms
from caretbench.errors import DataError
from caretbench.people.releases.built_set import first_ids


class SetLicence(NamedTuple):
    """Licence of a set: one expression, the number of problems and the terms by licence.

    ``unstated`` are the ids of the problems that state none.
    """

    expression: str
    problems: Mapping[str, int]
    terms: Mapping[str, str]
    unstated: tuple[str, ...] = ()


def set_licence(licences: Mapping[str, str | None], own: str | None, place: str) -> SetLicence:
    """Return the licence of a set.

    Args:
        licences: Licence of each problem by id; None: its row states none.
        own: Licence of the problems without one; it is examined even if all problems state theirs.
        place: Name of the set, for messages.

    Raises:
        DataError: a problem has no licence, or it or ``own`` is one that does not allow passing on; the message has
            the first ids.
    """
    if own is not None:
        try:
            redistribution_terms(own)
        except RedistributionError as error:
            raise DataError(f"{place}: --licence {own}: {error}; choose another") from None
    holders: dict[str, list[str]] = defaultdict(list)
    for identity, licence in licences.items():
        holders[licence or own or ""].append(identity)
    if unknown := holders.get(""):
        raise DataError(
            f"{place}: {first_ids(unknown)} without a licence; state that of texts of your own with --licence MIT"
        )
    terms = {}
    for expression, found in sorted(holders.items()):
        try:
            terms[expression] = redistribution_terms(expression)
        except RedistributionError as error:
            raise DataError(f"{place}: {first_ids(found)} may not be passed on: {error}; remove them") from None
    names = [f"({name})" if " OR " in name and len(terms) > 1 else name for name in terms]
    unstated = tuple(identity for identity, licence in licences.items() if licence is None)
    return SetLicence(" AND ".join(names), {name: len(holders[name]) for name in terms}, terms, unstated)
