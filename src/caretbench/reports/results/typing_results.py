"""Results of typing sessions by model: keys saved with intervals, suggestions by outcome, floors, and policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean, median
from typing import Final

from caretbench.metrics.intervals import bootstrap_mean
from caretbench.metrics.typing_sessions import (
    KEY_MS,
    POLICIES,
    TYPING_VERSION,
    TypedSession,
    TypedText,
    TypingPolicy,
    copied_suggestion,
    replay,
)
from caretbench.problem import Problem
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.frame import LoadedRun, model_titles
from caretbench.runs.typing_stage import typed_problems

LATENCIES_MS: Final = (0, 200, 400, 800, 2000)
LEAST_SHOWN: Final = (1, 8, 16, 24, 40)
"""Lengths from which a suggestion is shown: an editor that shows long ones only shows fewer."""

COUNTS: Final = ("requests", "shown", "accepted", "wrong", "short", "unseen")


Answers = Mapping[str, Mapping[int, str]]
"""Texts to insert by problem and number of typed characters."""
Curve = tuple[tuple[float, float], ...]
"""Points with what is varied, and the mean of keys saved beyond words."""


class TypedModel(ReportValue):
    """Typing sessions of one model, or of a floor. Shares run from 0 to 1; counts are for each 100 characters.

    ``reading_ms`` is the time to read a suggestion that uses up the keys it saves; ``latency_ms`` the measured median.
    """

    title: str
    floor: bool
    sessions: int
    incomplete: int
    saved: ReportedNumber
    beyond_words: ReportedNumber
    counts: Mapping[str, float]
    reading_ms: float | None
    latency_ms: float | None
    by_policy: Mapping[str, float]
    by_latency: Curve
    by_shown: Curve
    example: tuple[tuple[str, str], ...] = ()


class TypingSummary(ReportValue):
    """Typing sessions of a run under its headline policy."""

    version: str
    policy: str
    problems: int
    models: tuple[TypedModel, ...]
    example_problem: str
    warnings: tuple[str, ...]


def typing_summary(run: LoadedRun, seed: int) -> TypingSummary | None:
    """Return the typing sessions of a run; None if it has none."""
    if not run.typed:
        return None
    titles = model_titles(run.typed)
    source = _Replays(typed_problems(run.problems), [typed.answers for typed in run.typed.values()], seed)
    if not source.policies:
        return None
    latencies = {key: 1000 * median(typed.seconds) for key, typed in run.typed.items() if typed.seconds}
    models = [source.model(titles[key], typed.answers, latencies.get(key)) for key, typed in run.typed.items()]
    ranked = sorted((one for one in models if one is not None), key=lambda one: -one.beyond_words.value)
    return TypingSummary(
        version=TYPING_VERSION,
        policy=next(iter(source.policies)),
        problems=len(source.texts),
        models=(*ranked, *source.floors()),
        example_problem=source.example,
        warnings=tuple(_order_changes(ranked)),
    )


def _counts(sessions: Iterable[TypedSession]) -> dict[str, float]:
    """Return requests, suggestions shown, and their outcomes, for each 100 characters."""
    total: Counter[str] = Counter()
    for one in sessions:
        total += Counter(characters=one.characters, requests=one.requests, shown=one.shown) + one.outcomes
    return {name: 100 * total[name] / total["characters"] for name in COUNTS}


class _Replays:
    """Replays of the answers of models under several policies, of which the first is the headline's."""

    def __init__(self, problems: Sequence[Problem], answers: Sequence[Answers], seed: int) -> None:
        self._problems = {problem.id: problem for problem in problems}
        self._seed = seed
        self.texts = {problem.id: TypedText(problem.caret.prefix, problem.reference) for problem in problems}
        complete = {name: sum(len(self.sessions(one, rules)) for one in answers) for name, rules in POLICIES.items()}
        # A run that asks at starts of lines has a few sessions of one line that are complete under the other policies.
        most = max(complete.values())
        self.policies = {name: rules for name, rules in POLICIES.items() if complete[name] > most / 2}
        # The longest of the texts that every model was asked about.
        rank = {name: (all(name in one for one in answers), len(text.tokens)) for name, text in self.texts.items()}
        self.example = max(rank, key=rank.__getitem__)

    def sessions(self, answers: Answers, policy: TypingPolicy) -> dict[str, TypedSession]:
        """Return the complete sessions by problem."""
        replays = {name: replay(text, answers.get(name, {}), policy) for name, text in self.texts.items()}
        return {name: session for name, session in replays.items() if session is not None}

    def model(
        self, title: str, answers: Answers, latency_ms: float | None, *, floor: bool = False
    ) -> TypedModel | None:
        """Return the numbers of one model, or of a floor, without a latency; None without a complete session."""
        headline = next(iter(self.policies.values()))
        sessions = self.sessions(answers, headline)
        if not sessions:
            return None
        late = self.sessions(answers, headline._replace(latency_ms=latency_ms or 0.0))
        spared = sum(one.keys_alone - one.keys for one in sessions.values())
        shown = sum(one.shown for one in sessions.values())
        return TypedModel(
            title=title,
            floor=floor,
            sessions=len(sessions),
            incomplete=sum(name in answers for name in self.texts) - len(sessions),
            saved=self._mean({name: one.saved for name, one in sessions.items()}),
            beyond_words=self._mean({name: one.saved_beyond_words for name, one in sessions.items()}),
            counts=_counts(sessions.values()) | {"unseen": _counts(late.values())["unseen"]},
            reading_ms=KEY_MS * spared / shown if shown else None,
            latency_ms=latency_ms,
            by_policy={name: self._point(answers, policy)[1] for name, policy in self.policies.items()},
            by_latency=tuple(
                (wait, self._point(answers, headline._replace(latency_ms=wait))[1]) for wait in LATENCIES_MS
            ),
            by_shown=tuple(self._point(answers, headline._replace(least_shown=least)) for least in LEAST_SHOWN),
            example=tuple(sessions[self.example].parts) if self.example in sessions and not floor else (),
        )

    def _point(self, answers: Answers, policy: TypingPolicy) -> tuple[float, float]:
        """Return suggestions shown for each 100 characters, and the mean of keys saved beyond words."""
        sessions = self.sessions(answers, policy).values()
        return _counts(sessions)["shown"], fmean(one.saved_beyond_words for one in sessions)

    def _mean(self, values: Mapping[str, float]) -> ReportedNumber:
        chosen = [self._problems[name] for name in values]
        interval = bootstrap_mean(
            [*values.values()], seed=self._seed, clusters=[one.cluster for one in chosen],
            overlap_groups=[one.overlap_group for one in chosen],
        )  # fmt: skip
        return ReportedNumber.from_interval(interval, fmean(values.values()), len(values))

    def floors(self) -> Iterator[TypedModel]:
        """Yield the floors: copying from the file, nothing, and the editor's own completion of words."""
        for title, answer in (("copy-context", copied_suggestion), ("empty", lambda _: "")):
            answers = {
                name: {at: answer(text.prefix + text.reference[:at]) for at in text.tokens}
                for name, text in self.texts.items()
            }
            if (floor := self.model(title, answers, None, floor=True)) is not None:
                yield floor
        if floor is not None:
            typed = {name: text for name, text in self.texts.items() if text.keys[-1]}
            shares = {name: text.word_keys(0, len(text.reference)) / text.keys[-1] for name, text in typed.items()}
            yield floor.model_copy(update={"title": "words", "saved": self._mean(shares), "counts": {}})


def _order_changes(models: Sequence[TypedModel]) -> Iterator[str]:
    """Yield a warning for each policy under which models change places."""
    headline, *others = models[0].by_policy if models else [""]
    for name in others:
        pairs = [
            f"{first.title} and {second.title}"
            for first, second in combinations(models, 2)
            if (first.by_policy[headline] - second.by_policy[headline])
            * (first.by_policy[name] - second.by_policy[name]) < 0
        ]  # fmt: skip
        if pairs:
            yield (
                f"typing: under the policy {name} in place of {headline}, models change places: {', '.join(pairs)}; "
                "their order depends on the simulated editor"
            )
