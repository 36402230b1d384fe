"""Terms of licences for passing texts on; data: ``redistribution.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, Self

from pydantic import TypeAdapter, model_validator

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


@cache
def redistribution_rules() -> Mapping[str, RedistributionRule]:
    """Return the rules of all known licences by SPDX name."""
    return TypeAdapter(dict[str, RedistributionRule]).validate_python(
        read_packaged_toml("caretbench.sources", "redistribution.toml")
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
        raise RedistributionError(f"the licence {name!r} is not known to allow passing on")
    if rule.terms is None:
        raise RedistributionError(f"{name}: {rule.refused}")
    return rule.terms
