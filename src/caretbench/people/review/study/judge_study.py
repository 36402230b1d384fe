"""Study of judges by the ratings of a review, and its results as lines for the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from caretbench.errors import UsageError
from caretbench.files import DataError, write_document
from caretbench.judging.aggregation import TOTAL, TextKey, TextScores, scores_by_grader
from caretbench.judging.answers import answer_key
from caretbench.judging.criteria import Criterion
from caretbench.judging.criteria import criterion as find_criterion
from caretbench.judging.style_variants import style_variants
from caretbench.models import AccessCheck, ClientOpener, unchecked
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.exchange import review_ratings
from caretbench.people.review.state import ReviewState
from caretbench.people.review.study.study_numbers import (
    JudgeReplacement,
    RatedText,
    StudyJudge,
    StudyNumber,
    StudyResult,
    scaled,
    study_result,
)
from caretbench.problem import Caret
from caretbench.progress import Progress
from caretbench.runs.judging.judge_requests import DistinctText
from caretbench.runs.judging.plan import JudgingConfig, JudgingPlan
from caretbench.runs.judging.ratings import HumanRating, JudgingResult, rated_score_names
from caretbench.runs.run_folder import RunFolder
from caretbench.suites.selection import Selection

STUDY_NAME: Final = "study.json"
"""Name of the results in the folder of the review."""


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
        wanted = [find_criterion(name) for name in dict.fromkeys(criteria)]
        rated_by = ratings[0].criterion
        self._own = next((one for one in wanted if one.key == rated_by), None) or find_criterion(rated_by)
        self._simulated = all(row.simulated for row in ratings)
        rows = [row for row in ratings if row.simulated == self._simulated]
        self.texts, chosen = _rated_texts(database, state, folder, rows, self._own)
        names = dict(zip(dict.fromkeys(criteria), wanted, strict=True)) or {rated_by: self._own}
        self.plans: dict[str, JudgingPlan] = {}
        for name, found in names.items():
            if found.then is not None:
                raise DataError(f"{found.key}: a study is of criteria that give scores; this one finds statements")
            plan = JudgingPlan(folder, replace(config, criterion=name, control_problems=0), check_access, chosen=chosen)
            self.plans[plan.parts[0].criterion.key] = plan

    def forecast(self, opener: ClientOpener) -> list[dict[str, Any]]:
        """Return the requests by judge and criterion; nothing is sent."""
        return [row for plan in self.plans.values() for row in plan.forecast(opener)]

    def judge(self, opener: ClientOpener, progress: Progress | None = None) -> dict[str, JudgingResult]:
        """Ask the judges for what is missing; return the results by judge and criterion in words."""
        found: dict[str, JudgingResult] = {}
        for key, plan in self.plans.items():
            for name, parts in plan.judge(opener, progress).items():
                found |= {f"{name}, {key}": result for result in parts.values()}
        return found

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
        criterion = plan.parts[0].criterion
        graders = scores_by_grader(self.folder.judgements(), key)
        wanted = set(self._config.judges) or {name for name, _ in graders}
        keys = {text.key for text in self.texts} | {one for text in self.texts for one in text.variants.values()}
        found = []
        for (name, parameters), scores in graders.items():
            own = {text: self._scores(criterion, value) for text, value in scores.items() if text in keys}
            if name in wanted and any(text.key in own for text in self.texts):
                several = sum(other == name for other, _ in graders) > 1
                found.append(StudyJudge(f"{name} {parameters[:6]}" if several else name, key, own))
        return found

    def _scores(self, criterion: Criterion, value: TextScores) -> Mapping[str, float]:
        total = {TOTAL: criterion.value(value.means)}
        if criterion.key != self._own.key:
            return scaled(total, criterion.maximum, self._own.maximum)
        return {name: value.means[name] for name in rated_score_names(criterion) if name in value.means} | total


def write_study(folder: Path, result: StudyResult) -> Path:
    """Write the results into the folder of a review; return the path."""
    path = folder / STUDY_NAME
    write_document(path, result)
    return path


def _rated_texts(
    database: ReviewDatabase, state: ReviewState, folder: RunFolder, rows: Sequence[HumanRating], criterion: Criterion
) -> tuple[list[RatedText], list[DistinctText]]:
    """Return the rated texts, and the texts to judge: these and their variants in another style."""
    problems = {problem.id: problem for problem in folder.problems()}
    items = {
        (item.problem_id, item.answer): item
        for _, item_id, item in database.items()
        if item.kind == "item" and item_id not in state.replaced
    }
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
    for one in result.replacements:
        same = [found for found in result.comparisons if (found.judge, found.criterion) == (one.judge, one.criterion)]
        total = next((found for found in same if (found.part, found.score) == ("all", TOTAL)), None)
        parts = [_replacement_text(one)]
        if total is not None:
            parts.append(f"Spearman {_text(total.spearman)}, judge minus people {_text(total.mean_difference, '+.2f')}")
        parts += [
            f"rates {gap.style} {gap.verdict}: {_text(gap.gap, '+.2f')} points"
            for gap in result.styles
            if (gap.judge, gap.criterion) == (one.judge, one.criterion) and gap.verdict in {"higher", "lower"}
        ]
        yield f"{one.judge} ({one.criterion}), {one.texts} texts: {'; '.join(parts)}"


def _replacement_text(one: JudgeReplacement) -> str:
    if one.passes is None:
        return f"no test against people: {one.reason}"
    verdict = "may take the place of a person" if one.passes else "may not take the place of a person"
    return f"{verdict}, wins against {one.winning_rate:.0%} of them"


def _text(number: StudyNumber, form: str = ".2f") -> str:
    if number.value is None:
        return "undefined"
    if number.low is None or number.high is None:
        return f"{number.value:{form}}"
    return f"{number.value:{form}} [{number.low:{form}} to {number.high:{form}}]"
