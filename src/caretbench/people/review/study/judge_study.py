"""Study of judges by the ratings of a review: its numbers with seeded intervals, and lines for the terminal."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from caretbench.errors import UsageError
from caretbench.files import DataError, write_document
from caretbench.judging.aggregation import TextKey
from caretbench.judging.answers import answer_key
from caretbench.judging.criteria import Criterion, get_criterion
from caretbench.metrics.agreement import MINIMUM_ITEMS, ItemStatistic, alpha_of_people, item_estimate, replacement_test
from caretbench.metrics.correlation import mean_difference_statistic, pearson_statistic, spearman_statistic
from caretbench.metrics.kappa import cohen_statistic
from caretbench.metrics.paired import Pair, compare_family
from caretbench.models import AccessCheck, ClientOpener, unchecked
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.exchange import review_ratings
from caretbench.people.review.judge_scores import TOTAL, TextScores, scores_by_judge
from caretbench.people.review.records import rated_score_names
from caretbench.people.review.state import ReviewState
from caretbench.people.review.study.style_variants import style_variants
from caretbench.problem import Caret, Row
from caretbench.progress import Progress
from caretbench.runs.judging.judge_requests import DistinctText
from caretbench.runs.judging.plan import JudgingConfig, JudgingPlan
from caretbench.runs.judging.ratings import HumanRating, JudgingResult
from caretbench.runs.run_folder import RunFolder
from caretbench.suites.selection import Selection

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
    study = _Study({text.key: text for text in texts}, judges, seed)
    totals = {
        text.key: {person: scores[TOTAL] for person, scores in text.people.items()} for text in study.texts.values()
    }
    return StudyResult(
        criterion=criterion,
        simulated=simulated,
        people=len({person for given in totals.values() for person in given}),
        texts=len(study.texts),
        alpha=alpha_of_people(totals),
        comparisons=tuple(study.comparisons()),
        replacements=tuple(study.replacement(judge) for judge in judges),
        styles=tuple(study.style_gaps()),
    )


class _Study(NamedTuple):
    """Rated texts by key and the judges of a study."""

    texts: Mapping[TextKey, RatedText]
    judges: Sequence[StudyJudge]
    seed: int

    def people_mean(self, key: TextKey, score: str = TOTAL) -> float | None:
        given = [scores[score] for scores in self.texts[key].people.values() if score in scores]
        return math.fsum(given) / len(given) if given else None

    def pairs(self, judge: StudyJudge, keys: Iterable[TextKey], score: str = TOTAL) -> tuple[list[float], list[float]]:
        """Return the scores of a judge and the means of people, for the texts that have both."""
        ours, theirs = [], []
        for key in keys:
            mean = self.people_mean(key, score)
            if mean is not None and score in judge.scores.get(key, {}):
                ours.append(judge.scores[key][score])
                theirs.append(mean)
        return ours, theirs

    def estimate(self, statistic: ItemStatistic) -> StudyNumber:
        if statistic.items < MINIMUM_PART:
            return StudyNumber(value=statistic.estimate)
        estimate = item_estimate(statistic, seed=self.seed, resamples=RESAMPLES)
        return StudyNumber(value=estimate.value, low=estimate.low, high=estimate.high)

    # --- judges and people ---

    def comparisons(self) -> Iterator[JudgeComparison]:
        strata = sorted({text.stratum for text in self.texts.values()})
        for judge in self.judges:
            names = dict.fromkeys(name for scores in judge.scores.values() for name in scores)
            for score in sorted(names, key=lambda name: name != TOTAL):
                for part in ("all", *(strata if len(strata) > 1 else ())):
                    keys = [key for key in self.texts if part in {"all", self.texts[key].stratum}]
                    ours, theirs = self.pairs(judge, keys, score)
                    if len(ours) < MINIMUM_ITEMS:
                        continue
                    people = {person for key in keys for person in self.texts[key].people}
                    rounded = [[float(round(value)) for value in series] for series in (ours, theirs)]
                    yield JudgeComparison(
                        judge=judge.name,
                        criterion=judge.criterion,
                        part=part,
                        score=score,
                        texts=len(ours),
                        people=len(people),
                        spearman=self.estimate(spearman_statistic(ours, theirs)),
                        pearson=self.estimate(pearson_statistic(ours, theirs)),
                        mean_difference=self.estimate(mean_difference_statistic(ours, theirs)),
                        kappa=self.estimate(cohen_statistic(rounded[0], rounded[1], "quadratic")),
                    )

    def replacement(self, judge: StudyJudge) -> JudgeReplacement:
        keys = [key for key in self.texts if TOTAL in judge.scores.get(key, {})]
        people: dict[str, dict[str, float | str]] = defaultdict(dict)
        for key in keys:
            for person, scores in self.texts[key].people.items():
                people[person][_name(key)] = scores[TOTAL]
        replacement = replacement_test({_name(key): judge.scores[key][TOTAL] for key in keys}, people)
        return JudgeReplacement(
            judge=judge.name, criterion=judge.criterion, texts=len(keys), winning_rate=replacement.winning_rate,
            advantage=replacement.advantage, passes=replacement.passes, reason=replacement.reason,
            people=tuple(
                PersonReplacement(person=test.person, texts=test.items, advantage=test.advantage, p_value=test.p_value,
                                  wins=test.wins)
                for test in replacement.people
            ),
        )  # fmt: skip

    def style_gaps(self) -> Iterator[StyleGap]:
        """Yield the gaps of all judges and styles, as one family of tests: with many, some would differ by chance."""
        scores_by_style: dict[tuple[int, str], list[tuple[float, float, str]]] = {}
        for index, judge in enumerate(self.judges):
            for key in self.texts:
                for style, variant in self.texts[key].variants.items():
                    if key in judge.scores and variant in judge.scores:
                        scores = judge.scores[key][TOTAL], judge.scores[variant][TOTAL], key[0]
                        scores_by_style.setdefault((index, style), []).append(scores)
        pairs = [Pair(*(list(column) for column in zip(*rows, strict=True))) for rows in scores_by_style.values()]
        for (index, style), gap in zip(scores_by_style, compare_family(pairs, seed=self.seed), strict=True):
            low, high = (
                None if math.isnan(bound) or gap.n < MINIMUM_PART else bound
                for bound in (gap.interval.low, gap.interval.high)
            )
            yield StyleGap(
                judge=self.judges[index].name, criterion=self.judges[index].criterion, style=style, texts=gap.n,
                gap=StudyNumber(value=gap.difference, low=low, high=high), p_value=gap.p_value,
                verdict=gap.verdict("higher", "lower"),
            )  # fmt: skip


def _name(key: TextKey) -> str:
    return f"{key[0]}#{key[1]}"


class JudgeStudy:
    """Study of judges of a run by the ratings of a review.

    Args:
        database: The review; people have rated answers of the run.
        folder: The run, which stores the judgements.
        config: Judges and their settings; its criterion is not used.
        criteria: Criteria of the judges; empty: the one that people rated by.
        check_access: Called with spec and options of every judge.

    Raises:
        DataError: nobody has rated an answer, or a criterion judges statements.
        UsageError: problems are selected.
        ValueError, KeyError: as of :class:`~caretbench.runs.judging.plan.JudgingPlan`.
    """

    def __init__(
        self,
        database: ReviewDatabase,
        folder: RunFolder,
        config: JudgingConfig,
        criteria: Sequence[str] = (),
        check_access: AccessCheck = unchecked,
    ) -> None:
        if config.selection != Selection():
            raise UsageError(
                "a study is of the texts that people rated; --select, --limit and --per-cell are not for it"
            )
        self.folder = folder
        self._config = config
        state = ReviewState(database)
        ratings = review_ratings(database, state, folder)
        if not ratings:
            raise DataError(f"{database.path}: nobody has rated an answer yet; see `caretbench review status`")
        named = {name: get_criterion(name) for name in criteria}
        rated_by = ratings[0].criterion
        self._own = next((asked for asked in named.values() if asked.key == rated_by), None) or get_criterion(rated_by)
        self._simulated = all(row.simulated for row in ratings)
        rows = [row for row in ratings if row.simulated == self._simulated]
        self.texts, chosen = _rated_texts(state, folder, rows, self._own)
        self.plans: dict[str, JudgingPlan] = {}
        for name, judged_by in (named or {rated_by: self._own}).items():
            if judged_by.then is not None:
                raise DataError(f"{judged_by.key}: a study is of criteria that give scores; this one finds statements")
            plan = JudgingPlan(folder, replace(config, criterion=name, control_problems=0), check_access, chosen=chosen)
            self.plans[plan.batches[0].criterion.key] = plan

    def forecast(self, opener: ClientOpener) -> list[dict[str, Any]]:
        """Return the requests by judge and criterion; nothing is sent."""
        return [row for plan in self.plans.values() for row in plan.forecast(opener)]

    def judge(self, opener: ClientOpener, progress: Progress | None = None) -> dict[str, JudgingResult]:
        """Ask the judges for what is missing; return the results by judge and criterion in words."""
        results: dict[str, JudgingResult] = {}
        for key, plan in self.plans.items():
            for name, parts in plan.judge(opener, progress).items():
                results |= {f"{name}, {key}": result for result in parts.values()}
        return results

    def result(self, seed: int = 0) -> StudyResult:
        """Return the results over the stored judgements of the judges; without judges, of all.

        Raises:
            DataError: no judge has judged the texts.
        """
        judges = [judge for key, plan in self.plans.items() for judge in self._judges(key, plan)]
        if not judges:
            keys = ", ".join(self.plans)
            raise DataError(f"{self.folder.path}: no judge has judged these texts by {keys}; name one: -m SPEC")
        return study_result(self.texts, judges, self._own.key, simulated=self._simulated, seed=seed)

    def _judges(self, key: str, plan: JudgingPlan) -> list[StudyJudge]:
        criterion = plan.batches[0].criterion
        by_judge = scores_by_judge(self.folder.judgements(), key)
        wanted = set(self._config.judges) or {name for name, _ in by_judge}
        keys = {judged for text in self.texts for judged in (text.key, *text.variants.values())}
        judges = []
        for (name, parameters), scores in by_judge.items():
            own_scores = {text: self._scores(criterion, value) for text, value in scores.items() if text in keys}
            if name in wanted and any(text.key in own_scores for text in self.texts):
                several = sum(other == name for other, _ in by_judge) > 1
                judges.append(StudyJudge(f"{name} {parameters[:6]}" if several else name, key, own_scores))
        return judges

    def _scores(self, criterion: Criterion, value: TextScores) -> Mapping[str, float]:
        total = criterion.value(value.means)
        if criterion.key != self._own.key:
            # On the scale of people, for a criterion with another maximum.
            return {TOTAL: total * (self._own.maximum / criterion.maximum)}
        scores = {name: value.means[name] for name in rated_score_names(criterion) if name in value.means}
        return scores | {TOTAL: total}


def write_study(folder: Path, result: StudyResult) -> Path:
    """Write the results into the folder of a review; return the path."""
    path = folder / "study.json"
    write_document(path, result)
    return path


def _rated_texts(
    state: ReviewState, folder: RunFolder, rows: Sequence[HumanRating], criterion: Criterion
) -> tuple[list[RatedText], list[DistinctText]]:
    """Return the rated texts, and the texts to judge: these and their variants in another style."""
    problems = {problem.id: problem for problem in folder.problems()}
    items = {(item.problem_id, item.answer): item for item in state.current_items().values()}
    rated: list[RatedText] = []
    chosen: dict[TextKey, DistinctText] = {}
    for key, group in itertools.groupby(rows, key=lambda row: (row.problem_id, row.answer)):
        item, problem = items[key], problems[key[0]]
        people = {}
        for row in group:
            values = {name: value for name, value in row.values.items() if value is not None}
            people[row.rater] = values | {TOTAL: criterion.value(values)}
        chosen[key] = DistinctText(problem, item.shown.span, key[1])
        variants = {}
        for style, text in style_variants(problem, item.shown.span).items():
            variants[style] = (problem.id, answer_key(text))
            chosen.setdefault(variants[style], DistinctText(problem, text, variants[style][1]))
        stratum = item.language if isinstance(problem.shown, Caret) else item.labels.get("task", item.suite)
        rated.append(RatedText(key, stratum, people, variants))
    return rated, list(chosen.values())


SIMULATED = "simulated ratings (test only)"


def study_lines(result: StudyResult) -> Iterator[str]:
    """Yield what a study says: a line for all of it, and one for each judge. The rest is in the file."""
    who = SIMULATED if result.simulated else "1 person" if result.people == 1 else f"{result.people} people"
    alpha = "undefined" if result.alpha is None else f"{result.alpha:.2f}"
    yield f"{who}, {result.texts} texts by {result.criterion}; Krippendorff's alpha among people: {alpha}"
    for row in result.replacements:
        same = [entry for entry in result.comparisons if (entry.judge, entry.criterion) == (row.judge, row.criterion)]
        total = next((entry for entry in same if (entry.part, entry.score) == ("all", TOTAL)), None)
        parts = [_replacement_text(row)]
        if total is not None:
            parts.append(f"Spearman {_text(total.spearman)}, judge minus people {_text(total.mean_difference, '+.2f')}")
        parts += [
            f"rates {gap.style} {gap.verdict}: {_text(gap.gap, '+.2f')} points"
            for gap in result.styles
            if (gap.judge, gap.criterion) == (row.judge, row.criterion) and gap.verdict in {"higher", "lower"}
        ]
        yield f"{row.judge} ({row.criterion}), {row.texts} texts: {'; '.join(parts)}"


def _replacement_text(row: JudgeReplacement) -> str:
    if row.passes is None:
        return f"no test against people: {row.reason}"
    verdict = "may take the place of a person" if row.passes else "may not take the place of a person"
    return f"{verdict}, wins against {row.winning_rate:.0%} of them"


def _text(number: StudyNumber, form: str = ".2f") -> str:
    if number.value is None:
        return "undefined"
    if number.low is None or number.high is None:
        return f"{number.value:{form}}"
    return f"{number.value:{form}} [{number.low:{form}} to {number.high:{form}}]"
