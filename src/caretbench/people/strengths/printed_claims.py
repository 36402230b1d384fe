"""Sentences of a paper about its own tables, checked against the printed numbers by rules.

The sentences are data: ``published/devbench_claims.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from caretbench.errors import DataError
from caretbench.files import read_packaged_toml
from caretbench.metrics.paired import NOT_DISTINGUISHABLE, Comparison, with_holm
from caretbench.people.strengths.strength_sentences import (
    count_word,
    joined_names,
    p_words,
    place_word,
    points_interval,
)
from caretbench.people.study_statistics.contrasts import KnownRate, against_mean, unpaired
from caretbench.reports.estimates import ReportValue
from caretbench.reports.results.published_numbers import (
    WHOLE,
    PublishedNumber,
    printed_models,
    published_names,
    published_numbers,
)

SUITE = "devbench"
PASSES = "pass@1"
COSINE = "cosine_first_line"
FIRST_LINE = "line0_any"

# A mean cosine has a spread of its own, which the tables do not print.
RATES = (PASSES, FIRST_LINE)
"""Metrics that are shares of problems, whose spread follows from the number of problems."""

Part = tuple[str, str]
"""Label and its printed value."""

ALL: Part = ("category", WHOLE)


class PrintedTables:
    """Printed numbers of a suite's paper."""

    def __init__(self, suite: str = SUITE) -> None:
        self.suite = suite
        self._cells: dict[tuple[str, str, str], dict[str, PublishedNumber]] = {}
        for number in published_numbers(suite):
            self._cells.setdefault((number.metric, number.stratum, number.label), {})[number.model] = number

    def cells(self, metric: str, part: Part) -> Mapping[str, PublishedNumber]:
        """Return the printed numbers of a part by model."""
        return self._cells.get((metric, *part), {})

    def parts(self, metric: str = PASSES) -> Iterator[Part]:
        """Yield the parts with printed numbers, without the whole."""
        return ((stratum, label) for name, stratum, label in self._cells if name == metric and label != WHOLE)

    def models(self) -> list[str]:
        """Return the printed names of the models."""
        return list(self.cells(PASSES, ALL))

    def model(self, name: str) -> str:
        """Return the printed name of a model, by that name or by ours.

        Raises:
            DataError: the tables have no such model.
        """
        known = {model.lower(): model for model in self.models()} | dict(printed_models(self.suite))
        if name.lower() not in known:
            raise DataError(f"--strengths {name!r}: the printed tables have no such model; {', '.join(self.models())}")
        return known[name.lower()]

    def place(self, model: str, metric: str, part: Part) -> int:
        """Return the place of a model: one more than the number of models with a greater printed number."""
        cells = self.cells(metric, part)
        # Equal printed numbers share the better place: rounding hides which one is greater.
        return 1 + sum(cell.value > cells[model].value for cell in cells.values())

    def level(self, model: str, metric: str, part: Part) -> tuple[str, ...]:
        """Return the other models with the same printed number."""
        cells = self.cells(metric, part)
        return tuple(other for other, cell in cells.items() if other != model and cell.value == cells[model].value)

    def known_rate(self, model: str, metric: str, part: Part) -> KnownRate:
        """Return a printed rate with the number of problems that it is over."""
        cell = self.cells(metric, part)[model]
        problems = published_names(self.suite)["problems"]
        # The paper prints rates of parts over 300 problems and of the whole over 1,800, which decides the spread.
        number = problems[WHOLE] if part[1] == WHOLE else problems[part[0]]
        return KnownRate(cell.value, int(number), cell.half_unit)

    def pair_test(self, first: str, second: str, metric: str, part: Part) -> Comparison | None:
        """Return the second model's rate minus the first's; None for metrics without a known spread."""
        if metric not in RATES:
            return None
        return unpaired(self.known_rate(first, metric, part), self.known_rate(second, metric, part))

    def field_test(self, model: str, metric: str, part: Part) -> Comparison | None:
        """Return a model's rate minus the mean of all others; None for metrics without a known spread."""
        if metric not in RATES:
            return None
        others = [self.known_rate(other, metric, part) for other in self.cells(metric, part) if other != model]
        return against_mean(self.known_rate(model, metric, part), others)

    def means(self, metric: str, label: str) -> dict[Part, float]:
        """Return the mean over models of the parts of a label, the greatest first."""
        parts = [part for part in self.parts(metric) if part[0] == label]
        found = {
            part: sum(cell.value for cell in cells.values()) / len(cells)
            for part in parts
            if (cells := self.cells(metric, part))
        }
        return dict(sorted(found.items(), key=lambda entry: -entry[1]))

    def below_others(self, part: Part, metric: str = PASSES) -> dict[str, float]:
        """Return for each model the share by which a part is below the mean of the other parts of its label."""
        others = [other for other in self.parts(metric) if other[0] == part[0] and other != part]
        found = {}
        for model, cell in self.cells(metric, part).items():
            mean = sum(self.cells(metric, other)[model].value for other in others) / len(others)
            # The sentences are about a relative difference, not about points.
            found[model] = 1 - cell.value / mean
        return found


@cache
def printed_tables(suite: str = SUITE) -> PrintedTables:
    """Return the printed tables of a suite's paper."""
    return PrintedTables(suite)


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
    claims = read_packaged_toml("caretbench.reports", "published/devbench_claims.toml")["claims"]
    return tuple(PrintedClaim.model_validate(entry) for entry in claims)


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
    # Sentences about all models concern each of them.
    claims = [claim for claim in printed_claims() if not claim.models or model in claim.models]
    found = [_RULES[claim.rule](tables, claim) for claim in claims]
    # Sentences without a test do not enter the family: each of them would raise the p values of the others.
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
    # As printed and yet not distinguishable: the number agrees, and the data do not bear a difference.
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
    # Similarity: without a spread the sentence is checked by its numbers alone.
    if test is None:
        numbers += "; the tables have no spread of this number"
    return _Evidence(cells[first].value > cells[second].value, numbers, test, decides=True)


def _place(tables: PrintedTables, claim: PrintedClaim) -> _Evidence:
    [model] = claim.models
    place = tables.place(model, claim.metric, claim.where)
    # "Among the best three" has no place of its own, only a bound.
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
    # The paper speaks of "most models", so a majority decides.
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
    return f"{100 * test.difference:+.1f} points{interval}, {p_words(test.p_value, test.family)}, {verdict}"
