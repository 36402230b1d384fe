"""Human ratings of the judged texts: ``human_ratings.jsonl`` in a run's folder.

Without it no number of a judge is more than the judge's own opinion, as the report notes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from caretbench.files import read_rows, sha256_text
from caretbench.judging.aggregation import TextKey
from caretbench.judging.criteria import Criterion
from caretbench.judging.prompting import question_text
from caretbench.judging.rating_rows import alpha_of_people, checked_ratings
from caretbench.metrics.correlation import pearson, spearman
from caretbench.problem import Caret, Problem, Row
from caretbench.runs.judging.texts_to_judge import DistinctText
from caretbench.runs.run_folder import RunFolder

RATINGS_NAME = "human_ratings.jsonl"


class HumanRating(Row):
    """One person's rating of one text; a row whose ``values`` are not all numbers is still to be filled in.

    The texts are for the person to read; the hash ``answer`` identifies the rated text. Of an answer to a question
    that is what was shown (``question``), the ``reference``, and the answer as ``completion``; of a caret with an
    instruction also that and the ``reference``.
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

    @property
    def total(self) -> float | None:
        """Sum of the scores; None if a score is missing. Rounded, so that equal sums have equal ranks."""
        scores = [value for value in self.values.values() if value is not None]
        return round(math.fsum(scores), 9) if scores and len(scores) == len(self.values) else None


class HumanAgreement(NamedTuple):
    """Agreement of a judge with people on the texts that both rated: totals, for people the mean over raters.

    ``alpha`` is Krippendorff's (ordinal) among the people themselves, where several rated the same texts.
    """

    texts: int
    raters: int
    pearson: float | None
    spearman: float | None
    mean_difference: float
    """Judge minus people."""
    alpha: float | None


def read_ratings(folder: RunFolder) -> list[HumanRating]:
    """Return the ratings of a run that are filled in.

    Raises:
        DataError: a row does not fit, lacks its rater, or a person rated a text twice.
    """
    path = folder.path / RATINGS_NAME
    if not path.exists():
        return []
    filled = (row for row in read_rows(path, HumanRating) if row.total is not None)
    return checked_ratings(path, filled, lambda row: row.answer)


def rated_score_names(criterion: Criterion) -> list[str]:
    """Return the names of a person's scores: the criterion's, or hallucination (1) or none (0)."""
    return ["hallucination"] if criterion.then is not None else [scale.name for scale in criterion.scores]


def rating_sheet(subjects: Iterable[DistinctText], scores: Sequence[str], per_language: int) -> Iterator[HumanRating]:
    """Return rows for a person to fill in: blind texts, evenly over the languages, always the same ones."""
    counts: dict[str, int] = defaultdict(int)
    for subject in sorted(subjects, key=lambda entry: sha256_text(entry.problem.id, entry.answer)):
        row = HumanRating(
            problem_id=subject.problem.id,
            answer=subject.answer,
            values=dict.fromkeys(scores),
            completion=subject.text,
            **_shown(subject.problem),
        )
        counts[row.language] += 1
        if counts[row.language] <= per_language:
            yield row


def _shown(problem: Problem) -> dict[str, str]:
    shown = problem.shown
    if isinstance(shown, Caret):
        texts = {"language": shown.language, "prefix": shown.prefix, "suffix": shown.suffix}
        if shown.instruction:
            texts |= {"instruction": shown.instruction, "reference": problem.reference}
        return texts
    language = problem.label("language") if "language" in problem.labels else ""
    return {"language": language, "question": question_text(shown), "reference": problem.reference}


def human_agreement(rows: Sequence[HumanRating], judged: Mapping[TextKey, float]) -> HumanAgreement | None:
    """Return the agreement of a judge's totals with people's; None with fewer than three common texts."""
    by_text: dict[TextKey, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.total is not None and (row.problem_id, row.answer) in judged:
            by_text[row.problem_id, row.answer][row.rater] = row.total
    if len(by_text) < 3:
        return None
    texts = sorted(by_text)
    people = [math.fsum(by_text[text].values()) / len(by_text[text]) for text in texts]
    judge = [judged[text] for text in texts]
    linear, ranked = pearson(judge, people), spearman(judge, people)
    return HumanAgreement(
        texts=len(texts),
        raters=len({rater for given in by_text.values() for rater in given}),
        pearson=linear and linear.coefficient,
        spearman=ranked and ranked.coefficient,
        mean_difference=(math.fsum(judge) - math.fsum(people)) / len(texts),
        alpha=alpha_of_people(by_text),
    )
