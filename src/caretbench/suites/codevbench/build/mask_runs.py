"""Choice of the tests that decide about each problem: the fastest that fail under every mask of its block."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from caretbench.build.project_tasks.block_miner import DrawnProblems, DrawnTasks
from caretbench.build.project_tasks.tester.answer_tests import is_written_test
from caretbench.build.projects.reach.statement_reach import CallChains
from caretbench.build.projects.reference_runs import MAX_TESTS, run_named_tests
from caretbench.build.validation.mutants import masks, with_span
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.files import sha256_text
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice, original_file, tests_check, workspace_request
from caretbench.projects.excluded_tests import all_failures_request, outcomes_by_test

MAX_DECIDING_TESTS: Final = 5
"""Maximum number of tests that decide about a problem."""
_THROWN: Final = frozenset({"method"})
_FAST_S: Final = 0.25
"""Seconds up to which tests count as equally fast, and so do those within each factor of 4 above it."""


@dataclass
class MaskTrial:
    """One problem: the tests that reach its block (empty: not known), and those that fail under each of its masks."""

    problem: Problem
    reaching: tuple[str, ...]
    mask_keys: tuple[str, ...]
    """Keys of the runs of its masks."""
    failing: list[Mapping[str, float]] = field(default_factory=list)
    """Seconds of the failing tests by name, for each mask that compiles."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """For each test, its least number of calls to the function of the block; without those that are not known."""

    def decisive(self) -> tuple[str, ...] | None:
        """Return the tests that fail under every mask; None if single tests are not known.

        The fastest are first, and among equally fast ones those that reach the function by the fewest calls.
        """
        if not self.reaching or not self.failing:
            return None
        shared = set(self.failing[0]).intersection(*self.failing[1:])
        slow = {name: max(one[name] for one in self.failing) for name in shared}

        def rank(name: str) -> tuple[int, float, int]:
            return _pace(slow[name]), self.depths.get(name, math.inf), self.reaching.index(name)

        return tuple(sorted(shared, key=rank))


def _pace(seconds: float) -> int:
    return math.ceil(math.log(max(seconds, _FAST_S) / _FAST_S, 4))


def tests_by_masks(drawn: DrawnTasks, block_spans: Mapping[str, tuple[int, int]], chains: CallChains) -> DrawnProblems:
    """Return the problems whose masks make the same tests fail, with the fastest of these tests.

    The masks are those of the hidden text, or of its block where none of them parses (``block_spans``: its bytes, by
    problem). Where single tests are not known (no pytest, tests that depend on their order, more than 300 that reach a
    block) all of them decide, and fail under each mask. Problems without a mask that compiles keep the tests that reach
    their block; the gate's mutants decide about them.

    Raises:
        DataError: the snapshot is missing or damaged, or this machine could not run a mask.
    """
    requests: dict[str, WorkspaceRequest] = {}
    trials = [_trial(drawn, problem, block_spans[problem.id], requests, chains) for problem in drawn.problems]
    results = _run_masks(drawn, trials, requests)
    rejected: Counter[str] = Counter()
    chosen: dict[str, tuple[str, ...]] = {}
    kept: list[Problem] = []
    for trial in trials:
        reason = _rejection(trial, [results[key] for key in trial.mask_keys])
        if reason:
            rejected[reason] += 1
            continue
        kept.append(trial.problem)
        decisive = trial.decisive()
        if trial.reaching:
            chosen[trial.problem.id] = trial.reaching if decisive is None else _first(decisive)
    named = run_named_tests(drawn.engine, kept, chosen)
    return DrawnProblems(named.problems, rejected, named.project_checks)


def _first(decisive: Sequence[str]) -> tuple[str, ...]:
    """Return the first tests; those that a model wrote only where no others decide."""
    others = [name for name in decisive if not is_written_test(name)]
    return tuple((others or decisive)[:MAX_DECIDING_TESTS])


def _run_masks(
    drawn: DrawnTasks, trials: Sequence[MaskTrial], requests: Mapping[str, WorkspaceRequest]
) -> dict[str, WorkspaceResult]:
    """Return the results of all masks by key; report a problem as finished when all of its masks have run."""
    waiting = [set(trial.mask_keys) for trial in trials]
    drawn.progress(sum(not keys for keys in waiting))
    results: dict[str, WorkspaceResult] = {}
    for result in drawn.engine.submit(requests.values()):
        results[result.id] = result
        for keys in waiting:
            if result.id in keys:
                keys.remove(result.id)
                drawn.progress(int(not keys))
    return results


def _trial(
    drawn: DrawnTasks, problem: Problem, span: tuple[int, int], runs: dict[str, WorkspaceRequest], chains: CallChains
) -> MaskTrial:
    splice = file_splice(problem)
    reaching = drawn.reach.tests_reaching(splice.path, *span) if drawn.any_order else ()
    if not reaching and drawn.any_order and drawn.reach.all_tests:
        reaching = drawn.reach.all_tests
    if len(reaching) > MAX_TESTS:
        reaching = ()
    check = tests_check(problem)
    named = problem.model_copy(update={"checks": (check.model_copy(update={"tests": reaching, "minimum_tests": 0}),)})
    keys = []
    for place, text in mask_texts(drawn.store, problem, span):
        request = workspace_request(with_span(named, place), text, store=drawn.store)
        key = f"mask {sha256_text(splice.path, repr(reaching), repr(request.patch[splice.path]))[:32]}"
        keys.append(key)
        changes = {"id": key, "expected": None, "reference_cpu_s": check.reference_s}
        runs[key] = all_failures_request(request.model_copy(update=changes))
    depths = {name: chains.depth(name, splice.path, span) for name in reaching}
    known = {name: depth for name, depth in depths.items() if depth is not None}
    return MaskTrial(problem, reaching, tuple(dict.fromkeys(keys)), depths=known)


def mask_texts(store: SnapshotStore, problem: Problem, span: tuple[int, int]) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the masks of a problem whose block is at ``span``: the masked bytes, and the text in their place.

    Raises:
        DataError: the project is not in the store.
    """
    splice = file_splice(problem)
    content = original_file(splice.snapshot, splice.path, store)
    throw = problem.label("block") in _THROWN
    own = (splice.start, splice.end)
    places = [own, span] if own[0] < own[1] and own != span else [span]
    for place in places:
        found = masks(problem, content, place, throw=throw and place == span)
        if found:
            yield from ((place, mask.text) for mask in found)
            return


