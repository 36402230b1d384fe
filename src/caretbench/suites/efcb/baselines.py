"""Baselines without a model; the report compares every score with them.

For choices: ``random`` (by problem id), ``always-a``, ``longest``, ``shortest``, ``consensus`` (the choice with the
smallest word distance to the others), ``lexical`` (highest TF-IDF with the text); the first one of ties.
``copy`` repeats shown text: the lines before the masks, or paths and added comments as a description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from caretbench.languages import language_of_grammar
from caretbench.problem import Problem, Question
from caretbench.suites.baselines import BaselineFunction
from caretbench.suites.efcb.choices import LETTERS, query_text
from caretbench.suites.efcb.descriptions import shown_patch
from caretbench.suites.efcb.lexical_similarity import SHAPE_SCORES, Attack, AttackQuestion, PatchCorpus, file_titles
from caretbench.suites.efcb.masked_answers import copy_previous_lines, read_masked_patch
from caretbench.suites.efcb.problem_metadata import EfcbTask, seeded_random
from caretbench.syntax.source import grammar_of

_SEED: Final = 0
# A description has a few paragraphs. All comments of a large patch would lower its precision, and so make the baseline
# weaker than a reader's first try.
_COMMENTS: Final = 12
"""Maximum number of added comments in a copied description."""


def _choice_baseline(write: Callable[[Problem, Question], str]) -> BaselineFunction:
    """Return a baseline that answers only multiple-choice problems."""

    def writer(problem: Problem) -> str | None:
        shown = problem.shown
        return write(problem, shown) if isinstance(shown, Question) and shown.choices else None

    return writer


def _best_choice(attack: Attack) -> Callable[[Problem, Question], str]:
    """Return a function that gives the letter of the choice with the highest score."""

    def write(problem: Problem, shown: Question) -> str:
        repository = str(problem.labels.get("repository", ""))
        scores = attack(AttackQuestion(query_text(problem), shown.choices, repository))
        rounded = [round(number, 9) for number in scores]  # ties within rounding: the first one
        # The first of ties, since a baseline answers with one letter; the leak report shares the credit among them.
        return LETTERS[rounded.index(max(rounded))]

    return write


def _copy(problem: Problem) -> str | None:
    if not isinstance(problem.shown, Question) or problem.shown.choices:
        return None
    if problem.labels.get("task") == EfcbTask.MASKED:
        return copy_previous_lines(read_masked_patch(problem))
    # A title (first added comment, else the paths) and a body (paths and added comments).
    patch = shown_patch(problem)
    paths, said = file_titles(patch), _added_comments(patch)
    title = said[0] if said else ", ".join(paths)
    return "\n".join((f"Title: {title}", "", f"Body: {', '.join(paths)}", "", *said[1 : 1 + _COMMENTS])).rstrip()


def _added_comments(patch: str) -> list[str]:
    """Return added lines that are only a comment, without comment marks."""
    comments: list[str] = []
    path = ""
    titles = set(file_titles(patch))
    for line in patch.split("\n"):
        if line in titles:
            path = line.rpartition(" => ")[2]
        grammar = grammar_of(path)
        language = language_of_grammar(grammar) if grammar else None
        marks = tuple(filter(None, (language.line_comment, *language.block_comment[:1]))) if language else ()
        text = line[1:].strip()
        if line.startswith("+") and marks and text.startswith(marks) and any(map(str.isalnum, text)):
            comments.append(text.lstrip("/*#!- ").removesuffix("*/").strip())
    return [comment for comment in comments if comment]


BASELINES: Final[Mapping[str, BaselineFunction]] = {
    "reference": lambda problem: problem.reference,
    "empty": lambda _: "",
    "random": _choice_baseline(
        lambda problem, shown: seeded_random(_SEED, "random baseline", problem.id).choice(LETTERS[: len(shown.choices)])
    ),
    "always-a": _choice_baseline(lambda _problem, _shown: LETTERS[0]),
    **{name: _choice_baseline(_best_choice(attack)) for name, attack in SHAPE_SCORES.items()},
    "lexical": _choice_baseline(_best_choice(lambda asked: PatchCorpus(asked.choices).tfidf(asked.query).tolist())),
    "copy": _copy,
}
"""Baselines by name; they return None for kinds of problems that they do not answer."""
