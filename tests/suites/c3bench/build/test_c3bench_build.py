"""Builds of C3-Bench in the sandbox: what is kept, what is refused, and the same bytes after a stop."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from caretbench import RunConfig, api, score
from caretbench.errors import DataError
from caretbench.execution.sandbox import bubblewrap
from caretbench.files import read_rows, write_rows
from caretbench.problem import Completion, Problem
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from caretbench.suites.c3bench.build import build
from caretbench.suites.c3bench.build.build_folder import C3Folder, Reject
from caretbench.suites.c3bench.suite import starter_folder

pytestmark = [
    pytest.mark.long, pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]  # fmt: skip
OPTIONS = {"max_share": 1.0, "max_scc": 12, "per_file": 4, "jobs": 1}
BROKEN = '''def unchecked(values):
    """Return the sum of the values."""
    total = 0
    for value in values:
        total += value
    return total
'''


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    text = (starter_folder() / "functions" / "readings.py").read_text()
    checks = (starter_folder() / "functions" / "check_readings.py").read_text()
    (folder / "readings.py").write_text(text[: text.index("def moving_average")])
    (folder / "check_readings.py").write_text(checks[: checks.index("def check_moving_average")])
    (folder / "wrong.py").write_text(BROKEN)
    (folder / "check_wrong.py").write_text("def check_unchecked(candidate):\n    assert candidate([1]) == 2\n")
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_stopped_build_ends_with_the_same_bytes(source: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    result = api.build_problems("c3bench", [str(source)], whole, **OPTIONS)
    assert result.usable
    assert sorted(files_of(whole)) == ["manifest.json", "problems.jsonl", "rejected.jsonl", "validity.jsonl"]
    problems = list(read_rows(whole / "problems.jsonl", Problem))
    assert {one.label("task") for one in problems} == {"icc", "scc"}
    rejects = list(read_rows(whole / "rejected.jsonl", Reject))
    [broken] = [one for one in rejects if one.stage == "tests" and one.place.startswith("source/wrong/unchecked")]
    assert (broken.reason, broken.count) == ("error", 1)
    assert not any("wrong/unchecked" in one.id for one in problems if one.label("task") == "icc")
    again = tmp_path / "again"
    for seconds in (0.6, 1.2, 2.0, 3.0):
        _stopped_build(source, again, seconds)
    api.build_problems("c3bench", [str(source)], again, **OPTIONS)
    assert files_of(again) == files_of(whole)


def _stopped_build(source: Path, output: Path, seconds: float) -> None:
    """Start a build in a process of its own, and kill it after some seconds."""
    import signal
    import subprocess
    import sys

    program = (
        f"from caretbench import api; api.build_problems('c3bench', [{str(source)!r}], {str(output)!r}, **{OPTIONS!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_folder_with_another_build_or_something_else_is_refused(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    api.build_problems("c3bench", [str(source)], folder, max_icc=0, **OPTIONS)
    with pytest.raises(DataError, match=rf"{folder}: .*other sources"):
        api.build_problems("c3bench", [str(source)], folder, seed=5, **OPTIONS)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"/else: .*something else"):
        api.build_problems("c3bench", [str(source)], tmp_path / "else", **OPTIONS)


def _fails(*_arguments: object) -> NoReturn:
    raise DataError("no variant")


def test_verdicts_about_changed_sources_are_not_used_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    api.build_problems("c3bench", [str(source)], folder, **OPTIONS)
    before = C3Folder(folder).manifest()
    finished = files_of(folder)
    text = (source / "readings.py").read_text()
    (source / "readings.py").write_text("def lonely():\n    return 1\n")
    with monkeypatch.context() as patched:
        patched.setattr(build, "examined_contexts", _fails)
        with pytest.raises(DataError, match="no variant"):
            api.build_problems("c3bench", [str(source)], folder, **OPTIONS)
    assert files_of(folder).items() >= finished.items(), "a build that fails leaves the finished one"
    (source / "readings.py").write_text(text)
    shutil.copy(source / "check_wrong.py", source / "old.txt")
    (source / "check_wrong.py").write_text(
        "def check_unchecked(candidate):\n    assert candidate([1]) == 1\n    assert candidate([4, 5, 6]) == 15\n"
    )
    api.build_problems("c3bench", [str(source)], folder, **OPTIONS)
    assert C3Folder(folder).manifest().material != before.material
    assert any(
        "wrong/unchecked" in one.id
        for one in load_suite("c3bench").load(str(folder)).problems
        if one.label("task") == "icc"
    )


PYTHON = """import sys


