"""Does memory stay flat? Runs many distinct programs through one executor and watches all processes of it.

Programs are generated: no two are alike, and nothing comes from a cache. Memory is the proportional set size (PSS) of
this process and all below it: shared pages count once, over warm sandboxes, compile servers and programs. The table
has the mean of each tenth of the run; flat is what does not grow from its second tenth to its last.

    python benchmarks/endurance.py                       # 20,000 programs over all languages that are here
    python benchmarks/endurance.py -n 300 --language python --language java
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from caretbench.execution.execution_types import ExecutionRequest
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.kernel.watchdog import descendants
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.toolchains import load_runtime

TEXTS = {
    "python": "values = [{n} * i for i in range({m})]\nassert sum(values) == {n} * {m} * ({m} - 1) // 2\n",
    "javascript": "const all = Array.from({{length: {m}}}, (_, i) => i * {n});\n"
    "require('assert').strictEqual(all.reduce((a, b) => a + b, 0), {n} * {m} * ({m} - 1) / 2);\n",
    "typescript": "import * as assert from 'assert';\n"
    "const all: number[] = Array.from({{length: {m}}}, (_, i) => i * {n});\n"
    "assert.strictEqual(all.reduce((a, b) => a + b, 0), {n} * {m} * ({m} - 1) / 2);\n",
    "java": "public class Main {{ public static void main(String[] a) {{ long sum = 0;\n"
    "for (long i = 0; i < {m}; i++) sum += i * {n}L; assert sum == {n}L * {m} * ({m} - 1) / 2; }} }}\n",
    "cpp": "#include <cassert>\nint main() {{ long sum = 0; for (long i = 0; i < {m}; ++i) sum += i * {n};\n"
    "assert(sum == {n}L * {m} * ({m} - 1) / 2); }}\n",
    "csharp": "using System.Diagnostics;\nclass Program {{ static void Main() {{ long sum = 0;\n"
    "for (long i = 0; i < {m}; i++) sum += i * {n}; Debug.Assert(sum == {n}L * {m} * ({m} - 1) / 2); }} }}\n",
    "go": "package main\nfunc main() {{ sum := 0\nfor i := 0; i < {m}; i++ {{ sum += i * {n} }}\n"
    'if sum != {n}*{m}*({m}-1)/2 {{ panic("assertion failed") }} }}\n',
}
"""One program of each language; ``n`` tells two of them apart, ``m`` is how much it does."""


class Sample(NamedTuple):
    """What there was at one moment; seconds since the start, programs finished, megabytes, processes."""

    seconds: float
    finished: int
    own_mb: float
    below_mb: float
    processes: int


def proportional_mb(pid: int) -> float:
    """The proportional set size of one process; 0 where it is gone."""
    try:
        with Path(f"/proc/{pid}/smaps_rollup").open(encoding="ascii") as lines:
            return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    except OSError:
        return 0.0


class Watch:
    """Takes a sample every so many seconds, on a thread of its own."""

    def __init__(self, every_s: float) -> None:
        self.finished = 0
        self.samples: list[Sample] = []
        self._every_s = every_s
        self._begin = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            below = descendants(os.getpid())
            self.samples.append(
                Sample(
                    time.monotonic() - self._begin,
                    self.finished,
                    proportional_mb(os.getpid()),
                    sum(map(proportional_mb, below)),
                    len(below),
                )
            )

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def requests(count: int, languages: list[str], salt: int) -> Iterator[ExecutionRequest]:
    """Distinct programs, the languages in turn."""
    for number in range(count):
        language = languages[number % len(languages)]
        source = TEXTS[language].format(n=salt + number, m=100 + number % 900)
        yield ExecutionRequest(id=str(number), language=language, source=source)


def table(samples: list[Sample], count: int) -> Iterator[str]:
    """Means of each tenth of the run."""
    yield f"{'programs':>15} {'seconds':>8} {'own MB':>8} {'below MB':>9} {'sum MB':>8} {'most MB':>8} {'processes':>9}"
    for tenth in range(10):
        low, high = count * tenth // 10, count * (tenth + 1) // 10
        part = [sample for sample in samples if low <= sample.finished < high or high == count == sample.finished]
        if not part:
            continue
        own, below = (sum(column) / len(part) for column in ([s.own_mb for s in part], [s.below_mb for s in part]))
        most = max(s.own_mb + s.below_mb for s in part)
        processes = sum(s.processes for s in part) / len(part)
        yield (
            f"{low:>7}-{high:<7} {part[-1].seconds:8.0f} {own:8.1f} {below:9.1f} {own + below:8.1f} {most:8.1f} "
            f"{processes:9.1f}"
        )


def main() -> None:
    """Run them, and print what was seen."""
    parser = argparse.ArgumentParser(description="Memory and rate over many distinct programs.")
    parser.add_argument("-n", "--number", type=int, default=20_000, help="programs (20,000)")
    parser.add_argument("--language", action="append", choices=sorted(TEXTS), help="again for more; all by default")
    parser.add_argument("--workers", type=int, help="programs in flight; the executor's own number by default")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two looks (1)")
    chosen = parser.parse_args()
    wanted = chosen.language or sorted(TEXTS)
    languages = [language for language in wanted if load_runtime(language).toolchain().available]
    sandbox = Sandbox()
    statuses: Counter[str] = Counter()
    begin = time.monotonic()
    with Watch(chosen.every) as watch:
        executor = LocalExecutor(chosen.workers, use_cache=False, sandbox=sandbox)
        for result in executor.submit(requests(chosen.number, languages, time.time_ns() % 1_000_000)):
            statuses[result.status.value] += 1
            watch.finished += 1
    seconds = time.monotonic() - begin
    sandbox.close()
    lines = [
        f"{chosen.number} programs, {', '.join(languages)}: {seconds:.0f} s, {chosen.number / seconds:.1f} a second",
        "statuses: " + ", ".join(f"{status} {count}" for status, count in statuses.most_common()),
        *table(watch.samples, chosen.number),
        f"processes left: {len(descendants(os.getpid()))}",
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
