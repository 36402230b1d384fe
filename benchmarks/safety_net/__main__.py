"""Commands of the safety net.

    python -m benchmarks.safety_net record CHECKOUT [--output FILE]
    python -m benchmarks.safety_net compare CHECKOUT [--record FILE] [--only CASE]

A checkout is driven by its command line (``CHECKOUT/.venv/bin/caretbench``) alone, in a temporary folder and with a
cache of its own, into which the bundles and toolchains of the machine's cache are linked. Cases that need the real data
(``CARETBENCH_TEST_DATA``) are left out where they are missing. ``compare`` ends with status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.safety_net.cases import cases
from benchmarks.safety_net.checkout import git, opened, say
from benchmarks.safety_net.values import MISSING, differences, renamed

RECORD = Path(__file__).parents[1] / "safety_net.json.gz"


def make(checkout: Path, chosen: dict[str, list[str]], only: str = "") -> dict[str, Any]:
    """Return a new record of a checkout."""
    revision = git(checkout, "rev-parse", "--short", "HEAD").decode().strip()
    record: dict[str, Any] = {"revision": revision, "chosen": chosen, "cases": {}}
    with opened(checkout, chosen) as net:
        for name, case in cases(net).items():
            if only in name:
                begin = time.monotonic()
                record["cases"][name] = json.loads(json.dumps(case()))
                values = len(record["cases"][name])
                say(f"{name}: {values} values, {time.monotonic() - begin:.0f} s")
    return record


def compare(stored: Mapping[str, Any], found: Mapping[str, Any]) -> int:
    """Print each key that differs; return their number.

    Parts of a report that only one side has are counted by part: a report gains and renames parts with each delivery
    (22,588 of 30,670 lines of one comparison), and its numbers follow from the rows.
    """
    total = 0
    parts: Counter[str] = Counter()
    for name, values in found["cases"].items():
        for key, one, other in differences(renamed(stored["cases"].get(name, {})), values):
            if MISSING in (one, other) and key.startswith("report/"):
                parts[
                    f"{name}: {'/'.join(key.split('/')[:2])}, only in {'this' if one == MISSING else 'the record'}"
                ] += 1
                continue
            print(f"{name}: {key}: {one} -> {other}")  # noqa: T201 - a script
            total += 1
    for part, count in sorted(parts.items()):
        say(f"{part}: {count} values")
    left_out = sorted({*stored["cases"]} - {*found["cases"]})
    say(f"{total} differences from {stored['revision']}; not compared: {', '.join(left_out) or 'nothing'}")
    return total


def main() -> None:
    """Record, or compare with a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("record", "compare"))
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--output", type=Path, default=RECORD, help="the record that is written")
    parser.add_argument("--record", type=Path, default=RECORD, help="the record that is compared with")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    wanted = parser.parse_args()
    if wanted.verb == "record":
        record = make(wanted.checkout, {}, wanted.only)
        text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        wanted.output.write_bytes(gzip.compress(text.encode(), mtime=0))
        return
    stored = json.loads(gzip.decompress(wanted.record.read_bytes()))
    sys.exit(compare(stored, make(wanted.checkout, stored["chosen"], wanted.only)) > 0)


if __name__ == "__main__":
    main()
