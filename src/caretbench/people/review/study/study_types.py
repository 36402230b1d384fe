"""Types of a study of judges: rated texts, scores of judges, and the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from caretbench.judging.aggregation import TextKey
from caretbench.problem import Row

Scores = Mapping[str, float]
"""Scores of one text by name, with their sum as ``total``."""


class RatedText(NamedTuple):
    """Text that people rated.

    ``stratum`` is its language (its task, of answers to questions); ``variants`` are the keys of the same answer in
    other styles.
    """

    key: TextKey
    stratum: str
    authors: tuple[str, ...]
    people: Mapping[str, Scores]
    variants: Mapping[str, TextKey]


class StudyJudge(NamedTuple):
    """Judge or ensemble in a study: its name, the criterion, and its scores by text, on the scale of people."""

    name: str
    criterion: str
    scores: Mapping[TextKey, Scores]
    members: tuple[str, ...] = ()
    """Names of the judges of an ensemble."""


class StudyNumber(Row):
    """Value with its 95 % interval over texts; None where it is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


class JudgeComparison(Row):
    """Comparison of a judge with the mean of people, over the texts of one part (``all``, or a stratum)."""

    judge: str
    criterion: str
    part: str
    score: str
    texts: int
    people: int
    spearman: StudyNumber
    pearson: StudyNumber
    mean_difference: StudyNumber
    """Judge minus people, in points."""
    kappa: StudyNumber
    """Quadratic kappa of the scores, rounded to whole points."""


class JudgeReplacement(Row):
    """Result of the test of a judge against people (``alternative annotator test``)."""

    judge: str
    criterion: str
    texts: int
    winning_rate: float | None
    advantage: float | None
    passes: bool | None
    reason: str = ""


class CriterionChoice(Row):
    """Spearman correlation of a criterion's judges (their mean) on the half for choosing, and on the other half."""

    criterion: str
    on_first_half: float | None
    on_second_half: StudyNumber
    chosen: bool


class EnsembleGain(Row):
    """Spearman correlation of an ensemble minus that of its best member, which the first half chose."""

    ensemble: str
    criterion: str
    member: str
    difference: StudyNumber
    p_value: float | None


class StyleGap(Row):
    """Mean change of a judge's total when the same answer has another style, in points."""

    judge: str
    criterion: str
    style: str
    texts: int
    gap: StudyNumber
    verdict: Literal["higher", "lower", "not distinguishable"]


class FamilyLeaning(Row):
    """Judge minus people on answers of the judge's own family of models, minus the same on the others, in points."""

    judge: str
    criterion: str
    family: str
    own_texts: int
    other_texts: int
    leaning: StudyNumber


class StudyResult(Row):
    """Results of a study. With several criteria, all numbers are over the half that did not choose the criterion."""

    schema_version: Literal[1] = 1
    criterion: str
    """Criterion that people rated by."""
    simulated: bool
    people: int
    texts: int
    reported_texts: int
    alpha: float | None
    """Krippendorff's alpha (ordinal) of people's totals."""
    comparisons: tuple[JudgeComparison, ...]
    replacements: tuple[JudgeReplacement, ...]
    criteria: tuple[CriterionChoice, ...] = ()
    ensembles: tuple[EnsembleGain, ...] = ()
    styles: tuple[StyleGap, ...] = ()
    families: tuple[FamilyLeaning, ...] = ()
