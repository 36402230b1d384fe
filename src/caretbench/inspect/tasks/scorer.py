"""Scorer: CaretBench's truncation policy, executor and similarity, for each sample of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from caretbench.execution.execution_types import ExecutionResult
from caretbench.inspect.client.background_loop import await_future, run_in_thread
from caretbench.inspect.tasks.metrics import PASSED, VERDICT, numbers
from caretbench.inspect.tasks.solver import STAMP

if TYPE_CHECKING:
    from caretbench.inspect.tasks.inspect_suite import InspectSuite


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
        from caretbench.inspect.tasks.inspect_suite import inspect_suite

        stamp: dict[str, Any] = state.metadata.get(STAMP) or {}
        name = suite or stamp.get("suite")
        if name is None:
            raise ValueError("the log does not name its suite; add -S suite=NAME")
        task_suite = inspect_suite(
            name, data or stamp.get("data") or "starter", policy=policy, profile=profile, variants=variants,
            execute=execute, workers=workers, use_cache=use_cache,
        )  # fmt: skip
        return await _score(task_suite, state, stamp)

    return score


async def _score(suite: InspectSuite, state: TaskState, stamp: Mapping[str, Any]) -> Score:
    """Return the score of one sample."""
    problem = suite.problem(str(state.sample_id))
    reference = await _ran(suite.reference(problem))
    exclusion = None if reference is None else suite.exclusion_cause(reference)
    # Every sample has every name: Inspect puts the values of an epoch next to those of the others.
    unknown = dict.fromkeys(await run_in_thread(lambda: suite.similarity_names), math.nan)
    if not state.output.choices or "missing" in stamp:
        return _unanswered(suite, stamp, unknown, is_excluded=exclusion is not None)
    prepared = await run_in_thread(lambda: suite.prepare(problem, state.output.completion))
    running = suite.start(prepared, reference) if exclusion is None else None
    result = await _ran(running)
    verdict = suite.verdict(problem, prepared, result, exclusion, reference)
    values = {
        PASSED: math.nan if verdict.passed is None else float(verdict.passed),
        VERDICT: math.nan if verdict.excluded else float(verdict.passed is not None),
    }
    said = [verdict.details.get(name) for name in ("cause", "reason", "diagnostics", "stderr")]
    return Score(
        value=values | unknown | dict(verdict.values),
        answer=prepared.text,
        explanation="\n".join([verdict.outcome, *(str(text) for text in said if text)]),
        reason=None if verdict.passed is not None else verdict.outcome,
        metadata=_common(suite)
        | {"outcome": verdict.outcome, "counted": verdict.passed is not None, "error_kinds": list(prepared.error_kinds)}
        | dict(verdict.details),
    )


async def _ran(running: Future[ExecutionResult] | None) -> ExecutionResult | None:
    if running is None:
        return None
    return await await_future(running)


def _unanswered(
    suite: InspectSuite, stamp: Mapping[str, Any], unknown: Mapping[str, float], *, is_excluded: bool
) -> Score:
    """Return the score of a sample without an answer: no verdict."""
    from caretbench.inspect.tasks.inspect_suite import LEFT_OUT, NO_ANSWER

    kind = stamp.get("missing", NO_ANSWER)
    there = math.nan if is_excluded or not suite.executes else 0.0
    return Score(
        value={PASSED: math.nan, VERDICT: there} | dict(unknown),
        explanation=str(stamp.get("message") or "there is no answer"),
        reason=LEFT_OUT if is_excluded else kind,
        metadata=_common(suite) | {"outcome": kind, "counted": False},
    )


def _common(suite: InspectSuite) -> dict[str, Any]:
    first_lines = suite.suite.rules(suite.profile).first_lines
    return {"profile": suite.profile, "policy": suite.policy.key, "first_lines": first_lines}
