"""Small problems of Codev-Bench, and rows of results about them."""

from __future__ import annotations

from typing import Any

import polars as pl

from caretbench.problem import Caret, FileSplice, Label, Problem, Provenance, TestsCheck

CLASS_OF = {"method": "function", "while": "for", "catch": "try"} | {
    name: name for name in ("if", "for", "try", "statement")
}


def codev_problem(
    identity: str,
    *,
    scenario: str = "full_block",
    cut: str = "block",
    block: str = "statement",
    project: str = "shop",
    span: str = "10-20",
    reference: str = "return 1\n",
    prefix: str = "def f():\n    ",
    suffix: str = "",
    path: str = "shop/cart.py",
) -> Problem:
    """Return a problem of a scenario about a block."""
    start, _, end = span.partition("-")
    labels: dict[str, Label] = {
        "language": "python", "scenario": scenario, "cut": cut, "block": block,
        "block_class": CLASS_OF.get(block, "other"), "answer": "code" if reference else "empty", "project": project,
    }  # fmt: skip
    return Problem(
        id=identity, suite="codevbench", shown=Caret(language="python", prefix=prefix, suffix=suffix, path=path),
        splice=FileSplice(snapshot="s", path=path, start=int(start), end=int(end)), reference=reference,
        checks=(TestsCheck(command=("pytest",), tests=("tests/test_cart.py::test_one",)),), labels=labels,
        cluster=project, overlap_group=f"{project}/{path}/{span}", provenance=Provenance(source=project),
        released={"block_span": span},
    )  # fmt: skip


def codev_row(problem: Problem, model: str, passed: bool | None, **more: Any) -> dict[str, Any]:
    """Return a row of results."""
    return {
        "problem_id": problem.id, "model": model, "model_title": model, "parameters": "p", "sample": 0,
        "policy": "block@9", "profile": "default", "instruction": None, "prompt": None, "passed": passed,
        "indel_similarity": 0.5, "answer_lines": 2.0, "empty_answer": 0.0, **more,
    }  # fmt: skip


def codev_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return rows of results as a table."""
    return pl.DataFrame(rows, infer_schema_length=None)
