"""What finds the right choice without understanding anything: the leak report of a build.

Position, length and consensus must not beat chance by more than three standard errors, or the build fails. What words,
paths and n-grams find is printed as a floor: a score is worth what it is above it. Where an attack finds several
choices equally good it gets its share of them, so that ties neither help nor hurt.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from caretbench.problem import ChoiceCheck, Problem, Question, Row
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.backgrounds import Backgrounds
from caretbench.suites.efcb.choices import query_text
from caretbench.suites.efcb.describing import cluster
from caretbench.suites.efcb.lexical import Corpus, path_overlap, shown_paths, word_distances
from caretbench.suites.efcb.plausibility import SCORERS, scores
from caretbench.suites.efcb.positions import LETTERS
from caretbench.suites.efcb.rendering import render

STANDARD_ERRORS: Final = 3.0
Kind = Literal["limit", "floor"]


class Leak(Row):
    """What one attack reaches in one tier of one task; a ``limit`` that is ``exceeded`` fails the build.

    ``accuracy`` and ``chance`` are shares from 0 to 1, ``standard_error`` is that of guessing as often.
    """

    task: str
    tier: str = ""
    query: str = ""
    attack: str
    kind: Kind
    problems: int
    accuracy: float
    chance: float
    standard_error: float

    @property
    def exceeded(self) -> bool:
        """Whether a hard limit is passed."""
        return (
            self.kind == "limit"
            and self.accuracy > self.chance + STANDARD_ERRORS * self.standard_error + 1e-9
        )


class Attacked(NamedTuple):
    """A choice problem as an attack sees it: no label, and not which choice is right."""

    query: str
    choices: tuple[str, ...]
    repository: str
    cluster: str


Attack = Callable[[Attacked], Sequence[float]]
"""A number for each choice; the highest is taken."""


def _always(place: int) -> Attack:
    return lambda problem: [float(place == number) for number in range(len(problem.choices))]


def longest(problem: Attacked) -> Sequence[float]:
    """The choice with the most characters."""
    return [len(choice) for choice in problem.choices]


def shortest(problem: Attacked) -> Sequence[float]:
    """The choice with the fewest characters."""
    return [-len(choice) for choice in problem.choices]


def consensus(problem: Attacked) -> Sequence[float]:
    """The choice from which the others are the fewest words away."""
    return [-float(distance) for distance in word_distances(problem.choices).sum(axis=1)]


LIMITS: Final[Mapping[str, Attack]] = {
    **{f"always {letter}": _always(place) for place, letter in enumerate(LETTERS)},
    "longest": longest,
    "shortest": shortest,
    "consensus": consensus,
}


def leak_report(problems: Iterable[Problem], pulls: Iterable[PullRequest]) -> list[Leak]:
    """Every attack on every tier of the choice tasks, and every way to ask; of rotated problems the first order alone.

    Args:
        problems: Those of a build; what is no choice is passed over.
        pulls: The changes that it was built from: what rare words and likely code are is learned from their patches.
    """
    tiers: dict[tuple[str, ...], list[tuple[Attacked, int]]] = defaultdict(list)
    for problem in sorted(problems, key=lambda problem: problem.id):
        check = next((check for check in problem.checks if isinstance(check, ChoiceCheck)), None)
        if check is None or not isinstance(problem.shown, Question) or problem.labels.get("rotation"):
            continue
        attacked = Attacked(
            query_text(problem), problem.shown.choices, str(problem.labels["repository"]), problem.cluster
        )
        part = tuple(str(problem.labels.get(name, "")) for name in ("task", "tier", "query"))
        tiers[part].append((attacked, check.correct))
    plausible = _plausible(pulls)
    return [leak for part, asked in sorted(tiers.items()) for leak in _of_tier(part, asked, plausible)]


def _of_tier(
    part: tuple[str, ...], asked: Sequence[tuple[Attacked, int]], plausible: Mapping[str, Attack]
) -> Iterator[Leak]:
    chance = sum(1 / len(problem.choices) for problem, _ in asked) / len(asked)
    error = math.sqrt(chance * (1 - chance) / len(asked))
    floors = {**_lexical(asked), **plausible}
    groups: Mapping[Kind, Mapping[str, Attack]] = {"limit": LIMITS, "floor": floors}
    for kind, attacks in groups.items():
        for name, attack in attacks.items():
            hits = sum(credit(attack(problem), correct) for problem, correct in asked)
            yield Leak(
                task=part[0], tier=part[1], query=part[2], attack=name, kind=kind,
                problems=len(asked), accuracy=hits / len(asked), chance=chance, standard_error=error,
            )  # fmt: skip


def credit(found: Sequence[float], correct: int) -> float:
    """1 where the highest number is the right choice's, its share where several are equally high, else 0."""
    best = max(found)
    tied = [math.isclose(value, best, rel_tol=1e-9, abs_tol=1e-12) for value in found]
    return tied[correct] / sum(tied)


def _lexical(asked: Sequence[tuple[Attacked, int]]) -> Mapping[str, Attack]:
    """Words: what is rare is learned from all choices of a repository."""
    places: dict[str, dict[str, int]] = defaultdict(dict)
    for problem, _ in asked:
        for choice in problem.choices:
            places[problem.repository].setdefault(choice, len(places[problem.repository]))
    corpora = {repository: Corpus(list(texts)) for repository, texts in places.items()}

    def by_words(name: Literal["tfidf", "bm25"]) -> Attack:
        def attack(problem: Attacked) -> Sequence[float]:
            found = getattr(corpora[problem.repository], name)(problem.query)
            return [float(found[places[problem.repository][choice]]) for choice in problem.choices]

        return attack

    def paths(problem: Attacked) -> Sequence[float]:
        title = problem.query.partition("\n")[0]
        return [path_overlap(title, shown_paths(choice)) for choice in problem.choices]

    return {"TF-IDF": by_words("tfidf"), "BM25": by_words("bm25"), "paths": paths}


def _plausible(pulls: Iterable[PullRequest]) -> Mapping[str, Attack]:
    """Likely code: n-grams of the repository's other changes and of the question itself, the most and the least.

    What a question shows is left out of what is learned: the change that it is made from, and whole changes among
    its choices.
    """
    made_from: dict[str, PullRequest] = {}
    shown: dict[str, PullRequest] = {}
    for pull in sorted(pulls, key=lambda pull: pull.newest_first):
        made_from[cluster(pull)] = pull
        shown |= {render(pull, generated=generated).text: pull for generated in (False, True)}
    backgrounds = Backgrounds(made_from.values())
    known: dict[Attacked, Mapping[str, Sequence[float]]] = {}

    def numbers(problem: Attacked) -> Mapping[str, Sequence[float]]:
        if problem not in known:
            own = [shown[choice] for choice in problem.choices if choice in shown]
            own += [made_from[problem.cluster]] if problem.cluster in made_from else []
            known[problem] = scores(problem.choices, backgrounds.without(problem.repository, *own))
        return known[problem]

    attacks: dict[str, Attack] = {}
    for scorer in SCORERS:
        words = scorer.replace("_", " ")
        attacks[f"likeliest, {words}"] = lambda problem, scorer=scorer: numbers(problem)[scorer]  # type: ignore[misc]
        attacks[f"least likely, {words}"] = lambda problem, scorer=scorer: [  # type: ignore[misc]
            -value for value in numbers(problem)[scorer]
        ]
    return attacks
