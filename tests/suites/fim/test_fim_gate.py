"""Gate of conventional benchmarks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from caretbench.build import load_builder
from caretbench.execution.dispatcher import open_executor
from caretbench.suites import load_suite
from tests.support.compiled_programs import need_toolchain


def test_programs_are_run_texts_stay_unverified_and_a_repeated_hole_is_invalid(tmp_path: Path) -> None:
    """Costs three seconds: references three times, mutants, and two holes of one program."""
    need_toolchain("python")
    program = "n = int(input())\nprint({{completion}})\n"
    other = "n = int(input())\nm = n\nprint({{completion}})\n"
    common = {"lang": "python", "unit_tests": [{"input": "3\n", "output": ["9"]}]}
    rows = [("1", program, "n * n"), ("2", other, "m * m"), ("3", program, "n * n")]
    lines = [
        {**common, "task_id": task, "eval_prompt": text, "ground_truth": reference,
         "prompt": "Code:\n\n" + text.replace("{{completion}}", "# TODO: Your code here")}
        for task, text, reference in rows
    ]  # fmt: skip
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    for split in ("block", "api"):
        (tmp_path / f"{split}_completion.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    problems = load_suite("safim").load(str(tmp_path)).problems
    gate = load_builder("safim").gate(lambda: open_executor(2, use_cache=False), lambda _count: None)
    verdicts = {row.problem_id: row for row in gate.run(problems, tmp_path / "verdicts.jsonl")}
    assert {name: row.verdict for name, row in verdicts.items()} == {
        "block/1": "valid", "block/2": "valid", "block/3": "invalid",
        "api/1": "unverified", "api/2": "unverified", "api/3": "invalid",
    }  # fmt: skip
