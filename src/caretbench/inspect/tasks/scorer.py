"""Scorer and metric: policy, executor and similarity for each sample, and all numbers of an evaluation.

The metric is ``unreduced``, so that Inspect's reducers (pass_at_5 of a similarity means nothing) never touch it, and
one metric, since of two with one name Inspect silently keeps the first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from statistics import fmean
from typing import TYPE_CHECKING, Any

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from caretbench.errors import UsageError
from caretbench.execution.execution_types import ExecutionResult
from caretbench.inspect.client.background_loop import await_future, run_in_thread
from caretbench.inspect.tasks.solver import STAMP
from caretbench.metrics.passk import coverage, pass_rates
from caretbench.profiles import PROFILES, rules_of

if TYPE_CHECKING:
    from caretbench.inspect.tasks.answer_scorer import AnswerScorer

PASSED = "passed"
VERDICT = "verdict"
"""1 with a verdict, 0 without one that should be there, NaN where the problem has no part."""


@metric(name="numbers", scores="unreduced")
def numbers() -> Metric:
    """Return pass@k for every k up to the number of samples, coverage, and mean similarities, over problems."""

    def compute(scores: list[SampleScore]) -> Value:
        by_problem: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        rules, any_match = rules_of(PROFILES[-1]), False
        for entry in scores:
            value = entry.score.value
            if isinstance(value, Mapping):
                by_problem[str(entry.sample_id)].append({name: _number(number) for name, number in value.items()})
                said = entry.score.metadata or {}
                if said.get("profile") in PROFILES:
                    rules = rules_of(said["profile"])
                any_match = any_match or bool(said.get("first_lines"))
        rows = list(by_problem.values())
        rates = _pass_rates(rows, any_of_fewer=rules.any_of_fewer)
        return dict(rates) | dict(_coverage(rows)) | dict(_means(rows, any_match=any_match))

    return compute


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _known_values(rows: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [row[name] for row in rows if not math.isnan(row.get(name, math.nan))]


def _pass_rates(
    problems: Sequence[Sequence[Mapping[str, float]]], *, any_of_fewer: bool
) -> Iterator[tuple[str, float]]:
    verdicts = [_known_values(rows, PASSED) for rows in problems]
    counts = [(len(passes), int(sum(passes))) for passes in verdicts]
    for k, rates in pass_rates(counts, any_of_fewer=any_of_fewer).items():
        yield f"pass@{k}", fmean([rate for rate in rates if rate is not None])


def _coverage(problems: Sequence[Sequence[Mapping[str, float]]]) -> Iterator[tuple[str, float]]:
    there = [value for rows in problems for value in _known_values(rows, VERDICT)]
    if (share := coverage(int(sum(there)), len(there))) is not None:
        yield "coverage", share
    if problems:
        yield "excluded", float(sum(not _known_values(rows, VERDICT) for rows in problems))


def _means(problems: Sequence[Sequence[Mapping[str, float]]], *, any_match: bool) -> Iterator[tuple[str, float]]:
    """Return means over problems of the mean over samples; with ``any_match`` a line matches if any sample's does."""
    names = dict.fromkeys(name for rows in problems for row in rows for name in row)
    for name in names:
        if name in (PASSED, VERDICT):
            continue
        any_of = any_match and name.endswith("match")
        fold: Callable[[list[float]], float] = max if any_of else fmean
        folded = [fold(samples) for rows in problems if (samples := _known_values(rows, name))]
        if folded:
            yield f"{name}_any" if any_of else name, fmean(folded)


