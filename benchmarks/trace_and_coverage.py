"""Lines that our tracer and coverage.py see in a project's tests, and what each costs.

    python benchmarks/trace_and_coverage.py PROJECT ... [--pairs 3]

Each PROJECT is a folder of a Python project with pytest. It is set up as by `build simcopilot --setup auto`, with
pytest-cov in addition. Then its tests run plain, traced, and under coverage.py with a context for each test (its C
tracer, with an empty configuration), each alone and in turns. Prints one JSON line a project: how many (file, line,
test) both see, how many one of them alone, the first of these, and the CPU of traced and measured tests as medians of
ratios to plain ones in the same turn.

Compared are the lines of mined files that tests execute and that nothing else does: lines that also run at import, in
shared fixtures or in teardown belong to no single test.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from caretbench.build.projects.project_analysis import analyse_project
from caretbench.build.projects.project_storage import store_project
from caretbench.build.projects.reach.instrumentation import EXECUTION_LOG, executed_marks
from caretbench.build.projects.setup.command_detection import project_checks
from caretbench.build.projects.setup.project_setup import run_setup, setup_command
from caretbench.build.projects.setup.python_packages import added_packages_command
from caretbench.build.projects.test_outcomes import with_line_tracing, with_reach_recording
from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner
from caretbench.projects.answer_requests import check_request

_SEEN = ".caretbench-coverage.json"
_DUMP = f"""
import json, os, coverage
data = coverage.CoverageData()
data.read()
names = {{}}
rows = [
    [os.path.relpath(file), line, [names.setdefault(name, len(names)) for name in contexts]]
    for file in data.measured_files() if not os.path.relpath(file).startswith(".")
    for line, contexts in data.contexts_by_lineno(file).items()
]
json.dump([list(names), rows], open({_SEEN!r}, "w"))
"""


def measured(root: Path, pairs: int) -> dict[str, object]:
    """Return the figures of one project."""
    runner = WorkspaceRunner(Sandbox(), SnapshotStore(), warm_python=False)  # as traced tests start
    engine = WorkspaceExecutor(1, workspace_runner=runner, use_cache=False)
    store = engine.workspace_runner.store
    project = store_project(root, store)
    paths = sorted(analyse_project(project, ["python"], ()).mined["python"])
    setup = added_packages_command(setup_command(project.snapshot, ["python"]), ["pytest_cov"])
    snapshot = run_setup(engine, project.snapshot, setup)
    [entry] = project_checks(snapshot, ["python"])
    plain = check_request(entry.check, snapshot.id)
    traced = with_reach_recording(with_line_tracing(plain, paths, EXECUTION_LOG), EXECUTION_LOG)
    traced = traced.model_copy(update={"results": (*plain.results, EXECUTION_LOG), "result_bytes": 16 << 20})
    runs = {"plain": plain, "traced": traced, "coverage": _under_coverage(plain)}
    costs: dict[str, list[float]] = {name: [] for name in runs}
    results: dict[str, WorkspaceResult] = {}
    for pair in range(pairs):
        for name in sorted(runs, reverse=pair % 2 == 1):
            [result] = engine.submit([runs[name]])
            if result.status is not Status.PASSED:
                output = f"{result.stdout.text[-2000:]}\n{result.stderr.text[-2000:]}"
                raise SystemExit(f"{root.name}, {name}: {result.status.value}\n{output}")
            costs[name].append(result.cpu_s)
            results[name] = result
    engine.close()
    marks = executed_marks(results["traced"])
    ours = {(paths[file], line, test) for test, own in marks.by_test.items() for file, line in own - marks.shared}
    theirs, shared = _seen_by_coverage(results["coverage"], set(paths))
    common = {(paths[file], line) for file, line in marks.shared} | shared
    ours, theirs = ({row for row in rows if row[:2] not in common} for rows in (ours, theirs))
    ratios = {
        name: round(statistics.median(a / b for a, b in zip(costs[name], costs["plain"], strict=True)), 2)
        for name in ("traced", "coverage")
    }
    return {
        "project": root.name,
        "tests": len(marks.by_test),
        "both": len(ours & theirs),
        "traced_only": len(ours - theirs),
        "coverage_only": len(theirs - ours),
        "equal_%": round(100 * len(ours & theirs) / len(ours | theirs), 3),
        "examples": sorted(ours ^ theirs)[:5],
        "plain_cpu_s": round(statistics.median(costs["plain"]), 2),
        **{f"{name}_ratio": value for name, value in ratios.items()},
        "untraced": marks.untraced,
    }


def _under_coverage(plain: WorkspaceRequest) -> WorkspaceRequest:
    options = "--cov=. --cov-context=test --cov-config=/dev/null --cov-report="
    environment = {
        **plain.environment,
        "PYTEST_ADDOPTS": f"{plain.environment.get('PYTEST_ADDOPTS', '')} {options}",
        "COVERAGE_CORE": "ctrace",
        "DUMP": _DUMP,
    }
    command = ("sh", "-c", '"$@" && python3 -c "$DUMP"', "sh", *plain.command)
    changes = {"command": command, "environment": environment, "results": (*plain.results, _SEEN)}
    return plain.model_copy(update={**changes, "result_bytes": 16 << 20})


Row = tuple[str, int, str]
"""A file, a line of it, and a test."""


def _seen_by_coverage(result: WorkspaceResult, paths: set[str]) -> tuple[set[Row], set[tuple[str, int]]]:
    """Return the lines in calls of tests, and those outside of them."""
    data = result.file(_SEEN)
    if data is None:
        raise SystemExit(f"coverage.py's lines are missing: {[file for file in result.files if file.problem]}")
    names, rows = json.loads(data)
    seen = [(file, line, names[n]) for file, line, own in rows if file in paths for n in own]
    called = {(file, line, name.removesuffix("|run")) for file, line, name in seen if name.endswith("|run")}
    return called, {(file, line) for file, line, name in seen if not name.endswith("|run")}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    for folder in given.projects:
        print(json.dumps(measured(folder, given.pairs)), flush=True)  # noqa: T201 - its output
