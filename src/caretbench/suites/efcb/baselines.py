"""Answers that need no model: every score of the suite stands beside what these reach.

Of choices: ``random`` (by the problem's id), ``always-a``, ``longest``, ``shortest``, ``consensus`` (the choice from
which the others are the least changes away), ``lexical`` (TF-IDF of the choices for the text); of equal ones the first.
``copy`` writes what is shown: the lines before the masks, or paths and added comments as a description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from caretbench.problem import Problem, Question
from caretbench.suites.baselines import Writer
from caretbench.suites.efcb.attacks.floors import Attack, Attacked
from caretbench.suites.efcb.attacks.leaks import consensus, longest, shortest
from caretbench.suites.efcb.attacks.lexical import Corpus, shown_paths
from caretbench.suites.efcb.choices.problem import query_text
from caretbench.suites.efcb.efcb_score import MASKED
from caretbench.suites.efcb.positions import LETTERS
from caretbench.suites.efcb.seeding import rng
from caretbench.suites.efcb.written.masked_scores import copy_previous_lines, masked
from caretbench.suites.efcb.written.reverse_scores import shown_patch
from caretbench.syntax.docs.comments import comment_marks
from caretbench.syntax.source import grammar_of

_SEED: Final = 0
_COMMENTS: Final = 12
"""Added comments that a copied description has at most."""


def _of_choices(write: Callable[[Problem, Question], str]) -> Writer:
    """Return a baseline that has an answer to multiple-choice problems alone."""

    def writer(problem: Problem) -> str | None:
        shown = problem.shown
        return write(problem, shown) if isinstance(shown, Question) and shown.choices else None

    return writer


def _random(problem: Problem, shown: Question) -> str:
    return rng(_SEED, "random baseline", problem.id).choice(LETTERS[: len(shown.choices)])


def _best(attack: Attack) -> Callable[[Problem, Question], str]:
    """Return the letter of the choice with the highest number."""

    def write(problem: Problem, shown: Question) -> str:
        repository = str(problem.labels.get("repository", ""))
        found = attack(Attacked(query_text(problem), shown.choices, repository, problem.cluster))
        rounded = [round(number, 9) for number in found]  # of those equal but for rounding the first is taken
        return LETTERS[rounded.index(max(rounded))]

    return write


def _lexical(problem: Attacked) -> Sequence[float]:
    return [float(number) for number in Corpus(problem.choices).tfidf(problem.query)]


def _copy(problem: Problem) -> str | None:
    if not isinstance(problem.shown, Question) or problem.shown.choices:
        return None
    if problem.labels.get("task") == MASKED:
        return copy_previous_lines(masked(problem))
    return _copied_description(shown_patch(problem))


def _copied_description(patch: str) -> str:
    """Return the first added comment (else the paths) as the title, paths and added comments as the description."""
    paths, said = shown_paths(patch), _added_comments(patch)
    title = said[0] if said else ", ".join(paths)
    return "\n".join(
        (f"Title: {title}", "", f"Body: {', '.join(paths)}", "", *said[1 : 1 + _COMMENTS])
    ).rstrip()


def _added_comments(patch: str) -> list[str]:
    """Return the added lines that are a comment alone, without the comment's marks."""
    found: list[str] = []
    path = ""
    titles = set(shown_paths(patch))
    for line in patch.split("\n"):
        if line in titles:
            path = line.rpartition(" => ")[2]
        marks = _comment_marks(path)
        text = line[1:].strip()
        if line.startswith("+") and marks and text.startswith(marks) and any(map(str.isalnum, text)):
            found.append(text.lstrip("/*#!- ").removesuffix("*/").strip())
    return [comment for comment in found if comment]


def _comment_marks(path: str) -> tuple[str, ...]:
    name = grammar_of(path)
    if name is None:
        return ()
    marks = comment_marks(name)
    return tuple(mark for mark in (marks.line, *marks.block[:1]) if mark)


BASELINES: Final[Mapping[str, Writer]] = {
    "reference": lambda problem: problem.reference,
    "empty": lambda _: "",
    "random": _of_choices(_random),
    "always-a": _of_choices(lambda _problem, _shown: LETTERS[0]),
    "longest": _of_choices(_best(longest)),
    "shortest": _of_choices(_best(shortest)),
    "consensus": _of_choices(_best(consensus)),
    "lexical": _of_choices(_best(_lexical)),
    "copy": _copy,
}
"""By name; None where a baseline has no answer to a problem of that kind."""
