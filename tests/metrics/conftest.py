"""The recorded DevBench data, read as it lies; tests that need it are skipped where it is absent."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("python", "c_sharp", "cpp", "java", "javascript", "typescript")
TABLE_LANGUAGES = {"c_sharp": "csharp"}
TABLE_CATEGORIES = {"code_purpose_understanding": "code_purpose", "code2NL_NL2code": "code2nl_nl2code"}


@pytest.fixture(scope="session")
def data() -> Path:
    path = Path(os.environ.get("CARETBENCH_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not (path / "devbench" / "benchmark").is_dir():
        pytest.skip(f"no DevBench data in {path}; set CARETBENCH_TEST_DATA")
    return path


def _rows(folder: Path, pattern: str) -> Iterator[dict[str, str]]:
    for path in sorted(folder.glob(pattern)):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                language, category = path.parent.parent.name, path.parent.name
                row["table_language"] = TABLE_LANGUAGES.get(language, language)
                row["table_category"] = TABLE_CATEGORIES.get(category, category)
                yield row


@pytest.fixture(scope="session")
def instances(data: Path) -> list[dict[str, str]]:
    """All 1,800 instances."""
    return list(_rows(data / "devbench" / "benchmark", "*/*/*.jsonl"))


@pytest.fixture(scope="session")
def recorded(data: Path) -> dict[str, list[tuple[dict[str, str], list[str | None]]]]:
    """Instances with their completions by model; an error message stands for a single completion."""
    found = {}
    for model in ("gpt-4o", "Ministral-3B"):
        rows = _rows(data / "devbench" / "completions", f"*/*/*-{model}.jsonl")
        found[model] = [
            (row, [row[model]] if model in row else [row[f"{model}_completion_{i}"] for i in range(5)]) for row in rows
        ]
    return found


@pytest.fixture(scope="session")
def published(data: Path) -> list[dict[str, str]]:
    """The printed numbers of the paper."""
    with (data / "published" / "devbench.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
