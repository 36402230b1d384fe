"""Choice of the tests that decide about each problem: all that reach it, within a budget of CPU time.

Masks say whether a block is a problem: each must fail. Above the budget, tests are chosen by the wrong answers that
they fail: masks, the reference without its construct (``if`` always taken, loop run once, handlers that throw on), and
mutants.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal, NamedTuple

from caretbench.build.project_tasks.block_miner import BlockMiner, DrawnProblems, DrawnTasks
from caretbench.build.project_tasks.tester.answer_tests import is_written_test
from caretbench.build.projects.reference_runs import run_named_tests
from caretbench.build.projects.test_outcomes import all_failures_request, outcomes_by_test
from caretbench.build.validation.mutants import changed_references, in_file, masks, removed_constructs, with_span
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import limits_from_cpu_time
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.files import sha256_text
from caretbench.problem import Label, Problem
from caretbench.projects.answer_requests import (
    check_request,
    file_splice,
    get_tests_check,
    original_file,
    workspace_request,
)
from caretbench.projects.runner_options import runs_pytest

MAX_TESTS: Final = 300
"""Maximum number of tests that a task's check names."""
KILLS_KEPT: Final = "kills_kept"
"""Label: share of the wrong answers failed by all tests that reach a problem which its own tests fail."""
CONSTRUCT_REMOVED: Final = "construct_removed"
"""Label: ``unnoticed`` if all tests pass without the hidden construct, else ``noticed``; none without a construct."""
_MIN_TEST_S: Final = 0.0005
"""CPU seconds that pytest itself needs for a test."""
_MUTANTS, _MIN_MUTANTS = 8, 2
_MUTANTS_CPU_S: Final = 20.0
"""CPU seconds for the mutants of one problem: a long suite tries fewer. tomlkit's tests take 6 s."""
_WALL_FACTOR, _MIN_WALL_S, _MIN_CPU_S = 10, 10, 4.0

_Kind = Literal["mask", "removed", "mutant"]