@scorer(metrics=[numbers()], name="caret")
def caret(
    suite: str | None = None,
    data: str | None = None,
    policy: str | None = None,
    profile: str = "default",
    variants: dict[str, str] | None = None,
    execute: bool = True,
    workers: int | None = None,
    use_cache: bool = True,
) -> Scorer:
    """Return the scorer: executes the program with the answer inserted, and compares the answer with the reference.

    A value without a verdict is NaN: Inspect leaves such rows out of the metrics, as the report does.

    Args:
        suite: The suite's name; None: the one that asked, from the log.
        data: Its problems; None: those of the log.
        policy: Truncation policy; by default the suite's own for the profile.
        profile: ``default`` or ``paper``.
        variants: A named build by language.
        execute: Run the programs; without, similarity and error kinds are measured.
        workers: Programs in flight.
        use_cache: Take known verdicts from the cache.
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the problem holds more than a target
        from caretbench.inspect.tasks.answer_scorer import answer_scorer

        stamp: dict[str, Any] = state.metadata.get(STAMP) or {}
        name = suite or stamp.get("suite")
        if name is None:
            raise UsageError("the log does not name its suite; add -S suite=NAME")
        suite_scorer = answer_scorer(
            name, data or stamp.get("data") or "starter", policy=policy, profile=profile, variants=variants,
            execute=execute, workers=workers, use_cache=use_cache,
        )  # fmt: skip
        return await _score(suite_scorer, state, stamp)

    return score


async def _score(suite_scorer: AnswerScorer, state: TaskState, stamp: Mapping[str, Any]) -> Score:
    """Return the score of one sample."""
    problem = suite_scorer.problem(str(state.sample_id))
    reference = await _await_result(suite_scorer.reference(problem))
    exclusion = None if reference is None else suite_scorer.exclusion_cause(reference)
    # Every sample has every name: Inspect puts the values of an epoch next to those of the others.
    unknown = dict.fromkeys(await run_in_thread(lambda: suite_scorer.similarity_names), math.nan)
    if not state.output.choices or "missing" in stamp:
        return _score_unanswered(suite_scorer, stamp, unknown, is_excluded=exclusion is not None)
    prepared = await run_in_thread(lambda: suite_scorer.prepare(problem, state.output.completion))
    running = suite_scorer.start(prepared, reference) if exclusion is None else None
    result = await _await_result(running)
    verdict = suite_scorer.verdict(problem, prepared, result, exclusion, reference)
    reduced = suite_scorer.reduced(problem, prepared) if verdict.passed else None
    while reduced is not None and reduced.text is not None:
        shorter = await _await_result(
            suite_scorer.start(suite_scorer.shorter(problem, prepared, reduced.text), reference)
        )
        assert shorter is not None  # noqa: S101  an answer of the problem has run
        reduced.tell(shorter)
    measured = {} if reduced is None or reduced.measured is None else dict(reduced.measured.values)
    values = {
        PASSED: math.nan if verdict.passed is None else float(verdict.passed),
        VERDICT: math.nan if verdict.excluded else float(verdict.passed is not None),
    }
    said = [verdict.details.get(name) for name in ("cause", "reason", "diagnostics", "stderr")]
    return Score(
        value=values | unknown | dict(verdict.values) | measured,
        answer=prepared.text,
        explanation="\n".join([verdict.outcome, *(str(text) for text in said if text)]),
        reason=None if verdict.passed is not None else verdict.outcome,
        metadata=_common_metadata(suite_scorer)
        | {"outcome": verdict.outcome, "counted": verdict.passed is not None, "error_kinds": list(prepared.error_kinds)}
        | dict(verdict.details),
    )


async def _await_result(running: Future[ExecutionResult] | None) -> ExecutionResult | None:
    if running is None:
        return None
    return await await_future(running)


def _score_unanswered(
    suite_scorer: AnswerScorer, stamp: Mapping[str, Any], unknown: Mapping[str, float], *, is_excluded: bool
) -> Score:
    """Return the score of a sample without an answer: no verdict."""
    from caretbench.inspect.tasks.answer_scorer import EXCLUDED, NO_ANSWER

    kind = stamp.get("missing", NO_ANSWER)
    there = math.nan if is_excluded or not suite_scorer.executes else 0.0
    return Score(
        value={PASSED: math.nan, VERDICT: there} | dict(unknown),
        explanation=str(stamp.get("message") or "there is no answer"),
        reason=EXCLUDED if is_excluded else kind,
        metadata=_common_metadata(suite_scorer) | {"outcome": kind, "counted": False},
    )


def _common_metadata(suite_scorer: AnswerScorer) -> dict[str, Any]:
    first_lines = suite_scorer.suite.rules(suite_scorer.profile).first_lines
    return {"profile": suite_scorer.profile, "policy": suite_scorer.policy.key, "first_lines": first_lines}
