"""What the policies do to the released reference answers and to recorded completions."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from caretbench.extraction import POLICIES, get_policy
from caretbench.problem import Caret

pytestmark = pytest.mark.data


def _caret(row: dict[str, Any]) -> Caret:
    prefix, suffix = row["prefix"], row["suffix"]
    if prefix and not prefix.endswith("\n"):
        prefix += "\n"
    if suffix.strip() and not suffix.startswith("\n"):
        suffix = "\n" + suffix
    return Caret(language=row["language"], prefix=prefix, suffix=suffix)


def _rows(paths: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(paths) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def released(devbench_data: Path) -> list[dict[str, Any]]:
    rows = _rows(list(devbench_data.glob("benchmark/*/*/*.jsonl")))
    assert len(rows) == 1800
    return rows


# How many of 1,800 reference answers each policy damages, by language. The default damages none.
DAMAGED = {
    "raw": {},
    "released": {},
    "clean": {},
    "syntax": {},
    "syntax_overlap": {"typescript": 2},
    "same_block": {"c_sharp": 4, "cpp": 2, "java": 2, "javascript": 10, "python": 5, "typescript": 7},
    "first_line": {"c_sharp": 167, "cpp": 189, "java": 188, "javascript": 221, "python": 189, "typescript": 216},
    "block": {"java": 1, "javascript": 5, "python": 3, "typescript": 1},
    "simcopilot/clean": {"c_sharp": 290, "cpp": 269, "java": 240, "javascript": 240, "python": 245, "typescript": 260},
    "simcopilot/trim": {"c_sharp": 290, "cpp": 270, "java": 252, "javascript": 254, "python": 249, "typescript": 268},
    "simcopilot/repair": {"c_sharp": 290, "cpp": 270, "java": 252, "javascript": 254, "python": 255, "typescript": 268},
    "codevbench/answer": {},
    # Without a fence nothing is left, which is right for an empty reference alone.
    "codevbench/chat": {"c_sharp": 297, "cpp": 299, "java": 298, "javascript": 299, "python": 300, "typescript": 300},
}


# The cuts of other benchmarks leave one call, header or statement, which DevBench's answers are not.
@pytest.mark.parametrize("name", [name for name in POLICIES if not name.startswith("legacy/")])
def test_damage_to_reference_answers(released: list[dict[str, Any]], name: str) -> None:
    damaged = Counter(
        row["language"]
        for row in released
        if get_policy(name).apply(row["golden_completion"], _caret(row)).text != row["golden_completion"]
    )
    assert damaged == DAMAGED[name]


@pytest.mark.parametrize(
    ("fence", "kept"),
    [
        ("```{language}\n{code}\n```", []),
        # The caret of 46 stands inside a comment: there this may be meant.
        ("Here is the code:\n\n```\n{code}\n```\nDone.", ["46"]),
    ],
)
def test_fenced_reference_answers_come_back(released: list[dict[str, Any]], fence: str, kept: list[str]) -> None:
    failures = []
    for row in released:
        reference = row["golden_completion"].removesuffix("\n")
        if not reference.strip():
            continue
        text = fence.format(language=row["language"].replace("c_sharp", "csharp"), code=reference)
        extracted = get_policy("clean").apply(text, _caret(row)).text
        if extracted != reference:
            failures.append(row["id"])
    assert failures == kept


def test_recorded_completions_are_hardly_changed_and_quickly(devbench_data: Path) -> None:
    rows = _rows(list(devbench_data.glob("completions/*/*/*-gpt-4o.jsonl")))
    carets = [_caret(row) for row in rows]
    started = time.process_time()
    changed = total = 0
    for row, caret in zip(rows, carets, strict=True):
        for text in row["gpt-4o_completions"]:
            if text is not None:
                total += 1
                changed += get_policy().apply(text, caret).text != text
                assert get_policy("released").apply(text, caret).text == text
    assert total == 9000
    # Five more since an answer that ends a statement which the suffix goes on with is cut.
    assert changed == 29
    assert time.process_time() - started < 30
