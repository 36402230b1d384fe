"""Rows of released evaluators: inputs, and the numbers that their functions returned."""

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
