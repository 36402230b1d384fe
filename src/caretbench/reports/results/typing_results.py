"""Results of typing sessions by model and editor: keys saved with intervals, suggestions by outcome, and floors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean, median
from typing import Final

import polars as pl

from caretbench.metrics.intervals import bootstrap_mean
from caretbench.metrics.typing_sessions import (
    KEY_MS,
    POLICIES,
    TYPING_VERSION,
    TypedText,
    TypingPolicy,
    copied_suggestion,
    replay,
)
from caretbench.problem import Problem
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.frame import LoadedRun, model_titles
from caretbench.runs.typing_stage import typed_problems

LATENCY, MEASURED, LEAST_SHOWN = "latency_ms", "measured", "least_shown"
"""Rules of other editors: a latency, the median of the model's own, and the length from which suggestions are shown."""
_LATENCIES_MS: Final = (0, 200, 400, 800, 2000)
_LENGTHS: Final = (1, 8, 16, 24, 40)

COUNTS: Final = ("requests", "shown", "accepted", "wrong", "short")
_SHARES: Final = {
    "shown": pl.sum_horizontal("accepted", "wrong", "short"),
    "saved_share": pl.col("saved") / pl.col("keys"),
    "beyond_words_share": pl.col("saved_of_words") / pl.col("keys_of_words"),
    "by_words_share": 1 - pl.col("keys_of_words") / pl.col("keys"),
}

Answers = Mapping[str, Mapping[int, str]]
"""Texts to insert by problem and number of typed characters."""
Editor = tuple[str, float, TypingPolicy]
"""Rule that differs from the headline's policy, its value, and the policy."""


class TypedResult(ReportValue):
    """Typing sessions of one model, or of a floor, in one editor.

    Shares run from 0 to 1, ``by_words`` is that of word completion alone; counts are for each 100 characters.
    ``reading_ms`` is the time to read a suggestion that uses up the keys it saves.
    """

    title: str
    rule: str
    value: float
    sessions: int
    incomplete: int
    saved: ReportedNumber
    beyond_words: ReportedNumber
    by_words: ReportedNumber
    counts: Mapping[str, float]
    reading_ms: float | None


class TypingSummary(ReportValue):
    """Typing sessions of a run: results of models by editor, the best model first, and one session in parts."""

    version: str
    policy: str
    problems: int
    results: tuple[TypedResult, ...]
    floors: tuple[TypedResult, ...]
    example_title: str
    example: Sequence[tuple[str, str]]
    warnings: tuple[str, ...]

    def under(self, rule: str) -> list[TypedResult]:
        """Return the results of models under one rule."""
        return [result for result in self.results if result.rule == rule]


def typing_summary(run: LoadedRun, seed: int) -> TypingSummary | None:
    """Return the typing sessions of a run; None if it has none."""
    titles = model_titles(run.typed)
    answers: dict[str, Answers] = {titles[key]: typed.answers for key, typed in run.typed.items()}
    replays = _Replays(typed_problems(run.problems), seed)
    trials = {name: replays.results(answers, [(name, 0, policy)]) for name, policy in POLICIES.items()}
    complete = {name: sum(result.sessions for result in results) for name, results in trials.items()}
    # A run that asks at starts of lines has a few sessions of one line that are complete under the other policies.
    policies = [name for name, number in complete.items() if number > max(complete.values()) / 2]
    if not policies:
        return None
    headline = POLICIES[policies[0]]
    editors: list[Editor] = [(name, 0, POLICIES[name]) for name in policies]
    editors += [(LATENCY, wait, headline._replace(latency_ms=wait)) for wait in _LATENCIES_MS]
    editors += [(LEAST_SHOWN, least, headline._replace(least_shown=least)) for least in _LENGTHS]
    best = sorted(trials[policies[0]], key=lambda result: -result.beyond_words.value)
    ranked = {result.title: answers[result.title] for result in best}
    results = replays.results(ranked, editors)
    for key, typed in run.typed.items():
        if titles[key] in ranked and typed.seconds:
            wait = 1000 * median(typed.seconds)
            measured: Editor = (MEASURED, wait, headline._replace(latency_ms=wait))
            results += replays.results({titles[key]: typed.answers}, [measured])
    title, own_answers = next(iter(ranked.items()))
    replayed = {name: replay(text, own_answers.get(name, {}), headline) for name, text in replays.texts.items()}
    parts = {name: session.parts for name, session in replayed.items() if session is not None}
    longest = max(parts, key=lambda name: len(replays.texts[name].tokens))
    return TypingSummary(
        version=TYPING_VERSION, policy=policies[0], problems=len(replays.texts), results=tuple(results),
        floors=tuple(replays.floors((policies[0], 0, headline))), example_title=f"{longest} with {title}",
        example=parts[longest], warnings=tuple(_order_changes(results, policies)),
    )  # fmt: skip


