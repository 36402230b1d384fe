"""Write the starter set of C3-Bench: a build of functions and programs of our own.

Usage: python benchmarks/c3bench_starter.py FOLDER

FOLDER keeps the build; the same command goes on after a stop. The sources are the starter's functions, contexts
that people wrote, and the starter programs of DevBench; all of them have tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

from caretbench import api
from caretbench.files import read_rows, write_rows
from caretbench.problem import Problem
from caretbench.suites.c3bench.suite import starter_folder

PACKAGE = Path(str(starter_folder())).parents[2]
SOURCES = (starter_folder() / "functions", PACKAGE / "suites/devbench/starter")
WRITTEN = sorted(map(str, (starter_folder() / "written").glob("*.toml")))
OPTIONS = {"max_share": 1.0, "max_scc": 230, "per_file": 4, "variants": WRITTEN}


def main() -> None:
    """Build the problems and write them."""
    output = Path(sys.argv[1])
    api.build_problems("c3bench", [str(one) for one in SOURCES], output, **OPTIONS)
    problems = list(read_rows(output / "problems.jsonl", Problem))
    target = starter_folder() / "problems.jsonl"
    write_rows(target, problems)
    sys.stdout.write(f"{target}: {len(problems)} problems, {target.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
