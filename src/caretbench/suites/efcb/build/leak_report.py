"""Leak report of a build: accuracy of attacks that do not understand the question.

Attacks by position, length and consensus must not beat chance by more than three standard errors in a tier. Attacks by
words of the question are reported as floors. What else finds a choice without the question is measured when a model is
asked without it (``--blind``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.problem import Problem
from caretbench.suites.efcb.built_folder import Leak
from caretbench.suites.efcb.choices import LETTERS
from caretbench.suites.efcb.lexical_similarity import (
    Attack,
    AttackQuestion,
    choice_credit,
    score_by_consensus,
    score_by_length,
    score_by_shortness,
    text_attacks,
    to_attack_question,
)
from caretbench.suites.efcb.problem_metadata import EfcbTask


def _always(place: int) -> Attack:
    return lambda problem: [float(place == number) for number in range(len(problem.choices))]


SHAPE_ATTACKS: Final[Mapping[str, Attack]] = {
    **{f"always {letter}": _always(place) for place, letter in enumerate(LETTERS)},
    "longest": score_by_length,
    "shortest": score_by_shortness,
    # In the release always A finds .385 of GMCQ-Hard, and this one .993.
    "consensus": score_by_consensus,
}


class _Tier(NamedTuple):
    """The questions of one tier and query variant, each with the index of the correct choice."""

    part: tuple[str, str, str]
    questions: Sequence[tuple[AttackQuestion, int]]

    def leaks(self, attacks: Mapping[str, Attack]) -> Iterator[Leak]:
        """Yield the results of attacks; those by shape are limits."""
        count = len(self.questions)
        chance = sum(1 / len(question.choices) for question, _ in self.questions) / count
        task, tier, query = self.part
        # Edits make a patch longer or shorter; sets in which each version is asked for once have no such clue.
        free = {"longest", "shortest"} if (task, tier) == (EfcbTask.HARD, "") else set()
        for name, attack in attacks.items():
            hits = sum(choice_credit(attack(question), correct) for question, correct in self.questions)
            yield Leak(
                task=task, tier=tier, query=query, attack=name,
                kind="limit" if name in SHAPE_ATTACKS and name not in free else "floor",
                problems=count, accuracy=hits / count, chance=chance,
                standard_error=math.sqrt(chance * (1 - chance) / count),
            )  # fmt: skip


def _tiers(problems: Iterable[Problem]) -> list[_Tier]:
    tiers: dict[tuple[str, str, str], list[tuple[AttackQuestion, int]]] = defaultdict(list)
    for problem in sorted(problems, key=lambda problem: problem.id):
        question = to_attack_question(problem)
        if question is not None and not problem.labels.get("rotation"):
            task, tier, query = (str(problem.labels.get(name, "")) for name in ("task", "tier", "query"))
            tiers[task, tier, query].append(question)
    return [_Tier(part, questions) for part, questions in sorted(tiers.items())]


def shape_leaks(problems: Iterable[Problem]) -> list[Leak]:
    """Return the results of the attacks by position, length and consensus, in the first order of choices."""
    return [leak for tier in _tiers(problems) for leak in tier.leaks(SHAPE_ATTACKS)]


def leak_report(problems: Iterable[Problem]) -> list[Leak]:
    """Return the result of every attack on every tier and query variant, in the first order of choices."""
    return [
        leak
        for tier in _tiers(problems)
        for leak in tier.leaks({**SHAPE_ATTACKS, **text_attacks(question for question, _ in tier.questions)})
    ]
