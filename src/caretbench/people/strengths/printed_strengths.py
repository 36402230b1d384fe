"""Strengths of a model by a paper's printed tables alone, without the answers behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.metrics.paired import NOT_DISTINGUISHABLE, Comparison, with_holm
from caretbench.people.strengths.printed_claims import (
    ALL,
    BORNE,
    COSINE,
    PASSES,
    PRINTED,
    SUITE,
    UNDECIDED,
    CheckedClaim,
    Part,
    PrintedTables,
    checked_claims,
    printed_tables,
)
from caretbench.people.strengths.strength_sentences import (
    capitalised,
    count_word,
    joined_names,
    p_words,
    place_word,
    points_interval,
    points_range,
)
from caretbench.reports.estimates import ReportValue
from caretbench.reports.section import PageBlock, PagePart
from caretbench.reports.tables import ReportTable, display_label, number_field, share_field, table_of, text_field
from caretbench.text_tables import p_text

MIN_REVERSED = 3
"""Minimum number of less similar models that pass more, for a sentence."""

LIMITS = (
    "Printed rates are over 300 problems a part with five samples each. Samples of one problem may all be the same, so "
    "they count as one: intervals are those of 300 independent problems, and not paired.",
    "All models answered the same problems, which the numbers do not show. A paired test of the answers may find "
    f"what is {NOT_DISTINGUISHABLE} here.",
    'Places and "more similar, fewer pass" compare the numbers as printed: no test of the cosine is possible. P values '
    "of parts are adjusted for their number (Holm), intervals are not.",
)


class PrintedPart(ReportValue):
    """Printed numbers of a model in a part, with its places and an unpaired test against the mean of the others."""

    title: str
    rate: float
    place: int
    level: tuple[str, ...] = ()
    """Other models with the same printed rate."""
    others: float
    low: float
    high: float
    p_value: float
    family: int
    distinguishable: bool
    similarity: float | None
    similarity_place: int | None
    similarity_level: tuple[str, ...] = ()
    """Other models with the same printed similarity."""
    similarity_lead: float = 0.0
    """Similarity minus that of the most similar other model."""
    reversed_models: tuple[str, ...]
    """Models that are less similar to the reference and pass more."""


class PrintedStrengths(ReportValue):
    """Strengths of a model by printed tables: parts, sentences by rule, and the paper's own sentences with verdicts."""

    suite: str
    model: str
    models: int
    parts: tuple[PrintedPart, ...]
    sentences: tuple[str, ...]
    claims: tuple[CheckedClaim, ...]
    notes: tuple[str, ...] = LIMITS

    @property
    def not_borne(self) -> tuple[CheckedClaim, ...]:
        """Sentences of the paper that the numbers cannot bear."""
        return tuple(claim for claim in self.claims if claim.verdict not in (BORNE, PRINTED))


def printed_strengths(model: str, suite: str = SUITE) -> PrintedStrengths:
    """Return the strengths of a model by the printed tables of a suite's paper.

    Raises:
        DataError: the tables have no such model.
    """
    tables = printed_tables(suite)
    name = tables.model(model)
    parts = tuple(_parts(tables, name))
    return PrintedStrengths(
        suite=suite,
        model=name,
        models=len(tables.models()),
        parts=parts,
        sentences=tuple(_sentences(tables, name, parts)),
        claims=tuple(checked_claims(tables, name)),
    )


def _parts(tables: PrintedTables, model: str) -> Iterator[PrintedPart]:
    """Yield the whole, then the categories and languages; p values of parts are adjusted (Holm)."""
    places = [ALL, *tables.parts(PASSES)]
    tests = [test for part in places if (test := tables.field_test(model, PASSES, part)) is not None]
    # The whole is one question of its own, and is not adjusted with the parts.
    for part, test in zip(places, [tests[0], *with_holm(tests[1:])], strict=True):
        yield _part(tables, model, part, test)


def _part(tables: PrintedTables, model: str, part: Part, test: Comparison) -> PrintedPart:
    rates, similar = tables.cells(PASSES, part), tables.cells(COSINE, part)
    own = similar.get(model)
    return PrintedPart(
        title="all problems" if part == ALL else f"{part[0]} {_label(part)}",
        rate=rates[model].value,
        place=tables.place(model, PASSES, part),
        level=tables.level(model, PASSES, part),
        others=rates[model].value - test.difference,
        low=test.interval.low,
        high=test.interval.high,
        p_value=test.p_value,
        family=test.family,
        distinguishable=test.distinguishable,
        similarity=None if own is None else own.value,
        similarity_place=None if own is None else tables.place(model, COSINE, part),
        similarity_level=() if own is None else tables.level(model, COSINE, part),
        similarity_lead=0.0
        if own is None
        else own.value - max(cell.value for other, cell in similar.items() if other != model),
        reversed_models=tuple(
            other
            for other, cell in similar.items()
            # Similar and failing: what the paper calls hard to see in similarity alone.
            if own is not None and cell.value < own.value and rates[other].value > rates[model].value
        ),
    )


