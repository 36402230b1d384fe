"""Choice of the tests that decide about each problem: the fastest that fail under every mask of its block."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.files import sha256_text
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice, original_file, tests_check, workspace_request
from caretbench.projects.excluded_tests import all_failures_request, outcomes_by_test
from caretbench.projects.reference_runs import MAX_TESTS, run_named_tests
from caretbench.suites.project_tasks.block_miner import DrawnProblems, DrawnTasks
from caretbench.validation.masks import masks, with_mask

MAX_DECIDING_TESTS: Final = 5
"""Maximum number of tests that decide about a problem."""
_THROWN: Final = frozenset({"method"})
_FAST_S: Final = 0.25
"""Seconds up to which tests count as equally fast, and so do those within each factor of 4 above it."""
_FAILURES: Final = frozenset({"failed", "error"})


@dataclass
class _Trial:
    """One problem: the tests that reach its block, and for each mask the failing tests (None: not known)."""

    problem: Problem
    reaching: tuple[str, ...]
    requests: tuple[str, ...]
    """Keys of the runs of its masks."""
    failing: list[Mapping[str, float] | None] = field(default_factory=list)

    def decisive(self) -> tuple[str, ...] | None:
        """Return the tests that fail under every mask, the fastest first; None if single tests are not known."""
        known = [one for one in self.failing if one is not None]
        if len(known) < len(self.failing) or not known:
            return None
        order = {name: number for number, name in enumerate(self.reaching or known[0])}
        shared = set(known[0]).intersection(*known[1:]) & set(order)
        slow = {name: max(one[name] for one in known) for name in shared}
        return tuple(sorted(shared, key=lambda name: (_pace(slow[name]), order[name])))


def _pace(seconds: float) -> int:
    return math.ceil(math.log(max(seconds, _FAST_S) / _FAST_S, 4))


def tests_by_masks(drawn: DrawnTasks, block_spans: Mapping[str, tuple[int, int]]) -> DrawnProblems:
    """Return the problems whose masks make the same tests fail, with the fastest of these tests.

    The masks are those of the hidden text, or of its block where none of them parses (``block_spans``: its bytes, by
    problem). Where the runner names no tests, or they depend on their order, every test of the project decides, and
    each mask must make them fail. Problems without a mask keep the tests that reach their block; the gate's mutants
    decide about them.

    Raises:
        DataError: the snapshot is missing or damaged.
    """
    requests: dict[str, WorkspaceRequest] = {}
    trials = [_trial(drawn, problem, block_spans[problem.id], requests) for problem in drawn.problems]
    results = _run_masks(drawn, trials, requests)
    rejected: Counter[str] = Counter()
    chosen: dict[str, tuple[str, ...]] = {}
    kept: list[Problem] = []
    for trial in trials:
        reason = _read(trial, [results[key] for key in trial.requests])
        if reason:
            rejected[reason] += 1
            continue
        kept.append(trial.problem)
        tests = (trial.decisive() or ())[:MAX_DECIDING_TESTS] if trial.requests else trial.reaching
        if tests:
            chosen[trial.problem.id] = tests
    named = run_named_tests(drawn.engine, kept, chosen)
    return DrawnProblems(named.problems, rejected, named.project_checks)


def _run_masks(
    drawn: DrawnTasks, trials: Sequence[_Trial], requests: Mapping[str, WorkspaceRequest]
) -> dict[str, WorkspaceResult]:
    """Return the results of all masks by key; report a problem as finished when all of its masks have run."""
    waiting = [set(trial.requests) for trial in trials]
    drawn.progress(sum(not keys for keys in waiting))
    results: dict[str, WorkspaceResult] = {}
    for result in drawn.engine.submit(requests.values()):
        results[result.id] = result
        for keys in waiting:
            if result.id in keys:
                keys.remove(result.id)
                drawn.progress(int(not keys))
    return results


def _trial(drawn: DrawnTasks, problem: Problem, span: tuple[int, int], runs: dict[str, WorkspaceRequest]) -> _Trial:
    splice = file_splice(problem)
    reaching = drawn.reach.tests_reaching(splice.path, *span) if drawn.any_order else ()
    if not reaching and drawn.any_order and drawn.reach.all_tests:
        reaching = drawn.reach.all_tests  # all of them
    if len(reaching) > MAX_TESTS:
        reaching = ()
    check = tests_check(problem)
    named = problem.model_copy(update={"checks": (check.model_copy(update={"tests": reaching, "minimum_tests": 0}),)})
    keys = []
    for place, text in mask_texts(drawn.store, problem, span):
        request = workspace_request(with_mask(named, place), text, store=drawn.store)
        key = f"mask {sha256_text(splice.path, repr(reaching), repr(request.patch[splice.path]))[:32]}"
        keys.append(key)
        runs[key] = all_failures_request(request.model_copy(update={"id": key, "expected": None}))
    return _Trial(problem, reaching, tuple(dict.fromkeys(keys)))


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


def _read(trial: _Trial, results: Sequence[WorkspaceResult]) -> str:
    """Note the failing tests of a problem's masks; return the reason to reject it, empty if there is none."""
    for result in results:
        if result.status.is_machine_fault:
            return "mask_not_run"
        outcomes = outcomes_by_test(result)
        if result.status is Status.PASSED and not any(one.outcome in _FAILURES for one in outcomes.values()):
            return "mask_passes"
        if not trial.reaching:
            trial.failing.append(None)
            continue
        passed = {name for name, one in outcomes.items() if one.outcome == "passed"}
        trial.failing.append(
            {name: outcomes[name].seconds if name in outcomes else 0.0 for name in trial.reaching if name not in passed}
        )
    return "no_test_fails_under_every_mask" if results and trial.decisive() == () else ""