class _Replays:
    """Replays of the sessions of some problems."""

    def __init__(self, problems: Sequence[Problem], seed: int) -> None:
        self._problems = problems
        self._seed = seed
        self.texts = {problem.id: TypedText(problem.caret.prefix, problem.reference) for problem in problems}

    def results(self, answers: Mapping[str, Answers], editors: Sequence[Editor]) -> list[TypedResult]:
        """Return the result of each model that has complete sessions in each editor."""
        rows = [
            {"title": title, "rule": rule, "value": float(value), "cluster": problem.cluster,
             "overlap_group": problem.overlap_group, **session.numbers}
            for title, texts in answers.items()
            for rule, value, policy in editors
            for problem in self._problems
            if (session := replay(self.texts[problem.id], texts.get(problem.id, {}), policy)) is not None
        ]  # fmt: skip
        if not rows:
            return []
        frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(**_SHARES)
        groups = frame.group_by("title", "rule", "value", maintain_order=True)
        return [
            self._result(group, sum(name in answers[group["title"][0]] for name in self.texts)) for _, group in groups
        ]

    def _result(self, rows: pl.DataFrame, begun: int) -> TypedResult:
        """Return the result of the sessions of one model in one editor, of those that it has begun."""
        clusters, overlap_groups = rows["cluster"].to_list(), rows["overlap_group"].to_list()
        shares = {}
        for name in ("saved", "beyond_words", "by_words"):
            values = rows[f"{name}_share"].to_list()
            interval = bootstrap_mean(values, seed=self._seed, clusters=clusters, overlap_groups=overlap_groups)
            shares[name] = ReportedNumber.from_interval(interval, fmean(values), len(values))
        total = rows.select("characters", "saved", *COUNTS, "unseen").sum().row(0, named=True)
        characters, saved = total.pop("characters"), total.pop("saved")
        return TypedResult(
            **rows.select("title", "rule", "value").row(0, named=True), **shares, sessions=len(rows),
            incomplete=begun - len(rows), counts={name: 100 * total[name] / characters for name in total},
            reading_ms=KEY_MS * saved / total["shown"] if total["shown"] else None,
        )  # fmt: skip

    def floors(self, editor: Editor) -> Iterator[TypedResult]:
        """Yield the floors: copying from the file, nothing, and the editor's own completion of words."""
        answers: dict[str, Answers] = {
            title: {
                name: {at: answer(text.prefix + text.reference[:at]) for at in text.tokens}
                for name, text in self.texts.items()
            }
            for title, answer in (("copy-context", copied_suggestion), ("empty", lambda _: ""))
        }
        copied, empty = self.results(answers, [editor])
        yield from (copied, empty, empty.model_copy(update={"title": "words", "saved": empty.by_words, "counts": {}}))


def _order_changes(results: Sequence[TypedResult], policies: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each policy under which models change places."""
    headline, *others = policies
    saved = {(result.rule, result.title): result.beyond_words.value for result in results}
    titles = dict.fromkeys(result.title for result in results)
    for name in others:
        pairs = [
            f"{first} and {second}"
            for first, second in combinations(titles, 2)
            if saved[headline, first] > saved[headline, second] and saved[name, first] < saved[name, second]
        ]
        if pairs:
            yield (
                f"typing: under the policy {name} in place of {headline}, models change places: {', '.join(pairs)}; "
                "their order depends on the simulated editor"
            )
