"""The scorer: the house's truncation policy, executor and similarity, for each sample of an evaluation."""

from __future__ import annotations

import math
from concurrent.futures import Future
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from caretbench.execution.types import ExecutionResult
from caretbench.inspect.client.waiting import computed, result_of
from caretbench.inspect.tasks.metrics import PASSED, VERDICT, numbers
from caretbench.inspect.tasks.solver import STAMP


async def _result_of(running: Future[ExecutionResult] | None) -> ExecutionResult | None:
    if running is None:
        return None
    return await result_of(running)


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
    """Run the answer in its place, and compare it with the reference.

    A value without a verdict is NaN: Inspect leaves such rows out of the metrics, as the report does.

    Args:
        suite: The suite's name; None: the one that asked, as the log says.
        data: Its problems; None: as the log says.
        policy: Truncation policy; by default syntax, and released under the paper profile.
        profile: ``default`` or ``paper``.
        variants: A named build by language.
        execute: Run the programs; without, only similarity is measured.
        workers: Programs in flight.
        use_cache: Take known verdicts from the cache.
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the problem holds more than a target
        from caretbench.inspect.tasks.bench import LEFT_OUT, NO_ANSWER, bench, nothing_known

        stamp: dict[str, Any] = state.metadata.get(STAMP) or {}
        name = suite or stamp.get("suite")
        if name is None:
            raise ValueError("the log does not say which suite asked; give -S suite=NAME")
        house = bench(
            name, data or stamp.get("data") or "starter", policy=policy, profile=profile, variants=variants,
            execute=execute, workers=workers, use_cache=use_cache,
        )  # fmt: skip
        problem = house.problem(str(state.sample_id))
        golden = house.golden(problem)
        reference, left_out = None, None
        if golden is not None:
            ran = await result_of(golden)
            reference, left_out = ran, house.left_out(ran)
        common = {"profile": house.profile, "policy": house.policy.key}
        if not state.output.choices or "missing" in stamp:
            names = await computed(lambda: house.similarity_names)
            there = math.nan if left_out is not None or not house.executes else 0.0
            kind = stamp.get("missing", NO_ANSWER)
            return Score(
                value={PASSED: math.nan, VERDICT: there} | nothing_known(names),
                explanation=str(stamp.get("message") or "there is no answer"),
                reason=LEFT_OUT if left_out is not None else kind,
                metadata=common | {"outcome": kind, "counted": False},
            )
        # Every sample has every name: Inspect puts the values of an epoch beside those of the others.
        unknown = nothing_known(await computed(lambda: house.similarity_names))
        prepared = await computed(lambda: house.prepare(problem, state.output.completion))
        running = house.start(prepared) if left_out is None else None
        result = await _result_of(running)
        verdict = house.verdict(problem, prepared, result, left_out, reference)
        values = {
            PASSED: math.nan if verdict.passed is None else float(verdict.passed),
            VERDICT: math.nan if verdict.left_out else float(verdict.passed is not None),
        }
        said = [verdict.details.get(name) for name in ("cause", "reason", "diagnostics", "stderr")]
        return Score(
            value=values | unknown | dict(verdict.values),
            answer=prepared.text,
            explanation="\n".join([verdict.outcome, *(str(text) for text in said if text)]),
            reason=None if verdict.passed is not None else verdict.outcome,
            metadata=common
            | {"outcome": verdict.outcome, "counted": verdict.passed is not None}
            | dict(verdict.details),
        )

    return score
