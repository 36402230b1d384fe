"""Numbers of a study, from people's ratings and judges' scores; pure functions with seeded intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from caretbench.judging.aggregation import TOTAL, TextKey
from caretbench.metrics.agreement.coefficients import alpha_of_people, cohen_statistic
from caretbench.metrics.agreement.item_statistic import MINIMUM_ITEMS, ItemStatistic, item_estimate
from caretbench.metrics.agreement.replacement_test import replacement_test
from caretbench.metrics.correlation import mean_difference_statistic, pearson_statistic, spearman_statistic
from caretbench.metrics.paired import Pair, compare_family
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
    people: Mapping[str, Scores]
    variants: Mapping[str, TextKey]


class StudyJudge(NamedTuple):
    """Judge in a study: its name, the criterion, and its scores by text, on the scale of people."""

    name: str
    criterion: str
    scores: Mapping[TextKey, Scores]


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


class PersonReplacement(Row):
    """Result of the test of a judge against one person: ``advantage`` is the share of texts at which it is as near."""

    person: str
    texts: int
    advantage: float
    p_value: float
    wins: bool


class JudgeReplacement(Row):
    """Result of the test of a judge against people (``alternative annotator test``)."""

    judge: str
    criterion: str
    texts: int
    winning_rate: float | None
    advantage: float | None
    passes: bool | None
    reason: str = ""
    people: tuple[PersonReplacement, ...] = ()


class StyleGap(Row):
    """Mean change of a judge's total when the same answer has another style, in points.

    ``p_value`` is for all judges and styles of the study together.
    """

    judge: str
    criterion: str
    style: str
    texts: int
    gap: StudyNumber
    p_value: float
    verdict: str


class StudyResult(Row):
    """Results of a study."""

    schema_version: Literal[3] = 3
    criterion: str
    """Criterion that people rated by."""
    simulated: bool
    people: int
    texts: int
    alpha: float | None
    """Krippendorff's alpha (ordinal) of people's totals."""
    comparisons: tuple[JudgeComparison, ...]
    replacements: tuple[JudgeReplacement, ...]
    styles: tuple[StyleGap, ...] = ()


RESAMPLES = 1_000

MINIMUM_PART: Final = 20
"""Number of texts of a part below which its values have no interval: it would span most of the scale."""


def study_result(
    texts: Sequence[RatedText], judges: Sequence[StudyJudge], criterion: str, *, simulated: bool, seed: int = 0
) -> StudyResult:
    """Return the results of a study.

    Args:
        texts: Texts with ratings.
        judges: Scores of each judge by each criterion, of the texts and of their variants.
        criterion: Criterion that people rated by.
        simulated: The ratings were made by a program.
        seed: Seed of the intervals.
    """
    return _Study(texts, judges, criterion, seed).result(simulated=simulated)


class _Study:
    def __init__(self, texts: Sequence[RatedText], judges: Sequence[StudyJudge], criterion: str, seed: int) -> None:
        self._texts = {text.key: text for text in texts}
        self._criterion = criterion
        self._seed = seed
        self._judges = list(judges)

    def result(self, *, simulated: bool) -> StudyResult:
        totals = {
            key: {person: scores[TOTAL] for person, scores in text.people.items()} for key, text in self._texts.items()
        }
        return StudyResult(
            criterion=self._criterion,
            simulated=simulated,
            people=len({person for given in totals.values() for person in given}),
            texts=len(self._texts),
            alpha=alpha_of_people(totals),
            comparisons=tuple(self._comparisons()),
            replacements=tuple(self._replacement(judge) for judge in self._judges),
            styles=tuple(self._style_gaps()),
        )

    def _people_mean(self, key: TextKey, score: str = TOTAL) -> float | None:
        given = [scores[score] for scores in self._texts[key].people.values() if score in scores]
        return math.fsum(given) / len(given) if given else None

    def _pairs(self, judge: StudyJudge, keys: Iterable[TextKey], score: str = TOTAL) -> tuple[list[float], list[float]]:
        """Return the scores of a judge and the means of people, for the texts that have both."""
        ours, theirs = [], []
        for key in keys:
            mean = self._people_mean(key, score)
            if mean is not None and score in judge.scores.get(key, {}):
                ours.append(judge.scores[key][score])
                theirs.append(mean)
        return ours, theirs

    def _estimate(self, statistic: ItemStatistic) -> StudyNumber:
        if statistic.items < MINIMUM_PART:
            return StudyNumber(value=statistic.estimate)
        found = item_estimate(statistic, seed=self._seed, resamples=RESAMPLES)
        return StudyNumber(value=found.value, low=found.low, high=found.high)

    # --- judges and people ---

    def _comparisons(self) -> Iterator[JudgeComparison]:
        strata = sorted({text.stratum for text in self._texts.values()})
        for judge in self._judges:
            names = dict.fromkeys(name for scores in judge.scores.values() for name in scores)
            for score in sorted(names, key=lambda name: name != TOTAL):
                for part in ("all", *(strata if len(strata) > 1 else ())):
                    keys = [key for key in self._texts if part in {"all", self._texts[key].stratum}]
                    ours, theirs = self._pairs(judge, keys, score)
                    if len(ours) < MINIMUM_ITEMS:
                        continue
                    people = {person for key in keys for person in self._texts[key].people}
                    rounded = [[float(round(value)) for value in series] for series in (ours, theirs)]
                    yield JudgeComparison(
                        judge=judge.name,
                        criterion=judge.criterion,
                        part=part,
                        score=score,
                        texts=len(ours),
                        people=len(people),
                        spearman=self._estimate(spearman_statistic(ours, theirs)),
                        pearson=self._estimate(pearson_statistic(ours, theirs)),
                        mean_difference=self._estimate(mean_difference_statistic(ours, theirs)),
                        kappa=self._estimate(cohen_statistic(rounded[0], rounded[1], "quadratic")),
                    )

    def _replacement(self, judge: StudyJudge) -> JudgeReplacement:
        keys = [key for key in self._texts if TOTAL in judge.scores.get(key, {})]
        people: dict[str, dict[str, float | str]] = defaultdict(dict)
        for key in keys:
            for person, scores in self._texts[key].people.items():
                people[person][_name(key)] = scores[TOTAL]
        found = replacement_test({_name(key): judge.scores[key][TOTAL] for key in keys}, people)
        return JudgeReplacement(
            judge=judge.name, criterion=judge.criterion, texts=len(keys), winning_rate=found.winning_rate,
            advantage=found.advantage, passes=found.passes, reason=found.reason,
            people=tuple(
                PersonReplacement(person=one.person, texts=one.items, advantage=one.advantage, p_value=one.p_value,
                                  wins=one.wins)
                for one in found.people
            ),
        )  # fmt: skip

    def _style_gaps(self) -> Iterator[StyleGap]:
        """Yield the gaps of all judges and styles, as one family of tests: with many, some would differ by chance."""
        found: dict[tuple[int, str], list[tuple[float, float, str]]] = {}
        for place, judge in enumerate(self._judges):
            for key in self._texts:
                for style, variant in self._texts[key].variants.items():
                    if key in judge.scores and variant in judge.scores:
                        scores = judge.scores[key][TOTAL], judge.scores[variant][TOTAL], key[0]
                        found.setdefault((place, style), []).append(scores)
        pairs = [Pair(*(list(column) for column in zip(*rows, strict=True))) for rows in found.values()]
        for (place, style), gap in zip(found, compare_family(pairs, seed=self._seed), strict=True):
            low, high = (None if math.isnan(bound) or gap.n < MINIMUM_PART else bound
                         for bound in (gap.interval.low, gap.interval.high))  # fmt: skip
            yield StyleGap(
                judge=self._judges[place].name, criterion=self._judges[place].criterion, style=style, texts=gap.n,
                gap=StudyNumber(value=gap.difference, low=low, high=high), p_value=gap.p_value,
                verdict=gap.verdict("higher", "lower"),
            )  # fmt: skip


def _name(key: TextKey) -> str:
    return f"{key[0]}#{key[1]}"


def scaled(scores: Mapping[str, float], maximum: float, people_maximum: float) -> Mapping[str, float]:
    """Return scores on the scale of people, for a criterion with another maximum."""
    factor = people_maximum / maximum
    return scores if factor == 1 else {name: value * factor for name, value in scores.items()}
