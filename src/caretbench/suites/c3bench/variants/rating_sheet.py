"""Rating sheets of contexts and instructions: rows for people to fill in, their decisions, their agreement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field, field_validator

from caretbench.files import read_rows, sha256_text
from caretbench.judging.rating_rows import alpha_of_people, checked_ratings
from caretbench.problem import Caret, Problem, Row

QUESTIONS: Final[Mapping[str, str]] = {
    "context": "the shown text is fit for a problem: it reads well, and says what is missing",
    "instruction": "the instruction is clear, and asks for this middle and for no other one",
}
"""Questions of a sheet; 1 is yes, 0 is no."""


class VariantRating(Row):
    """One person's answers about one problem; a row without ``rater`` is still to be filled in.

    ``item`` is a hash of the shown text, the middle and the instruction: a row about another text does not count.
    ``values`` are 1 (keep) or 0 (drop) by question. The other fields are for the person to read.
    """

    problem_id: str
    item: str
    rater: str = ""
    values: Mapping[str, int | None] = Field(default_factory=lambda: dict.fromkeys(QUESTIONS))
    language: str = ""
    category: str = ""
    prefix: str = ""
    middle: str = ""
    suffix: str = ""
    instruction: str = ""

    @field_validator("values")
    @classmethod
    def _are_answers(cls, values: Mapping[str, int | None]) -> Mapping[str, int | None]:
        for name, value in values.items():
            if name not in QUESTIONS:
                raise ValueError(f"no question {name!r}; questions: {', '.join(QUESTIONS)}")
            if value not in {None, 0, 1}:
                raise ValueError(f"{name} is {value}; 1 (keep) or 0 (drop)")
        return values

    @property
    def is_filled(self) -> bool:
        """True if the person answered a question."""
        return any(value is not None for value in self.values.values())


class QuestionAgreement(NamedTuple):
    """Agreement of people on one question: Krippendorff's alpha, and the share of equal answers over all pairs."""

    items: int
    alpha: float | None
    equal: float | None


class SheetDecisions(NamedTuple):
    """Decisions of a sheet: problems to drop with the reason, and agreement by question.

    ``rated`` counts problems with a rating, ``other_text`` rows about a text that no problem has any more.
    """

    dropped: Mapping[str, str]
    raters: tuple[str, ...]
    rated: int
    other_text: int
    agreement: Mapping[str, QuestionAgreement]


def item_of(problem: Problem) -> str:
    """Return the hash of what a person rates."""
    caret = problem.caret
    return sha256_text(caret.prefix, problem.reference, caret.suffix, caret.instruction or "")


def sheet_rows(problems: Iterable[Problem]) -> Iterator[VariantRating]:
    """Yield a row for each problem at a caret, to be filled in."""
    for problem in problems:
        if isinstance(problem.shown, Caret):
            yield VariantRating(
                problem_id=problem.id,
                item=item_of(problem),
                language=problem.shown.language,
                category=str(problem.labels.get("category", "")),
                prefix=problem.shown.prefix,
                middle=problem.reference,
                suffix=problem.shown.suffix,
                instruction=problem.shown.instruction or "",
            )


def read_sheet(path: Path) -> list[VariantRating]:
    """Return the filled rows of a sheet, in which the rows of several people may stand one below the other.

    Raises:
        DataError: a row does not fit, does not name its rater, or a person rated a problem twice.
    """
    filled = (row for row in read_rows(path, VariantRating) if row.is_filled)
    return checked_ratings(path, filled, lambda row: row.item)


def sheet_decisions(ratings: Sequence[VariantRating], problems: Sequence[Problem]) -> SheetDecisions:
    """Return the decisions of people on problems; at least half of the answers must be yes to keep one.

    Answers about a context count for all problems that show the same text.
    """
    items = {problem.id: item_of(problem) for problem in problems}
    valid = [row for row in ratings if items.get(row.problem_id) == row.item]
    contexts = {problem.id: sha256_text(problem.caret.prefix, problem.caret.suffix) for problem in problems}
    answers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in valid:
        for question, value in row.values.items():
            if value is not None:
                answers[question, contexts[row.problem_id] if question == "context" else row.item].append(value)
    dropped: dict[str, str] = {}
    for problem in problems:
        for question in QUESTIONS:
            found = answers[question, contexts[problem.id] if question == "context" else items[problem.id]]
            if 2 * sum(found) < len(found):
                count = f"{len(found) - sum(found)} of {len(found)}"
                dropped.setdefault(problem.id, f"{question}: {count} answers are no")
    raters = tuple(sorted({row.rater for row in valid}))
    return SheetDecisions(
        dropped,
        raters,
        len({row.problem_id for row in valid}),
        len(ratings) - len(valid),
        {question: _agreement(valid, question) for question in QUESTIONS},
    )


def _agreement(rows: Sequence[VariantRating], question: str) -> QuestionAgreement:
    given: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        value = row.values.get(question)
        if value is not None:
            given[row.problem_id][row.rater] = value
    shared = {name: by for name, by in given.items() if len(by) > 1}
    pairs = [
        first == second
        for by in shared.values()
        for first, second in combinations([by[name] for name in sorted(by)], 2)
    ]
    return QuestionAgreement(len(shared), alpha_of_people(shared), sum(pairs) / len(pairs) if pairs else None)


def decision_lines(path: Path, decisions: SheetDecisions) -> list[str]:
    """Return the lines that report the decisions of a sheet."""
    lines = [
        f"{path}: {len(decisions.raters)} people rated {decisions.rated} problems; {len(decisions.dropped)} are dropped"
    ]
    if decisions.other_text:
        lines.append(f"{path}: {decisions.other_text} ratings are of other texts and do not count")
    for question, found in decisions.agreement.items():
        if found.equal is not None:
            alpha = "no alpha, since all answers are equal" if found.alpha is None else f"alpha {found.alpha:.2f}"
            lines.append(f"{question}: {found.equal:.1%} equal answers, {alpha} ({found.items} problems)")
    return lines
