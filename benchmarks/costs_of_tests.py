"""CPU seconds of each test, with all processes that it starts: a plugin of pytest, and a table of its records.

Usage: pytest -p benchmarks.costs_of_tests --costs costs.jsonl -n 2
       python -m benchmarks.costs_of_tests costs.jsonl [--top COUNT]
Each worker of pytest is counted by an event of its own (accounting.py). A fixture of a file is counted
with the first test that needs it; imports at collection are not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from benchmarks.accounting import CpuClock, accounted

_CLOCK = pytest.StashKey[CpuClock]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--costs``."""
    parser.addoption("--costs", type=Path, help="append the CPU seconds of each test to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Account for this process and what it starts."""
    if config.getoption("costs"):
        counting = accounted()
        config.stash[_CLOCK] = counting.__enter__()
        config.add_cleanup(lambda: counting.__exit__(None, None, None))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """Record the CPU seconds of a test, its set-up and clean-up included."""
    clock = item.config.stash.get(_CLOCK, None)
    if clock is None:
        return (yield)
    before = clock()
    try:
        return (yield)
    finally:
        cpu_s = round(clock() - before, 3)
        row = {"test": item.nodeid, "cpu_s": cpu_s, "long": item.get_closest_marker("long") is not None}
        with Path(item.config.getoption("costs")).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")


def _dearest(costs: Mapping[str, float], count: int) -> list[str]:
    dearest = sorted(costs, key=lambda name: -costs[name])[:count]
    return [f"{costs[name]:8.1f}  {name}" for name in dearest]


def summary(rows: list[dict[str, object]], count: int) -> list[str]:
    """Return the lines of the table: rooms, totals, the dearest files and tests."""
    tests = {str(row["test"]): float(str(row["cpu_s"])) for row in rows}
    long = {str(row["test"]) for row in rows if row["long"]}
    rooms: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    files: dict[str, float] = defaultdict(float)
    for name, cpu_s in tests.items():
        file = name.partition("::")[0]
        room = file.split("/")[1] if file.count("/") > 1 else "."
        rooms[room][name in long] += cpu_s
        files[file] += cpu_s
    short_s, long_s = (sum(room[part] for room in rooms.values()) for part in (0, 1))
    return [
        "    short      long  room (CPU seconds)",
        *(f"{short:9.1f} {other:9.1f}  {room}" for room, (short, other) in sorted(rooms.items())),
        f"{short_s / 60:9.1f} {(short_s + long_s) / 60:9.1f}  CPU minutes: `make test-most`, with `make test-long`",
        *_dearest(files, count),
        *_dearest(tests, count),
    ]


def main() -> None:
    """Print the table of the files that ``--costs`` wrote; the last record of a test counts."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("costs", type=Path, nargs="+", help="a file that --costs wrote")
    parser.add_argument("--top", type=int, default=30, help="number of files and of tests that are listed")
    chosen = parser.parse_args()
    rows = [json.loads(line) for path in chosen.costs for line in path.read_text("utf-8").splitlines()]
    sys.stdout.write("".join(f"{line}\n" for line in summary(rows, chosen.top)))


if __name__ == "__main__":
    main()
