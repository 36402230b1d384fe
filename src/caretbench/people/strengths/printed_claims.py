"""Sentences of a paper about its own tables, checked against the printed numbers by rules.

The sentences are data: ``published/devbench_claims.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from caretbench.metrics.paired import NOT_DISTINGUISHABLE, Comparison, with_holm
from caretbench.people.strengths.printed_tables import ALL, PASSES, Part, PrintedTables
from caretbench.people.strengths.sentence_parts import count_word, joined_names, p_words, place_word, points_interval
from caretbench.reports.estimates import ReportValue
from caretbench.reports.results.published_numbers import PublishedNumber

ClaimRule = Literal["above", "place", "places", "highest", "lowest", "gap", "below", "cause"]
BORNE: Final = "borne by a test"
PRINTED: Final = "as printed"
UNDECIDED: Final = f"{PRINTED}, {NOT_DISTINGUISHABLE}"
CONTRADICTED: Final = "contradicted"
NO_NUMBER: Final = "no number"


class PrintedClaim(BaseModel):
    """Sentence of the paper, with the rule that checks it; see ``devbench_claims.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    section: str
    text: str
    rule: ClaimRule
    metric: str = PASSES
    part: str = ""
    models: tuple[str, ...] = ()
    place: int = 0
    at_least: int = 0
    points: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def where(self) -> Part:
        """Part of the problems."""
        label, _, value = self.part.partition("=")
        return (label, value) if self.part else ALL


class CheckedClaim(ReportValue):
    """Sentence of the paper with its verdict and the numbers that decide."""

    section: str
    text: str
    verdict: str
    numbers: str


@cache
def printed_claims() -> tuple[PrintedClaim, ...]:
    """Return the sentences of DevBench's paper."""
    text = resources.files("caretbench.reports").joinpath("published", "devbench_claims.toml").read_text("utf-8")
    return tuple(PrintedClaim.model_validate(entry) for entry in tomllib.loads(text)["claims"])


class _Evidence(NamedTuple):
    """Printed numbers about a sentence: whether they agree (None: they cannot), in words, and an unpaired test.

    With ``decides`` the sentence is about the difference that is tested.
    """

    agrees: bool | None
    numbers: str
    test: Comparison | None = None
    decides: bool = False


def checked_claims(tables: PrintedTables, model: str) -> list[CheckedClaim]:
    """Return the sentences about a model, and those about all models, with their verdicts.

    P values are adjusted for the number of tested sentences (Holm).
    """
    claims = [claim for claim in printed_claims() if not claim.models or model in claim.models]
    found = [_RULES[claim.rule](tables, claim) for claim in claims]
    tests = iter(with_holm([evidence.test for evidence in found if evidence.test is not None]))
    adjusted = [one if one.test is None else one._replace(test=next(tests)) for one in found]
    return [
        CheckedClaim(section=claim.section, text=claim.text, verdict=_verdict(one), numbers=_words(one))
        for claim, one in zip(claims, adjusted, strict=True)
    ]


def _verdict(found: _Evidence) -> str:
    if found.agrees is None:
        return NO_NUMBER
    if not found.agrees:
        return CONTRADICTED
    if found.test is None or not found.decides:
        return PRINTED
    return BORNE if found.test.distinguishable else UNDECIDED


def _words(found: _Evidence) -> str:
    if found.test is None:
        return found.numbers
    against = "unpaired test" if found.decides else "against the mean of the others, unpaired"
    return f"{found.numbers}; {against}: {_tested(found.test)}"


def _above(tables: PrintedTables, claim: PrintedClaim) -> _Evidence:
    first, second = claim.models
    cells = tables.cells(claim.metric, claim.where)
    numbers = f"{first} {_shown(cells[first])}, {second} {_shown(cells[second])}"
    test = tables.pair_test(second, first, claim.metric, claim.where)
    if test is None:
        numbers += "; the tables have no spread of this number"
    return _Evidence(cells[first].value > cells[second].value, numbers, test, decides=True)


def _place(tables: PrintedTables, claim: PrintedClaim) -> _Evidence:
    [model] = claim.models
    place = tables.place(model, claim.metric, claim.where)
    good = place == claim.place if claim.place else place <= claim.at_least
    cells = tables.cells(claim.metric, claim.where)
    level = tables.level(model, claim.metric, claim.where)
    tie = f", level with {joined_names(level)}" if level else ""
    numbers = f"{place_word(place)} of {count_word(len(cells))} ({_shown(cells[model])}{tie})"
    return _Evidence(good, numbers, tables.field_test(model, claim.metric, claim.where))


def _extreme(tables: PrintedTables, claim: PrintedClaim) -> _Evidence:
    """Return whether a part is the highest or lowest of its label by the mean over models, and for how many models."""
    highest = claim.rule == "highest"
    means = tables.means(claim.metric, claim.where[0])
    ordered = list(means) if highest else list(means)[::-1]
    others = []
    for model in tables.models():
        values = {part: tables.cells(claim.metric, part)[model].value for part in means}
        best = (max if highest else min)(values.values())
        if values[claim.where] != best:
            others.append(f"{model} ({next(part[1] for part in means if values[part] == best).replace('_', ' ')})")
    total = len(tables.models())
    next_part = next(part for part in ordered if part != claim.where)
    numbers = (
        f"mean over models {100 * means[claim.where]:.1f}%, next {next_part[1].replace('_', ' ')} "
        f"{100 * means[next_part]:.1f}%; {claim.rule} for {total - len(others)} of {total} models"
    )
    return _Evidence(ordered[0] == claim.where, numbers + (f", not for {', '.join(others)}" if others else ""))


def _gap(tables: PrintedTables, claim: PrintedClaim) -> _Evidence:
    first, second = claim.models
    cells = tables.cells(claim.metric, claim.where)
    gap = 100 * (cells[first].value - cells[second].value)
    numbers = f"{first} {_shown(cells[first])}, {second} {_shown(cells[second])}: {gap:.1f} points"
    return _Evidence(gap >= claim.points, numbers)


def _below(tables: PrintedTables, claim: PrintedClaim) -> _Evidence:
    found = tables.below_others(claim.where, claim.metric)
    inside = sum(claim.low <= share <= claim.high for share in found.values())
    numbers = (
        f"{100 * min(found.values()):.0f} to {100 * max(found.values()):.0f} % below the mean of the others; "
        f"{100 * claim.low:.0f} to {100 * claim.high:.0f} % for {inside} of {len(found)} models"
    )
    return _Evidence(2 * inside > len(found), numbers)


def _cause(tables: PrintedTables, claim: PrintedClaim) -> _Evidence:
    del tables, claim
    return _Evidence(None, "a reason or an advice, which no printed number bears on")


_RULES: Mapping[ClaimRule, Callable[[PrintedTables, PrintedClaim], _Evidence]] = {
    "above": _above,
    "place": _place,
    "places": _place,
    "highest": _extreme,
    "lowest": _extreme,
    "gap": _gap,
    "below": _below,
    "cause": _cause,
}


def _shown(cell: PublishedNumber) -> str:
    return f"{cell.printed}%" if cell.scale == 100 else cell.printed


def _tested(test: Comparison) -> str:
    verdict = "distinguishable" if test.distinguishable else NOT_DISTINGUISHABLE
    interval = points_interval(test.interval.low, test.interval.high)
    return f"{100 * test.difference:+.1f} points{interval}, {p_words(test.p_value)}, {verdict}"
