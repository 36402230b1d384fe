import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import caretbench
from caretbench.models import ClientOptions
from caretbench.problem import Caret
from tests.support.efcb_changes import write_history
from tests.support.fakes import FakeClient

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "python-api.md"
SUITE = {"name": "devbench", "select": "language=python", "limit": 3}


def config(output: Path, **fields: Any) -> caretbench.RunConfig:
    return caretbench.RunConfig.model_validate(
        {"suites": [SUITE], "baselines": ["reference", "empty"], "execute": False, "output": output} | fields
    )


def opened(spec: str, options: ClientOptions) -> FakeClient:
    return FakeClient(lambda _request, _sample: "pass", name=spec)


def test_every_public_name_can_be_loaded() -> None:
    assert sorted(caretbench.__all__) == dir(caretbench)
    assert all(getattr(caretbench, name) is not None for name in caretbench.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = caretbench.nothing


def test_the_package_loads_nothing_before_it_is_asked_for() -> None:
    code = "import sys, caretbench; sys.exit(any(name.startswith('caretbench.') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_is_generated_scored_reported_and_compared(tmp_path: Path) -> None:
    models = [{"spec": "fake/a"}, {"spec": "fake/b", "name": "second"}]
    result = caretbench.run(config(tmp_path / "run", models=models), opener=opened)
    [folder] = result.folders
    assert result.complaints == []
    assert {row.model for row in folder.completions()} == {"fake/a", "second", "reference", "empty"}
    summary = caretbench.report(folder.path)
    assert {column.model for column in summary.columns} >= {"fake/a", "second"}
    assert [problem.id for problem in folder.problems()]


def test_generating_scores_nothing(tmp_path: Path) -> None:
    result = caretbench.generate(config(tmp_path / "run", models=[{"spec": "fake/a"}]), opener=opened)
    [folder] = result.folders
    assert len(list(folder.completions())) == 3
    assert not folder.scores_path.exists()


@pytest.mark.parametrize("call", [caretbench.run, caretbench.generate])
def test_a_mistake_in_a_run_file_names_the_file(call: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[[suites]]\nname = "devbench"\npolicy = "nope"\n[[models]]\nspec = "mockllm/model"\n')
    with pytest.raises(caretbench.CaretBenchError, match=r"mine\.toml"):
        call(path)


def test_recorded_completions_are_scored(tmp_path: Path) -> None:
    problem = caretbench.load_suite("devbench").load("starter").problems[0]
    path = tmp_path / "mine.jsonl"
    path.write_text(
        caretbench.Completion(problem_id=problem.id, model="mine", text=problem.reference).model_dump_json() + "\n"
    )
    assert isinstance(problem.shown, Caret)
    suites = [{"name": "devbench", "select": f"id={problem.id}"}]
    folder = caretbench.score(config(tmp_path / "run", suites=suites, baselines=[]), [path])
    scores = [row for row in folder.scores() if row.model == "mine"]
    assert scores
    assert any(value == 1.0 for row in scores for value in row.values.values())


def test_a_remote_model_is_refused_where_only_local_ones_may_be_asked(tmp_path: Path) -> None:
    wanted = config(tmp_path, models=[{"spec": "openai/gpt-4o-mini"}], local_only=True)
    with pytest.raises(ValueError, match="--local-only: openai/gpt-4o-mini is asked over the network"):
        caretbench.run(wanted, opener=opened)


def test_the_first_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
    exec(example, {})  # noqa: S102  our own page
    assert (tmp_path / "runs" / "answers" / "scores.jsonl").exists()


def test_the_last_example_of_the_page_builds_and_validates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_history(tmp_path / "clone", 6).write()
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path / "clone")
    example = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[-1]
    exec(example, {})  # noqa: S102  our own page
    numbers, *verdicts = capsys.readouterr().out.splitlines()
    assert "problems" in numbers
    assert len(verdicts) == 5
    assert "valid" in verdicts[0]
