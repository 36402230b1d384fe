"""Suites, metrics and models that a Python program defines: from a page, as functions, and with their keys."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from typer.testing import CliRunner

import caretbench
from caretbench.cli import app
from caretbench.execution.sandbox import bubblewrap
from caretbench.models import ClientOptions
from caretbench.problem import Completion
from tests.support.fakes import FakeClient

DOCS = Path(__file__).parents[1] / "docs"
SUITE = {"name": "devbench", "select": "language=python", "limit": 3}


def example(page: str, number: int) -> str:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)[number]


def config(output: Path, **fields: Any) -> caretbench.RunConfig:
    return caretbench.RunConfig.model_validate(
        {"suites": [SUITE], "baselines": [], "execute": False, "output": output} | fields
    )


def texts(folder: Path) -> dict[tuple[str, str], str | None]:
    rows = caretbench.api.RunFolder(folder).completions()
    return {(row.problem_id, row.model): row.text for row in rows if row.model != "reference"}


@pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed")
def test_the_suite_of_the_page_is_validated_and_scored_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = example("how-to/adding-a-suite.md", 0)
    assert source.count("\n") == 17
    (tmp_path / "sums.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    validated = CliRunner().invoke(app, ["validate", "sums:Sums", "--limit", "2"])
    assert "2 valid" in validated.stdout, validated.output
    suite = {"name": "sums", "limit": 2}
    folder = caretbench.score(config(tmp_path / "run", suites=[suite], execute=True, baselines=["reference", "empty"]))
    passed = {row.model: row.values["passed"] for row in folder.scores() if "passed" in row.values}
    assert passed == {"reference": 1.0, "empty": 0.0}
    del sys.modules["sums"]


@pytest.mark.parametrize("number", [0, 2])
def test_an_example_of_the_page_of_the_api_runs(number: int, tmp_path: Path) -> None:
    """Answers in memory with their table, and a function as a model."""
    (tmp_path / "program.py").write_text(example("reference/python-api.md", number))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("indel_similarity" in done.stdout) if number == 0 else (done.stdout == "[]\n")


def test_the_metric_of_the_page_is_measured(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(example("how-to/adding-a-metric.md", 1))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"empty\s+┆ 1.0", done.stdout)


def test_a_frame_has_every_score_row_and_its_values(tmp_path: Path) -> None:
    folder = caretbench.score(config(tmp_path, baselines=["reference", "empty"]))
    rows = list(folder.scores())
    table = caretbench.frame(tmp_path)
    assert table.height == len(rows) > 0
    for line, row in zip(table.iter_rows(named=True), rows, strict=True):
        assert (line["problem_id"], line["model"], line["scorer"], line["counted"]) == (
            row.problem_id, row.model, row.scorer, row.counted,
        )  # fmt: skip
        assert {name: value for name, value in line.items() if name in row.values} == row.values
        others = {*table.columns} - {*row.values, *caretbench.Score.model_fields}
        assert all(line[name] is None for name in others)
    with pytest.raises(caretbench.DataError, match=r"/nothing: .*run's folder"):
        caretbench.frame(tmp_path / "nothing")


def test_answers_in_memory_are_scored_with_their_samples(tmp_path: Path) -> None:
    first, second, third = caretbench.load_suite("devbench").load("starter").problems[:3]
    chosen = config(tmp_path, suites=[{"name": "devbench", "select": f"id={first.id}|{second.id}"}])
    answers = {first.id: first.reference, second.id: ["a", None], third.id: "not selected"}
    for _ in range(2):  # the same call again changes nothing
        folder = caretbench.score(chosen, answers=answers, name="mine")
        rows = [row for row in folder.completions() if row.model == "mine"]
        assert [(row.problem_id, row.sample, row.text) for row in rows] == [
            (first.id, 0, first.reference), (second.id, 0, "a"), (second.id, 1, None),
        ]  # fmt: skip
    assert any(row.model == "mine" and row.values.get("exact_match") == 1.0 for row in folder.scores())


def test_an_unknown_id_is_named_with_its_neighbours_and_nothing_is_written(tmp_path: Path) -> None:
    problem = caretbench.load_suite("devbench").load("starter").problems[0]
    with pytest.raises(caretbench.UsageError, match=rf"'{problem.id}s'.*{problem.id!r}"):
        caretbench.score(config(tmp_path / "run"), answers={f"{problem.id}s": "x"})
    assert not (tmp_path / "run").exists()
    with pytest.raises(caretbench.UsageError, match=r"'empty' .*baseline"):
        caretbench.score(config(tmp_path / "run"), answers={problem.id: "x"}, name="empty")


def same(prompt: Any) -> str:
    return "same"


def other(prompt: Any) -> str:
    return "other"


def test_a_function_is_a_model_and_is_asked_once_until_it_changes(tmp_path: Path) -> None:
    calls: list[str] = []

    def counted(prompt: caretbench.FillPrompt) -> str:
        calls.append(prompt.prefix)
        return prompt.prefix[:1]

    counted.version = 1  # type: ignore[attr-defined] # it holds the list of calls
    models: dict[str, Callable[..., str | None]] = {"counted": counted, "same": same}
    for _ in range(2):
        result = caretbench.run(config(tmp_path), models=models)
        assert result.complaints == []
        assert len(calls) == 3
    assert {model for _, model in texts(tmp_path)} == {"counted", "same"}
    counted.version = 2  # type: ignore[attr-defined]
    caretbench.run(config(tmp_path), models=models)
    assert len(calls) == 6


def test_the_source_of_a_function_is_its_version(tmp_path: Path) -> None:
    caretbench.generate(config(tmp_path), models={"mine": same})
    caretbench.generate(config(tmp_path), models={"mine": other})
    rows: list[Completion] = list(caretbench.api.RunFolder(tmp_path).completions())
    assert len({row.parameters for row in rows}) == 2
    assert [row.text for row in rows] == ["same"] * 3 + ["other"] * 3


def test_a_function_has_the_settings_of_its_entry_and_stands_next_to_other_models(tmp_path: Path) -> None:
    entries = [{"spec": "function/mine", "name": "mine", "samples": 2, "prompt": "chat"}, {"spec": "fake/a"}]

    def opened(spec: str, options: ClientOptions) -> FakeClient:
        del options
        return FakeClient(lambda _request, _sample: "pass", name=spec)

    caretbench.generate(config(tmp_path, models=entries, local_only=False), models={"mine": same}, opener=opened)
    rows = list(caretbench.api.RunFolder(tmp_path).completions())
    assert (
        sorted((row.model, row.sample) for row in rows) == [("fake/a", 0), ("mine", 0), ("mine", 1)] * 3
        or len(rows) == 9
    )
    assert {row.prompt for row in rows if row.model == "mine"} == {"chat@1"}


def test_a_function_that_fails_leaves_error_rows_and_is_asked_again(tmp_path: Path) -> None:
    def broken(prompt: Any) -> str:
        raise LookupError("no weights")

    result = caretbench.run(config(tmp_path), models={"mine": broken})
    assert "LookupError: no weights" in result.complaints[0]
    assert {row.kind for row in caretbench.api.RunFolder(tmp_path).missing()} == {"provider"}
    result = caretbench.run(config(tmp_path), models={"mine": lambda _prompt: 3})  # type: ignore[dict-item,return-value]
    assert "returned 3" in result.complaints[0]


WITHOUT_SOURCE: Any = FunctionType(compile("'a'", "typed by hand", "eval"), {}, "half")
"""Function as it is defined at the prompt of an interpreter."""


def held(word: str) -> Callable[[Any], str]:
    return lambda _prompt: word


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (held("a"), "it holds values"),
        (str.upper, "it holds values"),
        ("same", "expected a function"),
        (FakeClient, "expected a function"),
        (WITHOUT_SOURCE, "its source cannot be read"),
    ],
)
def test_a_function_without_a_version_of_its_own_is_refused(function: Any, fault: str, tmp_path: Path) -> None:
    with pytest.raises(caretbench.UsageError, match=f"model 'mine': {fault}"):
        caretbench.run(config(tmp_path / "run"), models={"mine": function})
    assert not (tmp_path / "run").exists()


def test_a_spec_of_a_function_that_was_not_given_is_refused(tmp_path: Path) -> None:
    with pytest.raises(caretbench.UsageError, match="function/mine: no such function"):
        caretbench.run(config(tmp_path, models=[{"spec": "function/mine"}]))


def half(answer: str, problem: caretbench.Problem) -> float:
    return 0.5


def test_a_metric_is_a_function_and_is_measured_again_when_it_changes(tmp_path: Path) -> None:
    def measured(metric: Callable[[str, caretbench.Problem], float]) -> list[float]:
        caretbench.score(config(tmp_path, suites=[SUITE | {"metrics": [metric]}], baselines=["reference"]))
        return caretbench.frame(tmp_path)["metric:half"].drop_nulls().to_list()

    assert measured(half) == [0.5] * 3
    assert measured(half) == [0.5] * 3

    def changed(answer: str, problem: caretbench.Problem) -> float:
        return 0.25

    changed.__name__ = "half"
    assert measured(changed) == [0.25] * 3
    with pytest.raises(caretbench.UsageError, match="called 'half'"):
        caretbench.score(config(tmp_path, suites=[SUITE | {"metrics": [half, changed]}]))
    with pytest.raises(caretbench.UsageError, match="no name"):
        caretbench.score(config(tmp_path, suites=[SUITE | {"metrics": [lambda _answer, _problem: 1]}]))
