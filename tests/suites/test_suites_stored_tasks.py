"""Tasks in a folder: what is refused before a run would count it as not executed."""

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.problem import ProgramCheck
from caretbench.suites import load_suite
from caretbench.suites.stored_tasks import read_tasks


def test_a_task_without_tests_is_refused_by_name(tmp_path: Path) -> None:
    task, *_ = load_suite("codevbench").load("starter").problems
    path = tmp_path / "problems.jsonl"
    path.write_text(task.model_copy(update={"checks": (ProgramCheck(),)}).model_dump_json() + "\n")
    with pytest.raises(DataError) as caught:
        read_tasks(tmp_path)
    assert str(caught.value) == f"{path}: {task.id} has no tests"
