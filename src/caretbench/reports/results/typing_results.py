"""Results of typing sessions by model: keys saved with intervals, suggestions by outcome, floors, and policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from caretbench.runs.typing_stage import TypedAnswers, typed_problems, typed_text

LATENCIES_MS: Final = (0, 200, 400, 800, 2000)
LEAST_SHOWN: Final = (1, 8, 16, 24, 40)
"""Lengths from which a suggestion is shown: an editor that shows long ones only shows fewer."""

COPY, EMPTY, WORDS = "copy-context", "empty", "words"


class CurvePoint(ReportValue):
    """Keys saved beyond words by one model, with what is varied."""

    x: float
    saved: float


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
    by_latency: tuple[CurvePoint, ...]
    by_shown: tuple[CurvePoint, ...]
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
    problems = typed_problems(run.problems)
    texts = {problem.id: typed_text(problem) for problem in problems}
    titles = model_titles(run.typed)
    sessions = {titles[model]: found.answers for model, found in run.typed.items()}
    latencies = {titles[key]: 1000 * median(found.seconds) for key, found in run.typed.items() if found.seconds}
    complete = {
        name: any(_sessions(texts, found, policy) for found in sessions.values()) for name, policy in POLICIES.items()
    }
    headline = next((name for name, there in complete.items() if there), None)
    if headline is None:
        return None
    source = _Replays(texts, problems, POLICIES[headline], [name for name in POLICIES if complete[name]], seed)
    example = max(texts, key=lambda name: (all(name in found for found in sessions.values()), len(texts[name].tokens)))
    models = [source.model(title, found, latencies.get(title), example) for title, found in sessions.items()]
    ranked = sorted((one for one in models if one is not None), key=lambda one: -one.beyond_words.value)
    return TypingSummary(
        version=TYPING_VERSION,
        policy=headline,
        problems=len(problems),
        models=(*ranked, *source.floors()),
        example_problem=example,
        warnings=tuple(_order_changes(ranked, headline)),
    )


def _sessions(
    texts: Mapping[str, TypedText], answers: Mapping[str, TypedAnswers], policy: TypingPolicy
) -> dict[str, TypedSession]:
    """Return the complete sessions by problem."""
    found = {name: replay(text, answers.get(name, {}), policy) for name, text in texts.items()}
    return {name: session for name, session in found.items() if session is not None}


def _counts(sessions: Sequence[TypedSession]) -> dict[str, float]:
    """Return requests, suggestions shown, and their outcomes, for each 100 characters."""
    outcomes = sum((one.outcomes for one in sessions), Counter[str]())
    counts = {"requests": sum(one.requests for one in sessions), "shown": sum(one.shown for one in sessions)}
    counts |= {name: outcomes[name] for name in ("accepted", "wrong", "short", "unseen")}
    characters = sum(one.characters for one in sessions)
    return {name: 100 * count / characters for name, count in counts.items()}


class _Replays:
    """Replays of the answers of models under several policies."""

    def __init__(
        self, texts: Mapping[str, TypedText], problems: Sequence[Problem], headline: TypingPolicy,
        policies: Sequence[str], seed: int,
    ) -> None:  # fmt: skip
        self._texts = texts
        self._problems = {problem.id: problem for problem in problems}
        self._headline = headline
        self._policies = policies
        self._seed = seed

    def model(
        self, title: str, answers: Mapping[str, TypedAnswers], latency_ms: float | None, example: str = ""
    ) -> TypedModel | None:
        """Return the numbers of one model, or of a floor, without a latency; None without a complete session."""
        found = _sessions(self._texts, answers, self._headline)
        if not found:
            return None
        sessions = [*found.values()]
        late = _sessions(self._texts, answers, self._headline._replace(latency_ms=latency_ms or 0.0))
        counts = _counts(sessions) | {"unseen": _counts([*late.values()])["unseen"]}
        spared = sum(one.keys_alone - one.keys for one in sessions)
        shown = sum(one.shown for one in sessions)
        return TypedModel(
            title=title,
            floor=not example,
            sessions=len(found),
            incomplete=sum(name in answers for name in self._texts) - len(found),
            saved=self._mean({name: one.saved for name, one in found.items()}),
            beyond_words=self._mean({name: one.saved_beyond_words for name, one in found.items()}),
            counts=counts,
            reading_ms=KEY_MS * spared / shown if shown else None,
            latency_ms=latency_ms,
            by_policy={name: self._point(answers, POLICIES[name]).saved for name in self._policies},
            by_latency=tuple(
                self._point(answers, self._headline._replace(latency_ms=wait)).model_copy(update={"x": wait})
                for wait in LATENCIES_MS
            ),
            by_shown=tuple(self._point(answers, self._headline._replace(least_shown=least)) for least in LEAST_SHOWN),
            example=tuple(found[example].parts) if example in found else (),
        )

    def _point(self, answers: Mapping[str, TypedAnswers], policy: TypingPolicy) -> CurvePoint:
        """Return suggestions shown for each 100 characters, and the mean of keys saved beyond words."""
        sessions = [*_sessions(self._texts, answers, policy).values()]
        return CurvePoint(x=_counts(sessions)["shown"], saved=fmean(one.saved_beyond_words for one in sessions))

    def _mean(self, values: Mapping[str, float]) -> ReportedNumber:
        chosen = [self._problems[name] for name in values]
        interval = bootstrap_mean(
            [*values.values()], seed=self._seed, clusters=[one.cluster for one in chosen],
            overlap_groups=[one.overlap_group for one in chosen],
        )  # fmt: skip
        return ReportedNumber.from_interval(interval, fmean(values.values()), len(values))

    def floors(self) -> Iterator[TypedModel]:
        """Yield the floors: copying from the file, nothing, and the editor's own completion of words."""
        places = {name: text.triggers("token") for name, text in self._texts.items()}
        copied = {
            name: {at: copied_suggestion(text.prefix + text.reference[:at]) for at in places[name]}
            for name, text in self._texts.items()
        }
        nothing = {name: dict.fromkeys(found, "") for name, found in places.items()}
        copy, empty = self.model(COPY, copied, None), self.model(EMPTY, nothing, None)
        yield from (one for one in (copy, empty) if one is not None)
        if empty is not None:
            shares = {name: 1 - text.word_share for name, text in self._texts.items() if text.keys[-1]}
            yield empty.model_copy(update={"title": WORDS, "saved": self._mean(shares), "counts": {}})


def _order_changes(models: Sequence[TypedModel], headline: str) -> Iterator[str]:
    """Yield a warning for each policy under which models change places."""
    for name in POLICIES:
        pairs = [
            f"{first.title} and {second.title}"
            for first, second in combinations(models, 2)
            if name in first.by_policy.keys() & second.by_policy.keys()
            if (first.by_policy[headline] - second.by_policy[headline])
            * (first.by_policy[name] - second.by_policy[name]) < 0
        ]  # fmt: skip
        if pairs:
            more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
            yield (
                f"typing: under the policy {name} in place of {headline}, models change places: "
                f"{', '.join(pairs[:3])}{more}; their order depends on the simulated editor"
            )
