"""CPU of scoring whole recorded sets in two checkouts, in alternation: is the later one dearer than the earlier one?

    python benchmarks/paired_cost.py BEFORE AFTER --data DATA [--language python ...] [--model gpt-4o]

For each language and in turns (the order changes from language to language): all references, then all recorded samples
of the model with an empty cache, then the same with the full cache. CPU is counted by an accounting group of the
kernel, so that servers and supervisors are in it. Each checkout has its own `.venv` and a cache of its own, which
shares bundles and tools with the machine's. Prints one JSON line a language: seconds of CPU, and the ratio after ÷
before; needs root and a version 1 hierarchy.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from accounting import accounted

LANGUAGES = ("python", "javascript", "typescript", "java", "cpp", "csharp")


def prepared(folder: Path) -> Path:
    """Return a cache folder without verdicts that shares everything else with the machine's."""
    shared = Path(os.environ.get("CARETBENCH_CACHE", "/var/cache/caretbench"))
    folder.mkdir(parents=True)
    for entry in shared.iterdir():
        if not entry.name.startswith(("verdicts", "results")):
            (folder / entry.name).symlink_to(entry)
    return folder


def cost(checkout: Path, cache: Path, arguments: list[str]) -> float:
    """Return the CPU seconds of one `caretbench score`; raise `CalledProcessError` with its words if it fails."""
    command = [checkout / ".venv/bin/caretbench", "score", "devbench", "--no-html", *arguments]
    with accounted() as usage:
        before = int(usage.read_text())
        ended = subprocess.run(
            command,
            cwd=cache,
            env=os.environ | {"CARETBENCH_CACHE": str(cache)},
            capture_output=True,
            text=True,
            check=False,
        )
        spent = (int(usage.read_text()) - before) / 1e9
    if ended.returncode not in (0, 1):
        sys.exit(f"{checkout}: {ended.stdout[-500:]}{ended.stderr[-1500:]}")
    return round(spent, 1)


def costs(checkout: Path, folder: Path, data: Path, language: str, model: str) -> dict[str, float]:
    """Return the CPU seconds of references, samples with an empty cache and samples with a full one."""
    cache = prepared(folder)
    chosen = ["--data", str(data), "--select", f"language={language}"]
    recorded = ["--completions", str(data / "completions"), "--model", model, "--baseline", "none"]
    return {
        "references": cost(checkout, cache, [*chosen, "--baseline", "reference", "--no-cache", "-o", "references"]),
        "empty cache": cost(checkout, cache, [*chosen, *recorded, "-o", "empty"]),
        "full cache": cost(checkout, cache, [*chosen, *recorded, "-o", "full"]),
    }


def main() -> None:
    """Measure in turns and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--language", action="append", choices=LANGUAGES)
    parser.add_argument("--model", default="gpt-4o")
    chosen = parser.parse_args()
    data = chosen.data.resolve()
    for number, language in enumerate(chosen.language or LANGUAGES):
        names = ("before", "after") if number % 2 == 0 else ("after", "before")
        with tempfile.TemporaryDirectory() as scratch:
            found = {
                name: costs(getattr(chosen, name).resolve(), Path(scratch, name), data, language, chosen.model)
                for name in names
            }
        ratios = {what: round(found["after"][what] / found["before"][what], 3) for what in found["before"]}
        row = {"language": language, "before": found["before"], "after": found["after"], "ratio": ratios}
        print(json.dumps(row), flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    main()