def total_above(values, limit):
    total = 0
    for value in values:
        if value > limit:
            total += value
    return total


numbers = [int(word) for word in sys.stdin.read().split()]
print(total_above(numbers[1:], numbers[0]))
"""
JAVA = """import java.util.Scanner;

public class Main {
    public static void main(String[] arguments) {
        Scanner input = new Scanner(System.in);
        int limit = input.nextInt();
        int total = 0;
        while (input.hasNextInt()) {
            int value = input.nextInt();
            if (value > limit) {
                total += value;
            }
        }
        System.out.println(total);
    }
}
"""


def safim_row(number: int, program: str, hole: str, output: str, **more: str) -> dict[str, object]:
    language, mark = (
        ("java", "/* TODO: Your code here */") if "class" in program else ("python", "# TODO: Your code here")
    )
    before, _, after = program.partition(hole)
    statement = "Complete the code.\n\nDescription: The sum of what is larger than the first.\n\nCode:\n\n"
    cases = [{"input": "2 1 2 3 4\n", "output": [output]}, {"input": "9 1\n", "output": ["0"]}]
    return {
        "task_id": f"block_completion_{number:06}", "lang": language, "prompt": statement + before + mark + after,
        "eval_prompt": before + "{{completion}}" + after, "ground_truth": hole, "unit_tests": cases, **more,
    }  # fmt: skip


def test_programs_with_cases_are_sources_of_both_tasks(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    wrong = PYTHON.replace("total_above", "sum_above").replace("total = 0", "total = 1")
    sources = [
        safim_row(1, PYTHON, "total += value", "7"), safim_row(2, JAVA, "total += value;", "7"),
        safim_row(3, wrong, "total += value", "7"),
    ]  # fmt: skip
    rows.write_text("".join(f"{json.dumps(row)}\n" for row in sources))
    output = tmp_path / "built"
    assert api.build_problems("c3bench", [str(rows)], output, **{**OPTIONS, "max_scc": 8}).usable
    problems = list(read_rows(output / "problems.jsonl", Problem))
    assert {(one.label("task"), one.label("language")) for one in problems} == {
        ("icc", "python"), ("scc", "java"), ("scc", "python"),
    }  # fmt: skip
    assert {one.checks[0].kind for one in problems} == {"cases"}
    assert len({one.cluster for one in problems}) == 1  # they solve one problem of a contest
    assert not any("000003" in one.id for one in problems)
    found = {(one.stage, one.reason) for one in read_rows(output / "rejected.jsonl", Reject) if "000003" in one.place}
    assert {("tests", "error"), ("gate", "reference_fails")} <= found
    icc = next(one for one in problems if one.label("task") == "icc")
    answers = {"right": icc.reference, "wrong": icc.reference.replace("value > limit", "value >= limit")}
    assert answers["wrong"] != icc.reference
    completions = [Completion(problem_id=icc.id, model=model, text=text) for model, text in answers.items()]
    write_rows(tmp_path / "m.jsonl", completions)
    settings = {"name": "c3bench", "data": str(output), "select": f"id={icc.id}"}
    score(RunConfig(suites=(settings,), output=tmp_path / "run"), [tmp_path / "m.jsonl"])  # type: ignore[arg-type]
    values: dict[str, dict[str, float]] = {}
    for row in RunFolder(tmp_path / "run").scores():
        values.setdefault(row.model, {}).update(row.values)
    assert (values["right"]["passed"], values["right"]["followed_reduced"]) == (1.0, 1.0)
    assert values["wrong"]["passed"] == 0.0
