"""Ratings of a review for the run that it is about: ``human_ratings.jsonl``, by which reports compare judges."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from caretbench.errors import check_folder_is_writable
from caretbench.files import DataError, read_rows, write_rows
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.state import ReviewState
from caretbench.runs.judging.ratings import RATINGS_NAME, HumanRating, shown_texts
from caretbench.runs.run_folder import RunFolder


class WrittenRatings(NamedTuple):
    """File of ratings, the number of rows of this review in it, and that of others which stay."""

    path: Path
    ratings: int
    others: int


def review_ratings(database: ReviewDatabase, state: ReviewState, folder: RunFolder) -> list[HumanRating]:
    """Return the ratings of the reviewers that hold, of items of the result; not those of the adjudicator.

    Raises:
        DataError: the review is not about a criterion, or the run has other problems.
    """
    protocol = state.protocol
    if protocol.criterion is None:
        raise DataError(f"{database.path}: the protocol {protocol.key} rates nothing that a judge rates")
    scales = [question.name for question in protocol.questions if question.kind == "scale"]
    problems = {problem.id: problem for problem in folder.problems()}
    rows = []
    for _, item_id, item in database.items():
        if item.kind != "item" or item_id in state.replaced:
            continue
        for person, event in sorted(state.decisions(item_id).items()):
            values = {name: float(event.answers[name]) for name in scales if name in event.answers}
            if len(values) < len(scales):
                continue
            if item.problem_id not in problems:
                raise DataError(f"{folder.problems_path}: no problem {item.problem_id}; name the run: --run RUN")
            rows.append(
                HumanRating(
                    problem_id=item.problem_id,
                    answer=item.answer,
                    rater=person,
                    values=values,
                    completion=item.shown.span,
                    criterion=protocol.criterion,
                    simulated=event.simulated,
                    **shown_texts(problems[item.problem_id]),
                )
            )
    return sorted(rows, key=lambda row: (row.problem_id, row.answer, row.rater))


def write_human_ratings(database: ReviewDatabase, state: ReviewState, folder: RunFolder) -> WrittenRatings:
    """Write the ratings of a review into a run. Ratings by other people, or about other criteria, stay.

    Raises:
        DataError: as :func:`review_ratings`, or the file that is there cannot be read.
        MachineError: the run's folder cannot be written.
    """
    check_folder_is_writable(folder.path, "export the ratings of a copy of the run")
    rows = review_ratings(database, state, folder)
    ours = {(name, state.protocol.criterion) for name in state.people} | {(row.rater, row.criterion) for row in rows}
    path = folder.path / RATINGS_NAME
    stored = list(read_rows(path, HumanRating)) if path.exists() else []
    kept = [row for row in stored if (row.rater, row.criterion) not in ours]
    write_rows(path, [*kept, *rows])
    return WrittenRatings(path, len(rows), len(kept))
