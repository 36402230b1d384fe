"""Statistics of a review for a datasheet: people, decisions, agreement, and reasons of rejections."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from caretbench.build.validation.reviewed import REJECTED, SETTLED_NAME, ReviewedProblem
from caretbench.errors import DataError
from caretbench.files import read_lines, read_rows
from caretbench.metrics.agreement.coefficients import Rating, equal_share, krippendorff_alpha
from caretbench.problem import Row

DECISIONS_FILE: Final = "decisions.jsonl"
NO_REASON: Final = "no reason"


class QuestionFigures(Row):
    """Agreement on one question: items with answers of at least two people, share of equal pairs, and alpha.

    ``alpha`` is Krippendorff's, ordinal for numbers; None: nothing can disagree. ``mean`` is over items, of numbers.
    """

    items: int
    equal: float | None
    alpha: float | None
    mean: float | None


class ReviewFigures(Row):
    """Statistics of a review.

    ``rejections`` counts reasons; an item with several counts once for each. ``decisions``, ``people`` and ``hours``
    are those that hold, None if the folder has no file of decisions.
    """

    items: int
    settled: int
    accepted: int
    rejected: int
    states: Mapping[str, int]
    rejections: Mapping[str, int]
    people: int | None = None
    decisions: int | None = None
    hours: float | None = None
    questions: Mapping[str, QuestionFigures] = {}


def review_figures(folder: Path) -> ReviewFigures:
    """Return the statistics of a folder that ``caretbench review export`` wrote.

    Raises:
        DataError: it has no settled results, or a row is malformed.
    """
    path = folder / SETTLED_NAME
    if not path.exists():
        raise DataError(f"{path}: no such file; `caretbench review export` writes it")
    rows = list(read_rows(path, ReviewedProblem))
    rejected = [row for row in rows if row.value == REJECTED]
    reasons = Counter(reason for row in rejected for reason in row.reasons or (NO_REASON,))
    figures = ReviewFigures(
        items=len(rows),
        settled=sum(row.value is not None for row in rows),
        accepted=sum(row.value not in (None, REJECTED) for row in rows),
        rejected=len(rejected),
        states=dict(sorted(Counter(row.state for row in rows).items())),
        rejections=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
    )
    decisions = folder / DECISIONS_FILE
    return figures if not decisions.exists() else figures.model_copy(update=_people(decisions))


def _people(path: Path) -> dict[str, Any]:
    """Return the fields that follow from the decisions."""
    held = list(_held(path))
    answers: dict[str, dict[str, dict[str, Rating]]] = defaultdict(lambda: defaultdict(dict))
    for item, event in held:
        for question, answer in event["answers"].items():
            if isinstance(answer, int | str):
                answers[question][item][event["person"]] = answer
    return {
        "people": len({event["person"] for _, event in held}),
        "decisions": len(held),
        "hours": sum(float(event.get("active_s") or 0) for _, event in held) / 3600,
        "questions": {name: _question(list(by_item.values())) for name, by_item in sorted(answers.items())},
    }


def _held(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield item and event of the decisions that hold: those of reviewers, on items that are no controls."""
    for number, row in read_lines(path):
        event = row.get("event")
        if not isinstance(event, dict) or not isinstance(event.get("answers"), dict) or "person" not in event:
            raise DataError(f"{path}:{number}: no decision of a review; `caretbench review export` writes this file")
        if row.get("holds") and row.get("kind") == "item" and row.get("role") == "reviewer" and not event.get("repeat"):
            yield str(row.get("item")), event


def _question(by_item: Sequence[Mapping[str, Rating]]) -> QuestionFigures:
    several = [list(given.values()) for given in by_item if len(given) > 1]
    most = max(map(len, several), default=0)
    ratings = [[given[place] if place < len(given) else None for given in several] for place in range(most)]
    numbers = all(isinstance(value, int) for given in by_item for value in given.values())
    means = [sum(map(float, given.values())) / len(given) for given in by_item] if numbers else []
    return QuestionFigures(
        items=len(several),
        equal=equal_share(ratings) if several else None,
        alpha=krippendorff_alpha(ratings, "ordinal" if numbers else "nominal") if several else None,
        mean=sum(means) / len(means) if means else None,
    )
