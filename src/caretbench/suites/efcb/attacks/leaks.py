"""Leak report of a build: the share of questions that attacks find without understanding anything.

What does not read the question must not beat chance by more than three standard errors over all questions of a tier:
position, length and consensus, every counted feature, and learned attackers. Words of the question find more; that is
printed as a floor: a score is worth what it is above the best of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from scipy.special import ndtr, ndtri

from caretbench.metrics.paired import holm
from caretbench.problem import Problem, Row
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.attacks.attackers import Attackers, shipped
from caretbench.suites.efcb.attacks.contrasts import contrasted
from caretbench.suites.efcb.attacks.floors import Attack, Attacked, attacked, credit, text_attacks
from caretbench.suites.efcb.attacks.learned_attacks import FEWEST, Tested, by_feature, by_learning
from caretbench.suites.efcb.attacks.lexical import word_distances
from caretbench.suites.efcb.attacks.line_features import FEATURES
from caretbench.suites.efcb.attacks.plausibility import SCORERS, Backgrounds, Without, scores
from caretbench.suites.efcb.describing import cluster
from caretbench.suites.efcb.efcb_score import HARD
from caretbench.suites.efcb.positions import LETTERS
from caretbench.suites.efcb.rendering import render

STANDARD_ERRORS: Final = 3.0
Kind = Literal["limit", "floor"]
Family = Literal["shape", "feature", "learned", "text"]


class Leak(Row):
    """What one attack reaches in one tier of one task; a ``limit`` that is ``exceeded`` fails the build.

    ``accuracy`` and ``chance`` are shares from 0 to 1, ``standard_error`` is that of guessing as often, ``allowed`` how
    many of these an attack may be above chance: three, and for one of many features as many more as Holm's correction
    says. Features and learned attackers are no limits of a tier that is ``too_small``.
    """

    task: str
    tier: str = ""
    query: str = ""
    attack: str
    kind: Kind
    family: Family = "shape"
    problems: int
    accuracy: float
    chance: float
    standard_error: float
    allowed: float = STANDARD_ERRORS

    @property
    def deviation(self) -> float:
        """Return how many standard errors it is above chance."""
        return (self.accuracy - self.chance) / self.standard_error if self.standard_error else 0.0

    @property
    def too_small(self) -> bool:
        """Return whether the tier has too few questions to test."""
        return self.problems < FEWEST

    @property
    def exceeded(self) -> bool:
        """Return whether a hard limit is passed."""
        tested = self.family == "shape" or not self.too_small
        return self.kind == "limit" and tested and self.deviation > self.allowed + 1e-9


def _always(place: int) -> Attack:
    return lambda problem: [float(place == number) for number in range(len(problem.choices))]


def longest(problem: Attacked) -> Sequence[float]:
    """Return the choice with the most characters."""
    return [len(choice) for choice in problem.choices]


def shortest(problem: Attacked) -> Sequence[float]:
    """Return the choice with the fewest characters."""
    return [-len(choice) for choice in problem.choices]


def consensus(problem: Attacked) -> Sequence[float]:
    """Return the choice from which the others are the fewest words away."""
    return [-float(distance) for distance in word_distances(problem.choices).sum(axis=1)]


LIMITS: Final[Mapping[str, Attack]] = {
    **{f"always {letter}": _always(place) for place, letter in enumerate(LETTERS)},
    "longest": longest,
    "shortest": shortest,
    "consensus": consensus,
}


def leak_report(
    problems: Iterable[Problem], pulls: Iterable[PullRequest], attackers: Attackers | None = None
) -> list[Leak]:
    """Every attack on every tier of the choice tasks, and every way to ask; of rotated problems the first order alone.

    Likely code is learned from the patches of ``pulls``, from which the problems were built.
    """
    tiers: dict[tuple[str, ...], list[tuple[Attacked, Problem, int]]] = defaultdict(list)
    for problem in sorted(problems, key=lambda problem: problem.id):
        found = attacked(problem)
        if found is not None and not problem.labels.get("rotation"):
            part = tuple(str(problem.labels.get(name, "")) for name in ("task", "tier", "query"))
            tiers[part].append((found[0], problem, found[1]))
    known = _Known(pulls)
    return [
        leak
        for part, asked in sorted(tiers.items())
        for leak in _of_tier(part, asked, known, attackers or shipped())
    ]


def _of_tier(
    part: tuple[str, ...], asked: Sequence[tuple[Attacked, Problem, int]], known: _Known, attackers: Attackers
) -> Iterator[Leak]:
    chance = sum(1 / len(question.choices) for question, _, _ in asked) / len(asked)
    error = math.sqrt(chance * (1 - chance) / len(asked))

    def leak(attack: str, kind: Kind, family: Family, accuracy: float, allowed: float) -> Leak:
        return Leak(
            task=part[0], tier=part[1], query=part[2], attack=attack, kind=kind, family=family, problems=len(asked),
            accuracy=accuracy, chance=chance, standard_error=error, allowed=allowed,
        )  # fmt: skip

    def share(attack: Attack) -> float:
        return sum(credit(attack(question), correct) for question, _, correct in asked) / len(asked)

    for name, attack in LIMITS.items():
        yield leak(name, "limit", "shape", share(attack), STANDARD_ERRORS)
    questions = [
        Tested(
            contrasted(question, known.background(question) if part[0] == HARD else None),
            correct,
            question.repository,
            problem.overlap_group or question.cluster,
        )
        for question, problem, correct in asked
    ]
    kinds = {question.contrasted.names for question in questions}
    from_sites = kinds == {FEATURES}
    if len(kinds) == 1:
        yield from _judged(questions, attackers, leak)
    for name, attack in text_attacks(question for question, _, _ in asked).items():
        yield leak(name, "floor", "text", share(attack), STANDARD_ERRORS)
    if part[0] == HARD and not from_sites:
        for name, attack in known.attacks().items():
            yield leak(name, "floor", "feature", share(attack), STANDARD_ERRORS)


def _judged(
    questions: Sequence[Tested], attackers: Attackers, leak: Callable[[str, Kind, Family, float, float], Leak]
) -> Iterator[Leak]:
    """Learned attackers by their first choice; their other ranks and all features under Holm's correction."""
    learned = by_learning(questions, attackers)
    first = {name: found for name, found in learned.items() if name.endswith(", first")}
    for name, found in sorted(first.items()):
        yield leak(name.removesuffix(", first"), "limit", "learned", found, STANDARD_ERRORS)
    many = by_feature(questions) | {name: found for name, found in learned.items() if name not in first}
    order = sorted(many, key=lambda name: (-many[name], name))
    found_leaks = [leak(name, "limit", "feature", many[name], STANDARD_ERRORS) for name in order]
    bound = holm_bound([one.deviation for one in found_leaks])
    yield from (one.model_copy(update={"allowed": bound}) for one in found_leaks)


