"""Numbers of a study, from people's ratings and judges' scores; pure functions with seeded intervals."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from caretbench.judging.aggregation import TOTAL, TextKey
from caretbench.judging.model_families import model_family
from caretbench.metrics.agreement.coefficients import alpha_of_people, cohen_statistic
from caretbench.metrics.agreement.item_statistic import (
    MINIMUM_ITEMS,
    ItemEstimate,
    ItemStatistic,
    item_difference,
    item_estimate,
)
from caretbench.metrics.correlation import mean_difference_statistic, pearson_statistic, spearman_statistic
from caretbench.metrics.resampling import Floats
from caretbench.people.study_statistics.item_halves import item_halves
from caretbench.people.study_statistics.replacement_test import replacement_test
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


def majority(values: Sequence[float]) -> float:
    """Return the most frequent value, rounded to whole points; among equally frequent ones the middle one."""
    counts = Counter(round(value) for value in values)
    most = max(counts.values())
    return float(statistics.median_low(sorted(value for value, count in counts.items() if count == most)))


ENSEMBLES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "mean": lambda values: math.fsum(values) / len(values),
    "median": statistics.median,
    "majority": majority,
}


def ensembles(judges: Sequence[StudyJudge]) -> Iterator[StudyJudge]:
    """Yield the ensembles of the judges of one criterion, over the texts that all of them judged."""
    if len(judges) < 2:
        return
    shared = set.intersection(*(set(judge.scores) for judge in judges))
    names = tuple(judge.name for judge in judges)
    for title, fold in ENSEMBLES.items():
        scores = {
            text: {score: fold([judge.scores[text][score] for judge in judges]) for score in judges[0].scores[text]}
            for text in sorted(shared)
        }
        yield StudyJudge(f"{title} of {len(judges)}", judges[0].criterion, scores, names)


RESAMPLES = 1_000


def study_result(
    texts: Sequence[RatedText], judges: Sequence[StudyJudge], criterion: str, *, simulated: bool, seed: int = 0
) -> StudyResult:
    """Return the results of a study.

    Args:
        texts: Texts with ratings.
        judges: Scores of each judge by each criterion, of the texts and of their variants.
        criterion: Criterion that people rated by.
        simulated: The ratings were made by a program.
        seed: Seed of the halves and of the intervals.
    """
    return _Study(texts, judges, criterion, seed).result(simulated=simulated)


class _Study:
    def __init__(self, texts: Sequence[RatedText], judges: Sequence[StudyJudge], criterion: str, seed: int) -> None:
        self._texts = {text.key: text for text in texts}
        self._criterion = criterion
        self._seed = seed
        halves = item_halves({_name(text.key): text.stratum for text in texts}, seed=seed)
        chosen = set(halves.chosen)
        self._halves = (
            [text.key for text in texts if _name(text.key) in chosen],
            [text.key for text in texts if _name(text.key) not in chosen],
        )
        self._by_criterion: dict[str, list[StudyJudge]] = defaultdict(list)
        for judge in judges:
            self._by_criterion[judge.criterion].append(judge)
        self._judges = list(judges)
        self._ensembles = [one for group in self._by_criterion.values() for one in ensembles(group)]
        self._reported = self._halves[1] if len(self._by_criterion) > 1 else list(self._texts)

    def result(self, *, simulated: bool) -> StudyResult:
        totals = {
            key: {person: scores[TOTAL] for person, scores in text.people.items()} for key, text in self._texts.items()
        }
        return StudyResult(
            criterion=self._criterion,
            simulated=simulated,
            people=len({person for given in totals.values() for person in given}),
            texts=len(self._texts),
            reported_texts=len(self._reported),
            alpha=alpha_of_people(totals),
            comparisons=tuple(self._comparisons()),
            replacements=tuple(self._replacement(judge) for judge in self._all),
            criteria=tuple(self._criteria()),
            ensembles=tuple(self._gains()),
            styles=tuple(self._style_gaps()),
            families=tuple(self._leanings()),
        )

    @property
    def _all(self) -> list[StudyJudge]:
        return [*self._judges, *self._ensembles]

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
        return _number(item_estimate(statistic, seed=self._seed, resamples=RESAMPLES))

    # --- judges and people ---

    def _comparisons(self) -> Iterator[JudgeComparison]:
        strata = sorted({text.stratum for text in self._texts.values()})
        for judge in self._all:
            names = dict.fromkeys(name for scores in judge.scores.values() for name in scores)
            for score in sorted(names, key=lambda name: name != TOTAL):
                for part in ("all", *(strata if len(strata) > 1 else ())):
                    keys = [key for key in self._reported if part in {"all", self._texts[key].stratum}]
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
        keys = [key for key in self._reported if TOTAL in judge.scores.get(key, {})]
        people: dict[str, dict[str, float | str]] = defaultdict(dict)
        for key in keys:
            for person, scores in self._texts[key].people.items():
                people[person][_name(key)] = scores[TOTAL]
        found = replacement_test({_name(key): judge.scores[key][TOTAL] for key in keys}, people)
        return JudgeReplacement(
            judge=judge.name, criterion=judge.criterion, texts=len(keys), winning_rate=found.winning_rate,
            advantage=found.advantage, passes=found.passes, reason=found.reason,
        )  # fmt: skip

    # --- criteria and ensembles ---

    def _criteria(self) -> Iterator[CriterionChoice]:
        if len(self._by_criterion) < 2:
            return
        means = {name: next(ensembles(group), group[0]) for name, group in self._by_criterion.items()}
        first = {name: self._spearman(judge, self._halves[0]).estimate for name, judge in means.items()}
        best = max(first, key=lambda name: -2.0 if first[name] is None else float(first[name] or 0.0))
        for name, judge in means.items():
            second = self._estimate(self._spearman(judge, self._halves[1]))
            yield CriterionChoice(criterion=name, on_first_half=first[name], on_second_half=second, chosen=name == best)

    def _gains(self) -> Iterator[EnsembleGain]:
        """Yield each ensemble's gain on the second half; the first half chooses the best member."""
        for ensemble in self._ensembles:
            members = [judge for judge in self._by_criterion[ensemble.criterion] if judge.name in ensemble.members]
            keys = [[key for key in half if key in ensemble.scores] for half in self._halves]
            best = max(members, key=lambda judge: self._spearman(judge, keys[0]).estimate or -2.0)
            found = item_difference(
                self._spearman(ensemble, keys[1]), self._spearman(best, keys[1]), seed=self._seed, resamples=RESAMPLES
            )
            yield EnsembleGain(
                ensemble=ensemble.name, criterion=ensemble.criterion, member=best.name, p_value=found.p_value,
                difference=StudyNumber(value=found.difference, low=found.low, high=found.high),
            )  # fmt: skip

    def _spearman(self, judge: StudyJudge, keys: Sequence[TextKey]) -> ItemStatistic:
        return spearman_statistic(*self._pairs(judge, keys))

    # --- style and family ---

    def _style_gaps(self) -> Iterator[StyleGap]:
        for judge in self._judges:
            found: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
            for key in self._reported:
                for style, variant in self._texts[key].variants.items():
                    if key in judge.scores and variant in judge.scores:
                        found[style][0].append(judge.scores[variant][TOTAL])
                        found[style][1].append(judge.scores[key][TOTAL])
            for style, (changed, original) in sorted(found.items()):
                gap = self._estimate(mean_difference_statistic(changed, original))
                sign = int((gap.low or 0) > 0) - int((gap.high or 0) < 0)
                yield StyleGap(
                    judge=judge.name, criterion=judge.criterion, style=style, texts=len(changed), gap=gap,
                    verdict="higher" if sign > 0 else "lower" if sign < 0 else "not distinguishable",
                )  # fmt: skip

    def _leanings(self) -> Iterator[FamilyLeaning]:
        for judge in self._judges:
            family = model_family(judge.name)
            errors: list[float] = []
            own: list[float] = []
            for key in self._reported:
                families = {model_family(author) for author in self._texts[key].authors}
                mean = self._people_mean(key)
                if key in judge.scores and mean is not None and None not in families and families:
                    errors.append(judge.scores[key][TOTAL] - mean)
                    own.append(float(family in families))
            count = round(sum(own))
            if family is not None and min(count, len(own) - count) >= MINIMUM_ITEMS:
                yield FamilyLeaning(
                    judge=judge.name, criterion=judge.criterion, family=family, own_texts=count,
                    other_texts=len(own) - count,
                    leaning=self._estimate(_difference_of_groups(np.asarray(errors), np.asarray(own))),
                )  # fmt: skip


def _difference_of_groups(values: Floats, is_own: Floats) -> ItemStatistic:
    """Return the mean of one group minus that of the other, as a function of the items."""

    def value(weights: Floats) -> Floats:
        own, other = weights @ is_own, weights @ (1 - is_own)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = weights @ (values * is_own) / own - weights @ (values * (1 - is_own)) / other
        return found

    return ItemStatistic(value, np.ones(len(values)))


def _number(estimate: ItemEstimate) -> StudyNumber:
    return StudyNumber(value=estimate.value, low=estimate.low, high=estimate.high)


def _name(key: TextKey) -> str:
    return f"{key[0]}#{key[1]}"


def scaled(scores: Mapping[str, float], maximum: float, people_maximum: float) -> Mapping[str, float]:
    """Return scores on the scale of people, for a criterion with another maximum."""
    factor = people_maximum / maximum
    return scores if factor == 1 else {name: value * factor for name, value in scores.items()}
