"""Synthetic controls: texts whose order is known, judged as any other text, so that a judge can be judged.

``golden`` is the reference, ``golden-twice`` the reference two times in a row, ``other-golden`` the reference of
another problem in the same language, ``empty`` nothing. A judge that does not put the reference first measures
something else than quality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from caretbench.files import sha256_text
from caretbench.problem import Caret, Problem

CONTROLS = ("golden", "golden-twice", "other-golden", "empty")
"""The controls, the best first; the last two have no order between them."""

DEFAULT_CONTROL_PROBLEMS = 120
"""Controls of so many problems tell the means apart to about 0.2 points, without costing more than the models."""


def controls(problems: Sequence[Problem]) -> dict[str, dict[str, str]]:
    """The controls' texts by problem and name. Problems without a caret have none.

    The other problem is the next one in an order that looks random and depends on the ids alone. A control that is the
    same text as the reference is left out (a problem that is alone in its language has no other).
    """
    rings: dict[str, list[Problem]] = {}
    for problem in sorted(problems, key=lambda entry: sha256_text(entry.id)):
        if isinstance(problem.shown, Caret):
            rings.setdefault(problem.shown.language, []).append(problem)
    found: dict[str, dict[str, str]] = {}
    for ring in rings.values():
        for place, problem in enumerate(ring):
            texts = {
                "golden": problem.reference,
                "golden-twice": _twice(problem.reference),
                "other-golden": _other(ring, place),
                "empty": "",
            }
            found[problem.id] = {
                name: text
                for name, text in texts.items()
                if text is not None and (name == "golden" or text != problem.reference)
            }
    return found


def control_sample(problems: Sequence[Problem], limit: int) -> list[Problem]:
    """At most ``limit`` problems with a caret, as evenly over the languages as can be; always the same ones."""
    waiting: dict[str, list[Problem]] = {}
    for problem in sorted(problems, key=lambda entry: sha256_text(entry.id)):
        if isinstance(problem.shown, Caret):
            waiting.setdefault(problem.shown.language, []).append(problem)
    turns = [(turn, name, problem) for name, ring in waiting.items() for turn, problem in enumerate(ring)]
    turns.sort(key=lambda entry: entry[:2])
    return [problem for _, _, problem in turns[:limit]]


def completely_judged(
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
