"""Human ratings of the judged texts: ``human_ratings.jsonl`` in a run's folder, written by reviews of its answers.

Without it no number of a judge is more than the judge's own opinion, as the report notes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from caretbench.files import DataError, read_rows
from caretbench.judging.aggregation import TextKey
from caretbench.judging.criteria import Criterion
from caretbench.judging.prompting import question_text
from caretbench.metrics.agreement.coefficients import alpha_of_people
from caretbench.metrics.agreement.item_statistic import MINIMUM_ITEMS, ItemEstimate, item_estimate
from caretbench.metrics.correlation import mean_difference_statistic, pearson_statistic, spearman_statistic
from caretbench.problem import Caret, Problem, Row
from caretbench.runs.run_folder import RunFolder

RATINGS_NAME = "human_ratings.jsonl"


class HumanRating(Row):
    """One person's rating of one text; a row whose ``values`` are not all numbers does not count.

    The hash ``answer`` identifies the rated text; the texts are for readers. Of an answer to a question that is what
    was shown (``question``), the ``reference``, and the answer as ``completion``; of a caret with an instruction also
    that and the ``reference``. ``criterion`` is the key of the criterion that the rating is about; rows without one
    are about every criterion with the same scores.
    """

    problem_id: str
    answer: str
    rater: str = ""
    values: Mapping[str, float | None] = Field(default_factory=dict)
    language: str = ""
    prefix: str = ""
    completion: str = ""
    suffix: str = ""
    question: str = ""
    reference: str = ""
    instruction: str = Field(default="", exclude_if=lambda text: not text)
    criterion: str = Field(default="", exclude_if=lambda text: not text)
    simulated: bool = Field(default=False, exclude_if=lambda value: not value)
    """True: made by a program in a test. No report calls such ratings validated."""

    @property
    def total(self) -> float | None:
        """Sum of the scores; None if a score is missing. Rounded, so that equal sums have equal ranks."""
        scores = [value for value in self.values.values() if value is not None]
        return round(math.fsum(scores), 9) if scores and len(scores) == len(self.values) else None


class HumanAgreement(NamedTuple):
    """Agreement of a judge with people on the texts that both rated: totals, for people the mean over raters.

    The coefficients have intervals over texts. ``alpha`` is Krippendorff's (ordinal) among the people themselves, where
    several rated the same texts.
    """

    texts: int
    raters: int
    pearson: ItemEstimate
    spearman: ItemEstimate
    mean_difference: ItemEstimate
    """Judge minus people."""
    alpha: float | None
    simulated: bool


def read_ratings(folder: RunFolder) -> list[HumanRating]:
    """Return the ratings of a run that are filled in.

    Raises:
        DataError: a row does not fit, lacks its rater, or a person rated a text twice.
    """
    path = folder.path / RATINGS_NAME
    if not path.exists():
        return []
    found: dict[tuple[str, str, str, str], HumanRating] = {}
    for row in read_rows(path, HumanRating):
        key = (row.rater, row.criterion, row.problem_id, row.answer)
        if row.total is None:
            continue
        if not row.rater:
            raise DataError(f"{path}: a rating of {row.problem_id} does not name its rater")
        if key in found:
            raise DataError(f"{path}: {row.rater} rated one text of {row.problem_id} twice")
        found[key] = row
    return list(found.values())


def rated_score_names(criterion: Criterion) -> list[str]:
    """Return the names of a person's scores: the criterion's, or hallucination (1) or none (0)."""
    return ["hallucination"] if criterion.then is not None else [scale.name for scale in criterion.scores]


def shown_texts(problem: Problem) -> dict[str, str]:
    """Return the texts of a problem that a rating has for its readers, by field."""
    shown = problem.shown
    if isinstance(shown, Caret):
        texts = {"language": shown.language, "prefix": shown.prefix, "suffix": shown.suffix}
        if shown.instruction:
            texts |= {"instruction": shown.instruction, "reference": problem.reference}
        return texts
    language = problem.label("language") if "language" in problem.labels else ""
    return {"language": language, "question": question_text(shown), "reference": problem.reference}


def ratings_of_criterion(rows: Iterable[HumanRating], criterion: str) -> list[HumanRating]:
    """Return the ratings about a criterion (its key); simulated ones only where there are no others."""
    about = [row for row in rows if row.criterion in {"", criterion}]
    return [row for row in about if not row.simulated] or about


def human_agreement(rows: Sequence[HumanRating], judged: Mapping[TextKey, float]) -> HumanAgreement | None:
    """Return the agreement of a judge's totals with people's; None with fewer than three common texts."""
    by_text: dict[TextKey, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.total is not None and (row.problem_id, row.answer) in judged:
            by_text[row.problem_id, row.answer][row.rater] = row.total
    if len(by_text) < MINIMUM_ITEMS:
        return None
    texts = sorted(by_text)
    people = [math.fsum(by_text[text].values()) / len(by_text[text]) for text in texts]
    judge = [judged[text] for text in texts]
    return HumanAgreement(
        texts=len(texts),
        raters=len({rater for given in by_text.values() for rater in given}),
        pearson=item_estimate(pearson_statistic(judge, people)),
        spearman=item_estimate(spearman_statistic(judge, people)),
        mean_difference=item_estimate(mean_difference_statistic(judge, people)),
        alpha=alpha_of_people(by_text),
        simulated=any(row.simulated for row in rows),
    )