def holm_bound(deviations: Sequence[float]) -> float:
    """Return the number of standard errors that Holm's correction allows each of several attacks.

    Of ``k`` attacks, with ``r`` above chance by the corrected test, that is the bound of one of ``k - r`` attacks.
    """
    level = float(ndtr(-STANDARD_ERRORS))
    adjusted = holm([float(ndtr(-deviation)) for deviation in deviations])
    rest = sum(value >= level for value in adjusted)
    return -float(ndtri(level / max(rest, 1)))


class _Known:
    """What the repositories' code looks like without what a question shows: the change that it is made from."""

    def __init__(self, pulls: Iterable[PullRequest]) -> None:
        self._made_from: dict[str, PullRequest] = {}
        self._shown: dict[str, PullRequest] = {}
        for pull in sorted(pulls, key=lambda pull: pull.merge_order):
            self._made_from[cluster(pull)] = pull
            self._shown |= {render(pull, generated=generated).text: pull for generated in (False, True)}
        self._backgrounds = Backgrounds(self._made_from.values())
        self._numbers: dict[Attacked, Mapping[str, Sequence[float]]] = {}

    def background(self, question: Attacked) -> Without:
        """Return the question's repository without whole changes among its choices, and without its own."""
        own = [self._shown[choice] for choice in question.choices if choice in self._shown]
        own += [self._made_from[question.cluster]] if question.cluster in self._made_from else []
        return self._backgrounds.without(question.repository, *own)

    def _scores(self, question: Attacked) -> Mapping[str, Sequence[float]]:
        if question not in self._numbers:
            self._numbers[question] = scores(question.choices, self.background(question))
        return self._numbers[question]

    def attacks(self) -> dict[str, Attack]:
        """The likeliest and the least likely code, by n-grams of the repository's other changes and of the question."""
        found: dict[str, Attack] = {}
        for scorer in SCORERS:
            words = scorer.replace("_", " ")
            found[f"likeliest, {words}"] = lambda question, scorer=scorer: self._scores(question)[scorer]  # type: ignore[misc]
            found[f"least likely, {words}"] = lambda question, scorer=scorer: [  # type: ignore[misc]
                -value for value in self._scores(question)[scorer]
            ]
        return found
