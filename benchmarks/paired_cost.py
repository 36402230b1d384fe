"""What two checkouts cost for the same work, in turns: is the later one dearer than the earlier one?

    python benchmarks/paired_cost.py BEFORE AFTER [--language NAME ...] [--work NAME ...] [--full]

The works: recorded answers of a model to DevBench with their references, by language and profile; the same once more
with the full cache; the starter set of every suite with its baselines; similarity and error kinds without execution;
and the report about them. Each is one plain command line that both checkouts know. By default problems are drawn from
the sets, so that both checkouts take at most 12 minutes on two cores; ``--full`` takes all, the starter sets under both
profiles, and all models for similarity.

Prints a table: seconds of CPU (of everything: ``accounting.py``) and by the clock, peak memory of the largest process,
and each ratio after ÷ before. What is above 1.10 is measured once more in the other order, where the smaller figure of
each checkout counts, is named at the end, and makes the exit status 1. It needs neither root nor control groups, only a
`.venv` in each checkout and DevBench's data. Results lie in a cache of each checkout's own, which shares bundles with
the machine's.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from accounting import CpuClock, accounted

LANGUAGES = ("python", "javascript", "typescript", "java", "cpp", "csharp")
PROFILES = ("default", "paper")
STARTERS: Mapping[str, int | None] = {"devbench": 24, "c3bench": 40, "simcopilot": 8, "codevbench": 12, "efcb": None}
"""Number of problems that are drawn of each suite's starter set."""
RECORDED = 12
MODEL = "gpt-4o"
MOST = 1.10
SHARED = ("bundles", "dotnet", "models")
UNITS = ("CPU s", "wall s", "MB")


class Work(NamedTuple):
    """One command line of `caretbench`, and another one that prepares it and is not counted."""

    name: str
    arguments: Sequence[str]
    preparation: Sequence[str] = ()


class Cost(NamedTuple):
    """What one command line took."""

    cpu_s: float
    wall_s: float
    memory_mb: float


class Checkout(NamedTuple):
    """A checkout, and a folder of its own for its cache and its runs."""

    path: Path
    folder: Path

    def prepare(self) -> None:
        """Make the cache: nothing in it but what the machine's cache has of bundles and models."""
        shared = Path(os.environ.get("CARETBENCH_CACHE", "/var/cache/caretbench"))
        (self.folder / "cache").mkdir(parents=True)
        for name in SHARED:
            if (shared / name).exists():
                (self.folder / "cache" / name).symlink_to(shared / name)

    def run(self, arguments: Sequence[str], clock: CpuClock) -> Cost:
        """Return the cost of one command line, or end with its last words."""
        command = [str(self.path / ".venv/bin/caretbench"), *arguments]
        words = self.folder / "output"
        cpu_s, begin = clock(), time.monotonic()
        with words.open("wb") as output:
            child = os.posix_spawn(
                "/usr/bin/env",
                ["env", "-C", str(self.folder), *command],
                os.environ | {"CARETBENCH_CACHE": str(self.folder / "cache")},
                file_actions=[(os.POSIX_SPAWN_DUP2, output.fileno(), number) for number in (1, 2)],
            )
        _, status, usage = os.wait4(child, 0)
        cost = Cost(clock() - cpu_s, time.monotonic() - begin, usage.ru_maxrss / 1024)
        if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: a coverage that is too low, for example
            sys.exit(f"{' '.join(command)}: {words.read_text('utf-8', 'replace')[-2000:]}")
        return cost

    def cost(self, work: Work, clock: CpuClock, turn: int) -> Cost:
        """Return the cost of a work in a folder of its own."""
        folder = ["-o", f"runs/{work.name.replace('/', '-')}-{turn}"]
        if work.preparation:
            prepared = f"{folder[1]}-prepared"
            self.run([*work.preparation, "-o", prepared], clock)
            if work.arguments[0] == "report":
                return self.run([*work.arguments, prepared, "-o", f"{folder[1]}.html"], clock)
        return self.run([*work.arguments, *folder], clock)


