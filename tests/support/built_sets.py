"""A built set of small programs with all its rows, for tests of releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from caretbench.build.validation.reviewed import problem_hash
from caretbench.files import sha256_text
from caretbench.suites.devbench.build.construction.build_folder import ConstructionManifest, InstanceAttempt
from caretbench.suites.devbench.build.construction.scenario_grid import scenario, sibling_scenario
from caretbench.suites.devbench.built_instances import BuiltInstance, Scenario
from caretbench.suites.devbench.starter import problem_of_text

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


def scenario_of(language: str, category: str, number: int) -> Scenario:
    """Scenarios of pairs: every second one is the sibling of the one before."""
    original = scenario(language, category, 1 + number // 2, 7)
    return sibling_scenario(original, identity(language, category, number - 1)) if number % 2 else original


def instance(language: str, category: str, number: int, text: str) -> dict[str, Any]:
    generator = [*_FAMILIES][number % 2]
    name = identity(language, category, number)
    problem = problem_of_text(text, name, "mine")
    row = BuiltInstance(
        id=name,
        track=f"{language}/{category}/{number}",
        scenario=scenario_of(language, category, number),
        generator=generator,
        generator_family=_FAMILIES[generator],
        prompt_version=str(1 + number // 3),
        attempts=1 + number % 3,
        cost=0.01 * (1 + number),
        justification=f"program {number} tests a sum",
        library="",
        kind="call",
        band="low" if number < 2 else "high",
        boundary="declaration",
        mode="suffix",
        checks={"parse": "ok", "gate": "ok" if number else "reference_not_run: unavailable"},
        licence="MIT",
        created=f"2026-11-2{number}",
        sibling=identity(language, category, number - 1) if number % 2 else None,
        text_hash=sha256_text(text),
        problem_hash=problem_hash(problem),
    )
    return row.model_dump(mode="json")


def attempts() -> list[dict[str, Any]]:
    """One failed attempt before every second instance, one scenario without an instance in each cell.

    People rejected one instance later: its attempt has two ends.
    """
    rows = []
    for language in LANGUAGES:
        for category in CATEGORIES:
            cell = f"{language}/{category}"
            for number in range(NUMBER):
                track, generator = f"{cell}/{number}", [*_FAMILIES][number % 2]
                if number % 2:
                    rows.append(_attempt(track, cell, generator, 1, "malformed"))
                rows.append(_attempt(track, cell, generator, 2, "instance"))
            rows.append(_attempt(f"{cell}/x", cell, "openai/gpt-x", 1, "twin"))
    rows.append(_attempt("go/api_usage/y", "go/api_usage", "openai/gpt-x", 1, "instance"))
    rows.append(_attempt("go/api_usage/y", "go/api_usage", "openai/gpt-x", 1, "rejected"))
    return rows


def _attempt(track: str, cell: str, generator: str, number: int, outcome: Any) -> dict[str, Any]:
    row = InstanceAttempt(
        request=f"{track}#{number}", track=track, scenario=track, cell=cell, generator=generator, attempt=number,
        outcome=outcome, cost=0.5, seconds=2.0,
    )  # fmt: skip
    return row.model_dump(mode="json")


def answers() -> list[dict[str, Any]]:
    requests = {row["request"]: row for row in attempts()}
    return [
        {
            "role": "generator", "request": name, "model": row["generator"], "text": PAID_ANSWER,
            "cost": None if number == 0 else 0.002 * number, "latency": {"last_s": 3.0 + number},
        }
        for number, (name, row) in enumerate(requests.items())
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
    rows = []
    for name in every_id():
        language, category, _ = name.split("/")
        number = int(name[-1])
        rows.append(change(instance(language, category, number, program(language, category, number))))
    write_jsonl(root / "instances.jsonl", rows)
    write_jsonl(root / "attempts.jsonl", attempts())
    write_jsonl(root / "asked.jsonl", answers())
    manifest = ConstructionManifest(seed=7, canary=CANARY, wall_hours=1.25, versions={"caretbench": "0.1.0"})
    (root / "manifest.json").write_text(manifest.model_dump_json(), "utf-8")
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
