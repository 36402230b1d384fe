"""One small data set in the released layout of each conventional benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def write_rows(path: Path, *rows: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def retrieved(task: str, prompt: str, truth: str, **more: Any) -> Json:
    return {
        "prompt": prompt, "groundtruth": truth, "right_context": "\nend()\n",
        "metadata": {"task_id": task, "repository": "owner-repo", "file": "a.py"},
        "crossfile_context": {
            "text": "# unused",
            "list": [
                {"retrieved_chunk": "best()", "filename": "b.py", "score": 0.9},
                {"retrieved_chunk": "worse()", "filename": "c.py", "score": 0.1},
            ],
        },
        **more,
    }  # fmt: skip


def crosscodeeval(folder: Path) -> Path:
    write_rows(folder / "python" / "line_completion_rg1_bm25.jsonl", retrieved("p/1", "x = 1\ny = ", "f(x, 2)"))
    return folder


def crosscodelongeval(folder: Path) -> Path:
    row = retrieved("r/1", "def f():\n", "    a = 1\n    return a\n")
    write_rows(folder / "function_completion.jsonl", row)
    write_rows(folder / "chunk_completion.jsonl", retrieved("r/1", "x = ", "1"))
    return folder


def repoeval(folder: Path) -> Path:
    metadata = {"task_id": "repo/7", "ground_truth": "a = 1\nb = 2", "fpath_tuple": ["repo", "a.py"], "line_no": 3}
    return write_rows(
        folder / "line_level_completion_2k_context_codex.test.jsonl", {"prompt": "x\n", "metadata": metadata}
    )


def repobench(folder: Path) -> Path:
    row = {
        "repo_name": "o/r", "file_path": "a.py", "import_statement": "import os", "cropped_code": "x = 1",
        "next_line": "y = x", "level": "2k", "context": [{"identifier": "f", "path": "b.py", "snippet": "def f(): 1"}],
    }  # fmt: skip
    write_rows(folder / "repobench_python_v1.1" / "cross_file_first.jsonl", row)
    return folder


def real_fim_eval(folder: Path) -> Path:
    row = {"task_id": 5, "lang": "c++", "repo": "o/r", "prefix": "int x = ", "suffix": ";\n", "canonical_solution": "1"}
    write_rows(folder / "edit.jsonl", row)
    return folder


def repositories(folder: Path, *, change: str = "") -> Path:
    """Two repositories in the layout of ExecRepoBench, with a script that decides."""
    rows: list[Json] = []
    for name, middle in (("first", "a + b"), ("second", "a * b")):
        place = folder / "repos" / name
        place.mkdir(parents=True)
        before, after = "def f(a, b):\n    return ", "\n"
        (place / "code.py").write_text(before + middle + after + change)
        expected = 5 if name == "first" else 6
        (place / "evaluate_repo.py").write_text(f"from code import f\nassert f(2, 3) == {expected}\n")
        rows.append(
            {
                "repo_name": name, "file_name": "code.py", "prefix_code": before, "middle_code": middle,
                "suffix_code": after, "context_code": [["other.py", "x = 1"]], "fill_type": "expression",
            }
        )  # fmt: skip
    return write_rows(folder / "exec_repo_bench.jsonl", *rows)


HUMANEVAL = {
    "task_id": "SingleLineInfilling/HumanEval/0/L0", "entry_point": "f", "prompt": "def f():\n", "suffix": "\n",
    "canonical_solution": "    return 1", "test": "def check(candidate):\n    assert candidate() == 1\n",
}  # fmt: skip


SAFIM = {
    "task_id": "block_completion_000001", "lang": "cpp",
    "prompt": "Complete the code in cpp to solve this programming problem:\n\n"
    "Description: Print any of them.\n\nCode:\n\nint main() {\r\n/* TODO: Your code here */\n}",
    "eval_prompt": "int main() {\r\n{{completion}}\n}", "ground_truth": "return 0;\r\n",
    "unit_tests": [{"input": "1\n...", "output": ["2"]}],
}  # fmt: skip


def humaneval_infilling(folder: Path) -> Path:
    return write_rows(folder / "HumanEval-SingleLineInfilling.jsonl", HUMANEVAL)


def safim(folder: Path) -> Path:
    return write_rows(folder / "block_completion.jsonl", SAFIM)


def santacoder_fim(folder: Path) -> Path:
    row = {
        "name": "humaneval-HumanEval_1_one.json-L2", "language": "py", "prompt": "def one():", "suffix": "",
        "canonical_solution": "    return 1", "tests": "assert one() == 1",
    }  # fmt: skip
    return write_rows(folder / "rows.jsonl", row)


LAYOUTS: Mapping[str, Callable[[Path], Path]] = {
    "crosscodeeval": crosscodeeval, "crosscodelongeval": crosscodelongeval, "execrepobench": repositories,
    "humaneval-infilling": humaneval_infilling, "real-fim-eval": real_fim_eval, "repobench": repobench,
    "repoeval": repoeval, "safim": safim, "santacoder-fim": santacoder_fim,
}  # fmt: skip
"""Functions that write the data of a benchmark below a folder and return what ``--data`` takes."""
