"""Programs over a Ray cluster on this machine, one node killed and one joined in the middle, beside the local engine.

    python benchmarks/several_machines.py --programs 400

A head without processors and two nodes with one each. Programs are of one kind, no two are the same, nothing is taken
from a cache. First the local engine and the cluster left alone, twice in turns; then the cluster with a node that is
killed after a third of the results (SIGKILL to its raylet and all its processes) and one that joins at half. Prints
figures as JSON; exit status 1 if a result is absent, comes twice, or differs from what the program is known to give.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")

import ray
from ray.cluster_utils import Cluster

from caretbench.execution.cluster.ray_cluster import RayNodePool
from caretbench.execution.cluster.remote_executor import RemoteExecutor
from caretbench.execution.execution_types import ExecutionRequest, Executor
from caretbench.execution.local_executor import LocalExecutor

STORE_BYTES = 100 << 20

KINDS = {
    "passed": "assert score(range(N)) == N * (N - 1) // 2",
    "failed": "assert score(range(N)) == -1",
    "runtime_error": "score(None)",
    "incomplete": "import sys\nsys.exit(0)\nassert False",
    "compile_error": "def (:",
}
"""What every fifth program ends with, and the status that it must have."""

PROGRAM = """\
import json
from dataclasses import dataclass

N = {number}

@dataclass
class Entry:
    name: str
    value: int

def score(values):
    entries = [Entry(f"entry {{value}}", value) for value in values]
    return sum(entry["value"] for entry in json.loads(json.dumps([vars(entry) for entry in entries])))

{end}
"""


def programs(count: int, part: str) -> tuple[list[ExecutionRequest], dict[str, str]]:
    """Distinct programs, and the status of each by its id."""
    requests, statuses = [], {}
    for number in range(count):
        status, end = list(KINDS.items())[number % len(KINDS)]
        identity = f"{part}-{number}"
        text = f"# {identity}\n" + PROGRAM.format(number=number, end=end)
        requests.append(ExecutionRequest(id=identity, language="python", source=text))
        statuses[identity] = status
    return requests, statuses


def descendants(pid: int) -> list[int]:
    """All processes below one."""
    said = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout  # noqa: S607
    parents = [tuple(map(int, line.split())) for line in said.splitlines()]
    found, frontier = [], {pid}
    while frontier:
        frontier = {child for child, parent in parents if parent in frontier}
        found += frontier
    return found


def kill(node: Any) -> None:
    """What the loss of a machine is: all of it at once."""
    raylet = node.all_processes["raylet"][0].process.pid
    for pid in (raylet, *descendants(raylet)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def join(address: str) -> subprocess.Popen[bytes]:
    """A machine that joins: results do not wait for its start."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus", "1"]
    store = ["--address", address, "--object-store-memory", str(STORE_BYTES)]
    return subprocess.Popen([*command, *store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def timed(
    executor: Executor, count: int, part: str, events: dict[int, Callable[[], None]] | None = None
) -> dict[str, Any]:
    """One pass; ``events`` happen when so many results have come."""
    requests, wanted = programs(count, part)
    came: list[tuple[str, str]] = []
    begin = time.monotonic()
    marks: dict[str, float] = {}
    slowest = 0.0
    last = begin

    def fed() -> Iterator[ExecutionRequest]:
        yield from requests

    for result in executor.submit(fed()):
        came.append((result.id, result.status.value))
        slowest, last = max(slowest, time.monotonic() - last), time.monotonic()
        event = (events or {}).pop(len(came), None)
        if event is not None:
            event()
            marks[f"after {len(came)} results"] = round(time.monotonic() - begin, 1)
    seconds = time.monotonic() - begin
    times = Counter(identity for identity, _ in came)
    return {
        "programs": count,
        "results": len(came),
        "absent": len(set(wanted) - set(times)),
        "twice": sum(number > 1 for number in times.values()),
        "other_verdicts": sum(wanted.get(identity) != status for identity, status in came),
        "seconds": round(seconds, 2),
        "per_second": round(count / seconds, 1),
        "longest_wait_s": round(slowest, 1),
        **({"events": marks} if marks else {}),
    }


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=400, help="programs in each pass")
    parser.add_argument("--disturbed", type=int, help="programs in the pass with a loss (as many)")
    options = parser.parse_args()
    count, disturbed = options.programs, options.disturbed or options.programs
    figures: dict[str, Any] = {"processors": os.cpu_count(), "load_before": os.getloadavg()[0]}

    local = LocalExecutor(use_cache=False)
    timed(local, 20, "warm")

    begin = time.monotonic()
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES) for _ in range(2)]
    cluster.wait_for_nodes()
    figures["cluster_start_s"] = round(time.monotonic() - begin, 1)
    executor = RemoteExecutor(RayNodePool(cluster.address), use_cache=False)
    begin = time.monotonic()
    figures["isolation"] = executor.isolation().model_dump()
    figures["first_look_s"] = round(time.monotonic() - begin, 1)
    timed(executor, 100, "warm")
    for turn in ("", "_again"):
        figures[f"local{turn}"] = timed(local, count, f"local{turn}")
        figures[f"cluster{turn}"] = timed(executor, count, f"cluster{turn}")

    joined: list[subprocess.Popen[bytes]] = []
    events = {disturbed // 3: lambda: kill(nodes[0]), disturbed // 2: lambda: joined.append(join(cluster.address))}
    figures["disturbed"] = timed(executor, disturbed, "disturbed", events)
    figures["driver_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    figures["nodes_alive"] = sum(node["Alive"] for node in ray.nodes())
    alone = figures["local"]["seconds"] + figures["local_again"]["seconds"]
    together = figures["cluster"]["seconds"] + figures["cluster_again"]["seconds"]
    figures["throughput_beside_local"] = round(alone / together, 2)
    ray.shutdown()
    for process in joined:
        process.send_signal(signal.SIGTERM)
    cluster.shutdown()
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    passes = [figure for figure in figures.values() if isinstance(figure, dict) and "absent" in figure]
    return int(any(one["absent"] or one["twice"] or one["other_verdicts"] for one in passes))


if __name__ == "__main__":
    sys.exit(main())
