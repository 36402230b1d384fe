"""Leak report of a build: accuracy of attacks that do not understand the question.

Attacks that do not read the question (position, length, consensus, single features, learned attackers) must not beat
chance by more than three standard errors in a tier. Attacks by words of the question are reported as floors.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from scipy.special import ndtr, ndtri

from caretbench.build.sources.pull_request import PullRequest
from caretbench.metrics.paired import holm
from caretbench.problem import Problem
from caretbench.suites.efcb.build.attacks.attack_accuracy import (
    LabelledQuestion,
    feature_accuracies,
    learner_accuracies,
)
from caretbench.suites.efcb.build.attacks.code_likelihood import (
    LIKELIHOOD_SCORERS,
    CodeModel,
    CodeModels,
    likelihood_scores,
)
from caretbench.suites.efcb.build.attacks.feature_contrasts import question_contrasts
from caretbench.suites.efcb.build.attacks.learned_attackers import LearnedAttackers, load_attackers
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES
from caretbench.suites.efcb.build.changes import cluster_id, render_patch
from caretbench.suites.efcb.built_folder import MAX_STANDARD_ERRORS, AttackFamily, Leak, LeakKind
from caretbench.suites.efcb.choices import LETTERS
from caretbench.suites.efcb.floors import (
    Attack,
    AttackQuestion,
    choice_credit,
    score_by_consensus,
    score_by_length,
    score_by_shortness,
    text_attacks,
    to_attack_question,
)
from caretbench.suites.efcb.problem_metadata import HARD_TASK


def _always(place: int) -> Attack:
    return lambda problem: [float(place == number) for number in range(len(problem.choices))]


SHAPE_ATTACKS: Final[Mapping[str, Attack]] = {
    **{f"always {letter}": _always(place) for place, letter in enumerate(LETTERS)},
    "longest": score_by_length,
    "shortest": score_by_shortness,
    "consensus": score_by_consensus,
}


class _Tier(NamedTuple):
    """The questions of one tier and query variant, each with its problem and the index of the correct choice."""

    part: tuple[str, str, str]
    questions: Sequence[tuple[AttackQuestion, Problem, int]]

    def leak(self, attack: str, kind: LeakKind, family: AttackFamily, accuracy: float, allowed: float) -> Leak:
        """Return the result of an attack with this accuracy."""
        count = len(self.questions)
        chance = sum(1 / len(question.choices) for question, _, _ in self.questions) / count
        task, tier, query = self.part
        return Leak(
            task=task, tier=tier, query=query, attack=attack, kind=kind, family=family, problems=count,
            accuracy=accuracy, chance=chance, standard_error=math.sqrt(chance * (1 - chance) / count), allowed=allowed,
        )  # fmt: skip

    def share(self, attack: Attack) -> float:
        """Return the accuracy of an attack."""
        hits = sum(choice_credit(attack(question), correct) for question, _, correct in self.questions)
        return hits / len(self.questions)

    def shape_leaks(self) -> Iterator[Leak]:
        """Yield the results of the attacks by position, length and consensus."""
        for name, attack in SHAPE_ATTACKS.items():
            yield self.leak(name, "limit", "shape", self.share(attack), MAX_STANDARD_ERRORS)


def _tiers(problems: Iterable[Problem]) -> list[_Tier]:
    tiers: dict[tuple[str, str, str], list[tuple[AttackQuestion, Problem, int]]] = defaultdict(list)
    for problem in sorted(problems, key=lambda problem: problem.id):
        found = to_attack_question(problem)
        if found is not None and not problem.labels.get("rotation"):
            task, tier, query = (str(problem.labels.get(name, "")) for name in ("task", "tier", "query"))
            tiers[task, tier, query].append((found[0], problem, found[1]))
    return [_Tier(part, questions) for part, questions in sorted(tiers.items())]


def shape_leaks(problems: Iterable[Problem]) -> list[Leak]:
    """Return the results of the attacks by position, length and consensus, in the first order of choices."""
    return [leak for tier in _tiers(problems) for leak in tier.shape_leaks()]


def shortcut_report(problems: Iterable[Problem]) -> list[Leak]:
    """Return the results of the attacks that need no history of the repository: by shape and by words."""
    return [leak for tier in _tiers(problems) for leak in (*tier.shape_leaks(), *_text_leaks(tier))]


def leak_report(
    problems: Iterable[Problem], pulls: Iterable[PullRequest], attackers: LearnedAttackers | None = None
) -> list[Leak]:
    """Return the result of every attack on every tier and query variant, in the first order of choices.

    Code models are built from ``pulls``, the changes of the build.
    """
    known = _QuestionModels(pulls)
    return [leak for tier in _tiers(problems) for leak in _tier_leaks(tier, known, attackers or load_attackers())]


def _tier_leaks(tier: _Tier, models: _QuestionModels, attackers: LearnedAttackers) -> Iterator[Leak]:
    hard = tier.part[0] == HARD_TASK
    yield from tier.shape_leaks()
    questions = [
        LabelledQuestion(
            question_contrasts(question, models.code_model(question) if hard else None),
            correct,
            question.repository,
            problem.overlap_group or question.cluster,
        )
        for question, problem, correct in tier.questions
    ]
    kinds = {question.contrasts.feature_names for question in questions}
    from_sites = kinds == {FEATURE_NAMES}
    if len(kinds) == 1:
        yield from _learned_leaks(questions, attackers, tier.leak)
    yield from _text_leaks(tier)
    if hard and not from_sites:
        for name, attack in models.likelihood_attacks().items():
            yield tier.leak(name, "floor", "feature", tier.share(attack), MAX_STANDARD_ERRORS)


def _text_leaks(tier: _Tier) -> Iterator[Leak]:
    for name, attack in text_attacks(question for question, _, _ in tier.questions).items():
        yield tier.leak(name, "floor", "text", tier.share(attack), MAX_STANDARD_ERRORS)


def _learned_leaks(
    questions: Sequence[LabelledQuestion],
    attackers: LearnedAttackers,
    leak: Callable[[str, LeakKind, AttackFamily, float, float], Leak],
) -> Iterator[Leak]:
    """Yield results of learned attackers' first choices; other ranks and features have Holm's correction."""
    learned = learner_accuracies(questions, attackers)
    first = {name: found for name, found in learned.items() if name.endswith(", first")}
    for name, found in sorted(first.items()):
        yield leak(name.removesuffix(", first"), "limit", "learned", found, MAX_STANDARD_ERRORS)
    many = feature_accuracies(questions) | {name: found for name, found in learned.items() if name not in first}
    order = sorted(many, key=lambda name: (-many[name], name))
    found_leaks = [leak(name, "limit", "feature", many[name], MAX_STANDARD_ERRORS) for name in order]
    bound = holm_bound([one.deviation for one in found_leaks])
    yield from (one.model_copy(update={"allowed": bound}) for one in found_leaks)


def holm_bound(deviations: Sequence[float]) -> float:
    """Return the number of standard errors that Holm's correction allows each of several attacks.

    With ``k`` attacks, ``r`` of them above chance by the corrected test, that is the bound of one of ``k - r`` attacks.
    """
    level = float(ndtr(-MAX_STANDARD_ERRORS))
    adjusted = holm([float(ndtr(-deviation)) for deviation in deviations])
    rest = sum(value >= level for value in adjusted)
    return -float(ndtri(level / max(rest, 1)))


class _QuestionModels:
    """Models of the repositories' code, without the changes that a question shows."""

    def __init__(self, pulls: Iterable[PullRequest]) -> None:
        self._made_from: dict[str, PullRequest] = {}
        self._shown: dict[str, PullRequest] = {}
        for pull in sorted(pulls, key=lambda pull: pull.merge_order):
            self._made_from[cluster_id(pull)] = pull
            self._shown |= {render_patch(pull, include_generated=generated).text: pull for generated in (False, True)}
        self._backgrounds = CodeModels(self._made_from.values())
        self._numbers: dict[AttackQuestion, Mapping[str, Sequence[float]]] = {}

    def code_model(self, question: AttackQuestion) -> CodeModel:
        """Return the code model of a repository without changes among the choices and the question's own."""
        own = [self._shown[choice] for choice in question.choices if choice in self._shown]
        own += [self._made_from[question.cluster]] if question.cluster in self._made_from else []
        return self._backgrounds.excluding(question.repository, *own)

    def _scores(self, question: AttackQuestion) -> Mapping[str, Sequence[float]]:
        if question not in self._numbers:
            self._numbers[question] = likelihood_scores(question.choices, self.code_model(question))
        return self._numbers[question]

    def likelihood_attacks(self) -> dict[str, Attack]:
        """Return attacks that choose the likeliest or the least likely code, by scorer."""
        found: dict[str, Attack] = {}
        for scorer in LIKELIHOOD_SCORERS:
            words = scorer.replace("_", " ")
            found[f"likeliest, {words}"] = lambda question, scorer=scorer: self._scores(question)[scorer]  # type: ignore[misc]
            found[f"least likely, {words}"] = lambda question, scorer=scorer: [  # type: ignore[misc]
                -value for value in self._scores(question)[scorer]
            ]
        return found