def works(data: Path, languages: Sequence[str], *, full: bool) -> Iterator[Work]:
    """Yield all works."""
    recorded = ["--data", str(data), "--completions", str(data / "completions"), "--baseline", "none"]
    score = ["score", "devbench", "--no-html", *recorded]
    one_model = [*score, "--model", MODEL]

    def drawn(number: int | None) -> list[str]:
        return [] if full or number is None else ["--limit", str(number)]

    for language in languages:
        answers = [*one_model, "--select", f"language={language}", *drawn(RECORDED)]
        for profile in PROFILES:
            yield Work(f"{language}/{profile}", [*answers, "--profile", profile, "--no-cache"])
        yield Work(f"{language}/cached", answers, answers)
    for suite, number in STARTERS.items():
        for profile in PROFILES if full else PROFILES[:1]:
            options = ["--no-html", "--no-cache", "--profile", profile]
            yield Work(f"starter/{suite}/{profile}", ["score", suite, *options, *drawn(number)])
    similarity = [*(score if full else one_model), "--no-execute"]
    yield Work("similarity", similarity)
    yield Work("report", ["report"], similarity)


def ratios(before: Cost, after: Cost) -> tuple[float, ...]:
    """Return after ÷ before of each figure."""
    return tuple(round(late / max(early, 0.01), 2) for early, late in zip(before, after, strict=True))


def smallest(costs: Sequence[Cost]) -> Cost:
    """Return the smallest of each figure."""
    return Cost(*(min(figures) for figures in zip(*costs, strict=True)))


def compare(checkouts: tuple[Checkout, Checkout], work: Work, number: int, clock: CpuClock) -> tuple[Cost, Cost]:
    """Return both costs of a work; what is above the bound is measured a second time, in the other order."""
    found: dict[Checkout, list[Cost]] = {checkout: [] for checkout in checkouts}
    for turn in range(2):
        for checkout in checkouts if (number + turn) % 2 == 0 else checkouts[::-1]:
            found[checkout].append(checkout.cost(work, clock, turn))
        before, after = (smallest(found[checkout]) for checkout in checkouts)
        if max(ratios(before, after)) <= MOST:
            break
    return before, after


def row(work: Work, before: Cost, after: Cost) -> str:
    """Return the table's line of a work."""
    pairs = zip(before, after, ratios(before, after), strict=True)
    return f"| {work.name} | " + " | ".join(f"{early:.1f} | {late:.1f} | {by:.2f}" for early, late, by in pairs) + " |"


def main() -> int:
    """Measure in turns and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    data = Path(os.environ.get("CARETBENCH_TEST_DATA", "../shared/data"), "devbench")
    parser.add_argument("--data", type=Path, default=data, help=f"DevBench's data (default: {data})")
    parser.add_argument("--language", action="append", choices=LANGUAGES, help="only these languages' recorded answers")
    parser.add_argument("--work", action="append", help="only works that begin so: python, starter/efcb, report")
    parser.add_argument("--full", action="store_true", help="all problems, profiles and models")
    chosen = parser.parse_args()
    if not chosen.data.is_dir():
        parser.error(f"{chosen.data}: no such folder; --data names DevBench's data")
    wanted = tuple(chosen.work or [""])
    selected = [
        work
        for work in works(chosen.data.resolve(), chosen.language or LANGUAGES, full=chosen.full)
        if work.name.startswith(wanted)
    ]
    dearer = []
    with tempfile.TemporaryDirectory() as scratch, accounted() as clock:
        checkouts = (
            Checkout(chosen.before.resolve(), Path(scratch, "before")),
            Checkout(chosen.after.resolve(), Path(scratch, "after")),
        )
        for checkout in checkouts:
            checkout.prepare()
        print("| work | " + " | ".join(f"{unit} before | after | ratio" for unit in UNITS) + " |")  # noqa: T201
        print("| --- |" + 9 * " --- |", flush=True)  # noqa: T201 - a script
        for number, work in enumerate(selected):
            before, after = compare(checkouts, work, number, clock)
            print(row(work, before, after), flush=True)  # noqa: T201 - a script
            found = zip(UNITS, ratios(before, after), strict=True)
            dearer += [f"{work.name}: {unit} × {ratio:.2f}" for unit, ratio in found if ratio > MOST]
    print(f"above {MOST:.2f}: " + ("; ".join(dearer) or "nothing"))  # noqa: T201 - a script
    return int(bool(dearer))


if __name__ == "__main__":
    sys.exit(main())
