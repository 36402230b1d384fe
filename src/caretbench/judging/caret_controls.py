"""Synthetic controls: texts of known order, judged like any other text, to check a judge.

``reference`` is the reference, ``reference-twice`` the reference two times in a row, ``other-reference`` the
reference of another problem in the same language, ``empty`` nothing. A judge that does not put the reference first
measures something else than quality.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from caretbench.files import sha256_text
from caretbench.problem import Caret, Problem

CONTROLS = ("reference", "reference-twice", "other-reference", "empty")
"""The controls, the best first; the last two have no order between them."""

DEFAULT_CONTROL_PROBLEMS = 120
"""Number of problems whose controls tell the means apart to about 0.2 points, without costing more than the models."""


def caret_controls(problems: Sequence[Problem]) -> dict[str, dict[str, str]]:
    """Return the controls' texts by problem and name. Problems without a caret have none.

    The other problem is the next one in an order that looks random and depends on the ids alone. A control that is the
    same text as the reference is omitted (a problem that is alone in its language has no other).
    """
    found: dict[str, dict[str, str]] = {}
    for ring in _by_language(problems).values():
        for place, problem in enumerate(ring):
            texts = {
                "reference": problem.reference,
                "reference-twice": _twice(problem.reference),
                "other-reference": _other(ring, place),
                "empty": "",
            }
            found[problem.id] = {
                name: text
                for name, text in texts.items()
                if text is not None and (name == "reference" or text != problem.reference)
            }
    return found


def control_sample(problems: Sequence[Problem], limit: int) -> list[Problem]:
    """Return at most ``limit`` problems with a caret, as evenly over the languages as can be; always the same ones."""
    return balanced_sample(_by_language(problems), limit)


def _by_language(problems: Sequence[Problem]) -> dict[tuple[str, ...], list[Problem]]:
    carets = [problem for problem in problems if isinstance(problem.shown, Caret)]
    return problems_by_group(hash_ordered(carets), lambda problem: (problem.caret.language,))


def hash_ordered(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems in an order that looks random and depends on their ids alone."""
    return sorted(problems, key=lambda problem: sha256_text(problem.id))


def problems_by_group(
    ordered: Iterable[Problem], group: Callable[[Problem], tuple[str, ...]]
) -> dict[tuple[str, ...], list[Problem]]:
    """Return the problems of each group, in the order of all."""
    rings: dict[tuple[str, ...], list[Problem]] = defaultdict(list)
    for problem in ordered:
        rings[group(problem)].append(problem)
    return rings


def balanced_sample(rings: Mapping[tuple[str, ...], Sequence[Problem]], limit: int) -> list[Problem]:
    """Return at most ``limit`` problems, as evenly over the groups as can be."""
    turns = [(turn, name, problem) for name, ring in rings.items() for turn, problem in enumerate(ring)]
    return [problem for _, _, problem in sorted(turns, key=lambda entry: entry[:2])[:limit]]


def control_totals(
    texts: Mapping[str, Mapping[str, str]], totals: Mapping[tuple[str, str], float]
) -> dict[str, list[float]]:
    """Return a grader's totals of every control over the problems of which it judged all, in one order of problems."""
    whole = [
        problem
        for problem, named in sorted(texts.items())
        if len(named) == len(CONTROLS) and all((problem, answer) in totals for answer in named.values())
    ]
    return {name: [totals[problem, texts[problem][name]] for problem in whole] for name in CONTROLS}


def _twice(text: str) -> str:
    return text + ("" if text.endswith("\n") else "\n") + text if text else text


def _other(ring: Sequence[Problem], place: int) -> str | None:
    own = ring[place].reference
    following = (ring[(place + step) % len(ring)].reference for step in range(1, len(ring)))
    return next((text for text in following if text.strip() != own.strip()), None)