class _SuiteTimes(NamedTuple):
    """CPU and wall seconds of a run of all tests, and of each test in it; empty if single tests are not known."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    test_cpu_s: Mapping[str, float] = {}
    test_wall_s: Mapping[str, float] = {}

    def cost(self, tests: Collection[str]) -> float:
        """Return the CPU seconds of some tests beyond the start of the runner, of each as a power of two.

        So mining twice gives the same choice, though times differ a little.
        """
        seconds = (max(self.test_cpu_s.get(name, 0.0), _MIN_TEST_S) for name in tests)
        return math.fsum(2.0 ** round(math.log2(cpu_s)) for cpu_s in seconds)

    def bounded(self, request: WorkspaceRequest, tests: Collection[str]) -> WorkspaceRequest:
        """Return the request with limits by the time of these tests: ten times that by the clock.

        In asgiref 600 of 856 s of a build were waits of masks that hang, 120 s each.
        """
        if not self.wall_s:
            return request
        left_out = self.test_wall_s.keys() - set(tests) if tests else ()
        wall_s = max(0.0, self.wall_s - math.fsum(self.test_wall_s[name] for name in left_out))
        cpu_s = max(0.0, self.cpu_s - math.fsum(self.test_cpu_s[name] for name in left_out))
        limits = limits_from_cpu_time(cpu_s, min_s=_MIN_CPU_S, min_limits=request.limits)
        most_s = float(max(_MIN_WALL_S, _WALL_FACTOR * math.ceil(wall_s)))
        limits = limits.model_copy(update={"wall_s": min(request.limits.wall_s, most_s)})
        return request.model_copy(update={"limits": limits})


@dataclass
class TrialOfTests:
    """One problem: the tests that reach it (empty: not known, so all decide), and the runs of its wrong answers."""

    problem: Problem
    reaching: tuple[str, ...] = ()
    by_kills: bool = False
    """The tests are chosen by the wrong answers that they fail."""
    has_masks: bool = True
    """A mask that passes rejects the problem."""
    answers: dict[str, _Kind] = field(default_factory=dict)
    """Kinds of wrong answers by the key of their run."""
    kills: list[tuple[_Kind, Mapping[str, float]]] = field(default_factory=list)
    """The failing tests of each wrong answer that compiles and fails."""
    passing: Counter[_Kind] = field(default_factory=Counter)

    def chosen(self, times: _SuiteTimes, budget_s: float) -> tuple[str, ...]:
        """Return the tests that decide.

        A mask and a removed construct fail whatever that costs; the budget bounds the others. What is left of it goes
        to the tests that fail most for their time.
        """
        others = tuple(name for name in self.reaching if not is_written_test(name))
        # Tests that a model wrote decide only where the others do not notice a mask.
        if any(kind == "mask" and not failing.keys() & set(others) for kind, failing in self.kills):
            others = self.reaching
        others = others or self.reaching
        if not self.by_kills or (times.cost(others) <= budget_s and len(others) <= MAX_TESTS):
            return others
        kept: dict[str, None] = {}
        self._cover(kept, others, {"mask", "removed"}, times, math.inf)
        self._cover(kept, others, {"mutant"}, times, budget_s)
        count = Counter(name for _, failing in self.kills for name in failing)
        for name in sorted(others, key=lambda name: -(1 + count[name]) / times.cost([name])):
            if len(kept) < MAX_TESTS and name not in kept and times.cost([*kept, name]) <= budget_s:
                kept[name] = None
        return tuple(name for name in others if name in kept)

    def _cover(
        self, kept: dict[str, None], tests: Sequence[str], kinds: Collection[_Kind], times: _SuiteTimes, most_s: float
    ) -> None:
        """Add tests to ``kept`` until they fail all wrong answers of some kinds, those that fail most for their time.

        Tests that would take more than ``most_s`` together are passed over.
        """
        waiting = [set(failing) & set(tests) for kind, failing in self.kills if kind in kinds]
        while len(kept) < MAX_TESTS:
            waiting = [failing for failing in waiting if failing and not failing & kept.keys()]
            left_s = most_s - times.cost(kept)
            counts = Counter(name for failing in waiting for name in failing if times.cost([name]) <= left_s)
            if not counts:
                return
            kept[min(counts, key=lambda name: (-counts[name] / times.cost([name]), tests.index(name)))] = None

    def labels(self, chosen: Sequence[str]) -> dict[str, Label]:
        """Return the labels that say what the chosen tests notice; empty: all tests."""
        kept = sum(not chosen or bool(failing.keys() & set(chosen)) for _, failing in self.kills)
        share = kept / len(self.kills) if self.by_kills and self.kills else 1.0
        labels: dict[str, Label] = {KILLS_KEPT: round(share, 3)}
        if self.passing["removed"] or any(kind == "removed" for kind, _ in self.kills):
            labels[CONSTRUCT_REMOVED] = "unnoticed" if self.passing["removed"] else "noticed"
        return labels


def choose_tests(drawn: DrawnTasks, miner: BlockMiner) -> DrawnProblems:
    """Return the problems with the tests that decide about them, without those whose masks pass.

    The masks are those of the hidden text, or of its block where none of them parses. Where single tests are not known
    (no pytest, or tests that depend on their order) all of them decide. Problems without a mask that compiles stay;
    the gate's mutants decide about them.

    Raises:
        DataError: the snapshot is missing or damaged, or this machine could not run a mask.
    """
    times = _times(drawn)
    requests: dict[str, WorkspaceRequest] = {}
    trials = [_trial(drawn, problem, miner.block_span(problem), times, requests) for problem in drawn.problems]
    results = _run(drawn, trials, requests)
    rejected: Counter[str] = Counter()
    chosen: dict[str, tuple[str, ...]] = {}
    kept: list[Problem] = []
    for trial in trials:
        if _read_results(trial, results):
            rejected["mask_passes"] += 1
            continue
        tests = trial.chosen(times, drawn.budget_s)
        if tests and tests != drawn.reach.all_tests:
            chosen[trial.problem.id] = tests
        labels = {**trial.problem.labels, **trial.labels(tests)}
        kept.append(trial.problem.model_copy(update={"labels": labels}))
    named = run_named_tests(drawn.engine, kept, chosen)
    # Tests that do not pass without the others are replaced by all of them, which notice everything.
    problems = tuple(
        problem.model_copy(update={"labels": {**problem.labels, KILLS_KEPT: 1.0}})
        if problem.id in chosen and not get_tests_check(problem).tests
        else problem
        for problem in named.problems
    )
    return DrawnProblems(problems, rejected, named.project_checks)


def _times(drawn: DrawnTasks) -> _SuiteTimes:
    """Return the times of all tests on the unchanged project, and where they are known of each of them."""
    if len({repr(get_tests_check(problem)) for problem in drawn.problems}) != 1:
        return _SuiteTimes()
    first = drawn.problems[0]
    if drawn.suite is not None and not runs_pytest(get_tests_check(first).command):
        return _SuiteTimes(drawn.suite.cpu_s, drawn.suite.wall_s)
    request = check_request(get_tests_check(first), file_splice(first).snapshot, identity="times of tests")
    [result] = drawn.engine.submit([all_failures_request(request)])
    are_known = result.status is Status.PASSED and drawn.reach.all_tests
    tests = outcomes_by_test(result) if are_known else {}
    cpu_s = {name: test.cpu_s for name, test in tests.items()}
    return _SuiteTimes(result.cpu_s, result.wall_s, cpu_s, {name: test.seconds for name, test in tests.items()})


def _trial(
    drawn: DrawnTasks,
    problem: Problem,
    block: tuple[int, int] | None,
    times: _SuiteTimes,
    runs: dict[str, WorkspaceRequest],
) -> TrialOfTests:
    """Return the trial of a problem; the requests of its wrong answers are added to ``runs``."""
    splice = file_splice(problem)
    span = block or (splice.start, splice.end)
    # All of them: the five fastest that fail under a mask let a bare `raise` pass for an `if` of webcolors.
    reaching = drawn.reach.tests_reaching(splice.path, *span) or drawn.reach.all_tests if drawn.any_order else ()
    above_budget = times.cost(reaching) > drawn.budget_s
    if len(reaching) > MAX_TESTS and not above_budget and times.cost(drawn.reach.all_tests) <= drawn.budget_s:
        reaching = drawn.reach.all_tests
    above_budget |= len(reaching) > MAX_TESTS and reaching != drawn.reach.all_tests
    trial = TrialOfTests(problem, reaching, above_budget or any(map(is_written_test, reaching)), block is not None)
    named = reaching if reaching != drawn.reach.all_tests else ()
    check = get_tests_check(problem).model_copy(update={"tests": named, "minimum_tests": 0})
    tried = problem.model_copy(update={"checks": (check,)})
    for kind, replaced, text in _wrong_answers(drawn, problem, block, times.cost(reaching) if above_budget else None):
        request = workspace_request(with_span(tried, replaced), text, store=drawn.store)
        key = f"{kind} {sha256_text(splice.path, repr(named), repr(request.patch[splice.path]))[:32]}"
        trial.answers[key] = kind
        request = request.model_copy(update={"id": key, "expected": None, "reference_cpu_s": check.reference_s})
        # Wrong answers that hang waited 120 s each: 600 of the 856 s of asgiref's build.
        request = times.bounded(request, named)
        runs[key] = all_failures_request(request) if trial.by_kills else request
    return trial


def _wrong_answers(
    drawn: DrawnTasks, problem: Problem, block: tuple[int, int] | None, cost_s: float | None
) -> Iterator[tuple[_Kind, tuple[int, int], str]]:
    """Yield the wrong answers to a problem: kind, replaced bytes, text; mutants only where a run's ``cost_s`` is given.

    Raises:
        DataError: the project is not in the store.
    """
    splice = file_splice(problem)
    answer_span = (splice.start, splice.end)
    if block is not None or cost_s is not None:
        yield from (("mask", *mask) for mask in mask_texts(drawn.store, problem, block or answer_span))
    in_program = in_file(problem, original_file(splice.snapshot, splice.path, drawn.store))
    yield from (("removed", answer_span, mutant.text) for mutant in removed_constructs(in_program))
    if cost_s is not None:
        most = max(_MIN_MUTANTS, min(_MUTANTS, int(_MUTANTS_CPU_S / cost_s)))
        yield from (("mutant", answer_span, mutant.text) for mutant in islice(changed_references(in_program), most))


def _run(
    drawn: DrawnTasks, trials: Sequence[TrialOfTests], requests: Mapping[str, WorkspaceRequest]
) -> dict[str, WorkspaceResult]:
    """Return the results of all wrong answers by key; report a problem as finished when all of its own have run."""
    waiting = [set(trial.answers) for trial in trials]
    drawn.progress(sum(not keys for keys in waiting))
    results: dict[str, WorkspaceResult] = {}
    for result in drawn.engine.submit(requests.values()):
        results[result.id] = result
        for keys in waiting:
            if result.id in keys:
                keys.remove(result.id)
                drawn.progress(int(not keys))
    return results


def mask_texts(store: SnapshotStore, problem: Problem, span: tuple[int, int]) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the masks of a problem whose block is at ``span``: the masked bytes, and the text in their place.

    Raises:
        DataError: the project is not in the store.
    """
    splice = file_splice(problem)
    content = original_file(splice.snapshot, splice.path, store)
    throw = problem.label("block") == "method"
    spliced = (splice.start, splice.end)
    spans = [spliced, span] if spliced[0] < spliced[1] and spliced != span else [span]
    for masked in spans:
        block_masks = masks(problem, content, masked, throw=throw and masked == span)
        if block_masks:
            yield from ((masked, mask.text) for mask in block_masks)
            return


