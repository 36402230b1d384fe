"""Verdicts of tasks with pytest started warm and cold: whether they are equal, and what both cost.

Usage: python benchmarks/warm_pytest.py FOLDER… [--limit N]

For each Python problem its reference, its masks and the empty answer are run both ways, without the cache. The cost
of a start is that of one test that does nothing, in the problem's project with its own conftest.py and packages.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from caretbench.build.project_tasks.deciding_tests import mask_texts
from caretbench.build.validation.mutants import with_span
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice, workspace_request
from caretbench.suites.codevbench.build.miner import block_span
from caretbench.suites.stored_tasks import stored_tasks

_START_TEST = "test_caretbench_start.py"
_TESTS_FILE = ".caretbench-tools/tests.json"


def main() -> None:
    """Print the differences, the counts and the medians; end with status 1 if a verdict differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--limit", type=int, default=500, help="maximum number of answers (default 500)")
    arguments = parser.parse_args()
    runners = (WorkspaceRunner(), WorkspaceRunner(warm_python=False))
    texts: dict[str, WorkspaceRequest] = {}
    starts: dict[str, WorkspaceRequest] = {}
    for folder in arguments.folders:
        share = (arguments.limit - len(texts)) // (len(arguments.folders) - arguments.folders.index(folder))
        own = dict(pair for pair, _ in zip(_requests(stored_tasks(folder)), range(share), strict=False))
        texts |= own
        starts |= {one.snapshot: _start(one) for one in own.values() if _TESTS_FILE in one.patch}
    differences = 0
    costs: list[tuple[float, float]] = []
    for name, request in texts.items():
        warm, cold = (runner.run(request) for runner in runners)
        costs.append((warm.cpu_s, cold.cpu_s))
        if _verdict(warm) != _verdict(cold):
            differences += 1
            sys.stdout.write(
                f"{name}: warm {warm.status.value} {warm.reason}, cold {cold.status.value} {cold.reason}\n"
            )
    sys.stdout.write(f"{len(costs) - differences} of {len(costs)} verdicts are equal\n")
    _write_costs("an answer", costs)
    for runner in runners:
        for request in starts.values():  # the first start of a project's warm sandbox imports its packages
            runner.run(request)
    pairs = [tuple(runner.run(one).cpu_s for runner in runners) for one in starts.values() for _ in range(5)]
    _write_costs("a start", [(warm, cold) for warm, cold in pairs])
    for runner in runners:
        runner.close()
    sys.exit(int(differences > 0))


def _write_costs(what: str, costs: list[tuple[float, float]]) -> None:
    ratio = median(warm / cold for warm, cold in costs)
    warm_s, cold_s = (median(column) for column in zip(*costs, strict=True))
    sys.stdout.write(f"{what}: {warm_s:.3f} s of CPU warm, {cold_s:.3f} s cold; median of the ratios {ratio:.3f}\n")


def _requests(problems: list[Problem]) -> Iterator[tuple[str, WorkspaceRequest]]:
    store = SnapshotStore()
    seen: set[tuple[str, str, int, int]] = set()
    for problem in problems:
        splice = file_splice(problem)
        place = (splice.snapshot, splice.path, splice.start, splice.end)
        if problem.label("language") != "python" or place in seen:
            continue
        seen.add(place)
        yield f"{problem.id} reference", workspace_request(problem, problem.reference)
        if problem.reference:
            yield f"{problem.id} empty", workspace_request(problem, "")
        for number, (span, text) in enumerate(mask_texts(store, problem, block_span(problem))):
            yield f"{problem.id} mask {number}", workspace_request(with_span(problem, span), text)


def _start(request: WorkspaceRequest) -> WorkspaceRequest:
    """Return the request that runs one test that does nothing."""
    tests = {_TESTS_FILE: json.dumps([f"{_START_TEST}::test_start"]).encode(), _START_TEST: b"def test_start(): pass\n"}
    tools = {path: text for path, text in request.patch.items() if path.startswith(".caretbench-tools/")}
    named = (*request.command, _START_TEST)
    return request.model_copy(update={"patch": {**tools, **tests}, "command": named, "minimum_tests": 1})


def _verdict(result: WorkspaceResult) -> tuple[object, ...]:
    return result.status, result.exit_code, tuple((test.name, test.outcome) for test in result.tests)


if __name__ == "__main__":
    main()
