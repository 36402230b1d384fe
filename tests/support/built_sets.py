"""A built set of small programs with all its rows, for tests of releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

LANGUAGES = {"python": ".py", "go": ".go"}
CATEGORIES = ("api_usage", "low_context")
NUMBER = 4
"""Instances of one cell: two pairs of siblings."""
PAID_ANSWER = "the paid text of an answer"
CANARY = "caretbench canary 0b5e: no training data"

_PYTHON = """def area_{n}(width, height):
    ⟦return width * height + {n}⟧
{more}⟦tests⟧
assert area_{n}(2, 3) == {sum}
"""
_GO = """package main

func area{n}(a, b int) int {{
\t⟦return a*b + {n}⟧
}}
{more}
func main() {{
\tif area{n}(2, 3) != {sum} {{
\t\tpanic(1)
\t}}
}}
"""
_FAMILIES = {"openai/gpt-x": "gpt", "anthropic/claude-x": "claude"}


def identity(language: str, category: str, number: int) -> str:
    return f"{language}/{category}/program-{number}"


def every_id() -> list[str]:
    return [identity(one, two, number) for one in LANGUAGES for two in CATEGORIES for number in range(NUMBER)]


def program(language: str, category: str, number: int) -> str:
    offset = number + 10 * CATEGORIES.index(category)
    mark = {"python": "#", "go": "//"}[language]
    form = _PYTHON if language == "python" else _GO
    return form.format(n=offset, sum=6 + offset, more=f"{mark} {category} {number}\n")


def instance(language: str, category: str, number: int) -> dict[str, Any]:
    generator = [*_FAMILIES][number % 2]
    return {
        "id": identity(language, category, number),
        "scenario": {"domain": f"domain {number}", "band": "low" if number < 2 else "high", "mode": "suffix"},
        "generator": generator,
        "generator_family": _FAMILIES[generator],
        "prompt_version": 1 + number // 3,
        "attempts": 1 + number % 3,
        "cost": 0.01 * (1 + number),
        "justification": f"program {number} tests a sum",
        "checks": {"parse": "ok", "twins": "ok" if number else "near program-9"},
        "licence": "MIT",
        "seed": 7,
        "sibling": identity(language, category, number ^ 1),
        "created": f"2026-11-2{number}",
        "kind": "call",
    }


def attempts() -> list[dict[str, Any]]:
    """One failed attempt before every second instance, one scenario without an instance in each cell."""
    rows = []
    for language in LANGUAGES:
        for category in CATEGORIES:
            cell = f"{language}/{category}"
            for number in range(NUMBER):
                base = {"scenario": f"{cell}#{number}", "cell": cell, "generator": [*_FAMILIES][number % 2]}
                if number % 2:
                    rows.append({**base, "attempt": 1, "outcome": "malformed", "detail": "no reference"})
                rows.append({**base, "attempt": 2, "outcome": "instance", "detail": ""})
            rows.append(
                {"scenario": f"{cell}#x", "cell": cell, "generator": "openai/gpt-x", "attempt": 1, "outcome": "twin"}
            )
    return rows


def answers() -> list[dict[str, Any]]:
    return [
        {
            "role": "generator", "request": row["scenario"], "model": row["generator"], "text": PAID_ANSWER,
            "cost": None if number == 0 else 0.002 * number, "latency": {"last_s": 3.0 + number},
        }
        for number, row in enumerate(attempts())
    ]  # fmt: skip


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_programs(root: Path, number: int = NUMBER) -> Path:
    for language, suffix in LANGUAGES.items():
        for category in CATEGORIES:
            for one in range(number):
                path = root / f"{identity(language, category, one)}{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(program(language, category, one), "utf-8")
    return root


def write_set(root: Path, change: Callable[[dict[str, Any]], dict[str, Any]] = lambda row: row) -> Path:
    """Write a whole built set; ``change`` is applied to the row of each instance."""
    write_programs(root)
    rows = [change(instance(*name.rsplit("/", 1)[0].split("/"), int(name[-1]))) for name in every_id()]
    write_jsonl(root / "instances.jsonl", rows)
    write_jsonl(root / "attempts.jsonl", attempts())
    write_jsonl(root / "asked.jsonl", answers())
    manifest = {"canary": CANARY, "hours": 1.25, "versions": {"caretbench": "0.1.0"}, "options": {"seed": 7}}
    (root / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return root


def write_review(folder: Path, rejected: Mapping[str, str], hashes: Mapping[str, str]) -> Path:
    """Write the export of a review of two people: ``rejected`` has reasons by id; all others are accepted."""
    settled, decisions = [], []
    for number, name in enumerate(sorted(hashes)):
        reason = rejected.get(name)
        value = "reject" if reason else "accept"
        settled.append(
            {
                "item": f"i{number:02}", "problem_id": name, "suite": "devbench", "problem_hash": hashes[name],
                "state": "agreed", "value": value, "reasons": [reason] if reason else [],
            }
        )  # fmt: skip
        for person in ("ann", "bob"):
            answers_ = {"realism": 4 if person == "ann" or number % 2 else 2, "decision": value}
            decisions.append(
                {
                    "item": f"i{number:02}", "problem_id": name, "kind": "item", "role": "reviewer", "holds": True,
                    "event": {"person": person, "answers": answers_, "active_s": 36.0, "repeat": 0},
                }
            )  # fmt: skip
    decisions += [
        decisions[0] | {"holds": False},
        decisions[0] | {"kind": "control"},
        decisions[0] | {"event": decisions[0]["event"] | {"repeat": 1}},
    ]
    write_jsonl(folder / "settled.jsonl", settled)
    write_jsonl(folder / "decisions.jsonl", decisions)
    return folder