def failing_tests(result: WorkspaceResult, tests: Sequence[str]) -> dict[str, float]:
    """Return those of the tests that fail a wrong answer, with their seconds; ``tests`` are in the order of execution.

    Tests of a file that cannot be collected fail. Tests without an outcome were skipped, or never ran: of them only the
    first counts, and only if a limit ended the command or no other test fails, since it ran at the end. Without any
    outcome nothing could be collected.
    """
    outcomes = outcomes_by_test(result)
    failed = {name: test.seconds for name, test in outcomes.items() if test.outcome in ("failed", "error")}
    failing = {name: failed.get(name, 0.0) for name in tests if name in failed or name.partition("::")[0] in failed}
    missing = [name for name in tests if name not in failing and name not in outcomes]
    if outcomes or result.status.hits_limit:
        missing = missing[:1] if result.status.hits_limit or not failing else []
    return failing | dict.fromkeys(missing, 0.0)


def _read_results(trial: TrialOfTests, results: Mapping[str, WorkspaceResult]) -> bool:
    """Note the failing tests of a problem's wrong answers; return whether a mask passes."""
    for key, kind in trial.answers.items():
        result = results[key]
        if result.status.is_machine_fault and kind == "mask" and trial.has_masks:
            raise DataError(
                f"{trial.problem.id}: a mask did not run: {result.reason or result.status.value}; build again"
            )
        if result.status is Status.PASSED:
            trial.passing[kind] += 1
        elif result.status.kills_mutant:  # else it does not compile, which shows nothing
            failing = failing_tests(result, trial.reaching) if trial.by_kills else {}
            trial.kills.append((kind, failing))
    return trial.has_masks and bool(trial.passing["mask"])