def _label(part: Part) -> str:
    # The printed labels have `csharp`, those of problems `c_sharp`, which are the ones with a title.
    return display_label(part[0], "c_sharp" if part[1] == "csharp" else part[1])


def _sentences(tables: PrintedTables, model: str, parts: Sequence[PrintedPart]) -> Iterator[str]:
    whole, *others = parts
    number = count_word(len(tables.models()))
    yield f"{model} passes {100 * whole.rate:.1f}% of all problems: {_place(whole)} of {number}."
    # One or two reversed models may be a matter of rounding.
    similar = [part for part in others if part.similarity_place == 1 and len(part.reversed_models) >= MIN_REVERSED]
    for part in sorted(similar, key=lambda part: -part.similarity_lead):
        yield (
            f"{capitalised(part.title)}: more similar, fewer pass. {model} is {_most_similar(part)} of {number} "
            f"(cosine {part.similarity:.2f}) and {_place(part)} by passes ({100 * part.rate:.1f}%): "
            f"{count_word(len(part.reversed_models))} models are less similar and pass more."
        )
    for part in sorted(others, key=lambda part: part.place):
        # A part in the place of the whole says nothing of its own.
        if part.place != whole.place:
            side = "better" if part.place < whole.place else "worse"
            yield (
                f"{capitalised(part.title)}: {_place(part)} of {number} ({100 * part.rate:.1f}%), {side} than "
                f"its place over all problems. {_tested(part)}"
            )
    differing = [part for part in others if part.distinguishable]
    if differing:
        names = joined_names([part.title for part in differing])
        yield f"An unpaired test tells {model} from the mean of the others in: {names}."
    else:
        yield f"No unpaired test tells {model} from the mean of the others in any category or language."


def _place(part: PrintedPart) -> str:
    """Return the place by passes: ``third``, ``sixth (level with GPT-4o)``."""
    return place_word(part.place) + (f" (level with {joined_names(part.level)})" if part.level else "")


def _most_similar(part: PrintedPart) -> str:
    others = part.similarity_level
    return f"with {joined_names(others)} the most similar" if others else "the most similar"


def _tested(part: PrintedPart) -> str:
    difference = f"{100 * (part.rate - part.others):+.1f} points{points_interval(part.low, part.high)}"
    verdict = "" if part.distinguishable else f"{NOT_DISTINGUISHABLE}, "
    return f"Against the mean of the others: {difference} ({verdict}{p_words(part.p_value, part.family)})."


def printed_strengths_tables(found: PrintedStrengths) -> list[ReportTable]:
    """Return the tables: sentences by rule, parts, and the paper's sentences by what the numbers bear."""
    heads = (
        "Part",
        "Rate",
        "Place",
        "Mean of others",
        "Difference (points)",
        "p (tests)",
        "Verdict",
        "Cosine",
        "Place by cosine",
    )
    rows = [
        (
            part.title,
            share_field(part.rate),
            part.place,
            share_field(part.others),
            number_field(
                part.rate - part.others, f"{100 * (part.rate - part.others):+.1f}", points_range(part.low, part.high)
            ),
            number_field(part.p_value, p_text(part.p_value, part.family)),
            text_field("distinguishable" if part.distinguishable else NOT_DISTINGUISHABLE),
            number_field(part.similarity, None if part.similarity is None else f"{part.similarity:.2f}"),
            part.similarity_place,
        )
        for part in found.parts
    ]
    return [
        table_of(
            f"{found.model} by the printed tables of {found.suite}", ("Finding",), [(one,) for one in found.sentences]
        ),
        table_of("Printed rates, and unpaired tests against the other models", heads, rows, " ".join(found.notes)),
        _claim_table(
            "Sentences of the paper that the numbers bear", [c for c in found.claims if c not in found.not_borne]
        ),
        _claim_table("Sentences of the paper that the numbers cannot bear", found.not_borne),
    ]


def _claim_table(title: str, claims: Sequence[CheckedClaim]) -> ReportTable:
    heads = ("Section", "Sentence", "Verdict", "Printed numbers")
    rows = [
        (
            claim.section,
            claim.text,
            text_field(claim.verdict, "" if claim.verdict != UNDECIDED else "warning"),
            claim.numbers,
        )
        for claim in claims
    ]
    return table_of(title, heads, rows)


def printed_strengths_page(found: PrintedStrengths) -> PagePart:
    """Return the same as a part of a page."""
    _, *tables = printed_strengths_tables(found)
    blocks = [PageBlock(title=found.model, notes=found.sentences), PageBlock(tables=tables)]
    return PagePart("strengths", "Strengths", "Strengths and weaknesses", "by the printed tables alone", blocks)