def failing_tests(result: WorkspaceResult, tests: Sequence[str]) -> dict[str, float]:
    """Return those of the tests that fail under a mask, with their seconds; ``tests`` are in the order of execution.

    Tests of a file that cannot be collected fail. Tests without an outcome were skipped, or never ran: of them only the
    first counts, and only if a limit ended the command or no other test fails, since it ran at the end. Without any
    outcome nothing could be collected.
    """
    outcomes = outcomes_by_test(result)
    failed = {name: one.seconds for name, one in outcomes.items() if one.outcome in ("failed", "error")}
    found = {name: failed.get(name, 0.0) for name in tests if name in failed or name.partition("::")[0] in failed}
    missing = [name for name in tests if name not in found and name not in outcomes]
    if outcomes or result.status.hits_limit:
        missing = missing[:1] if result.status.hits_limit or not found else []
    return found | dict.fromkeys(missing, 0.0)


def _rejection(trial: MaskTrial, results: Sequence[WorkspaceResult]) -> str:
    """Note the failing tests of a problem's masks; return the reason to reject it, empty if there is none."""
    for result in results:
        if result.status.is_machine_fault:
            raise DataError(
                f"{trial.problem.id}: a mask did not run: {result.reason or result.status.value}; build again"
            )
        if result.status is Status.PASSED:
            return "mask_passes"
        if not result.status.kills_mutant:  # it does not compile, which shows nothing
            continue
        trial.failing.append(failing_tests(result, trial.reaching))
    return "no_test_fails_under_every_mask" if trial.decisive() == () else ""
