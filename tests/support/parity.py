"""Rows of released evaluators: inputs, and the numbers that their functions returned."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest


def parity_rows(test_data: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a file; the test is skipped where it is absent."""
    path = test_data / "parity" / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"no numbers of released evaluators at {path}")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def safim_problems(test_data: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return SAFIM's rows by split and id; ids alone are the same in two splits."""
    problems = {}
    for split in ("api", "block", "control"):
        with gzip.open(
            test_data / "safim" / f"{split}_completion.jsonl.gz", "rt", encoding="utf-8", newline="\n"
        ) as file:
            problems |= {(split, row["task_id"]): row for row in map(json.loads, file)}
    return problems
