from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench.files import DataError
from caretbench.suites.devbench.released_problems import FIELDS, recorded_completions
from tests.support.make_problem import MakeProblem


def test_a_plain_file_needs_only_problem_and_text(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    path = tmp_path / "my-model.jsonl"
    rows = [{"problem_id": problem.id, "text": "a"}, {"problem_id": problem.id, "text": None, "sample": 1},
            {"problem_id": "other/one", "text": "b"}]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    passed_over: list[str] = []
    found = list(recorded_completions(path, {problem.id: problem}, on_skipped=passed_over.append))
    assert passed_over == ["other/one"]
    assert [(row.model, row.sample, row.text) for row in found] == [("my-model", 0, "a"), ("my-model", 1, None)]


def test_a_malformed_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"problem_id": "p"}\n')
    with pytest.raises(DataError, match=r"m\.jsonl:1: .*\(text: Field"):
        list(recorded_completions(path, {}))


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/none\.jsonl: no such"):
        list(recorded_completions(tmp_path / "none.jsonl", {}))


def test_a_folder_without_completions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path}: no completions"):
        list(recorded_completions(tmp_path, {}))


def test_half_a_surrogate_pair_in_the_released_layout_comes_as_it_is(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem("python/low_context/1").model_copy(update={"released": {"prefix": "p \ufffd"}})
    texts = ["a = '\ud83d'", "\udc00\n", "\U0001f600"]
    row = {"id": "1", "prefix": "p \ud83d", "golden_completion": problem.reference, "m_completions": texts}
    path = tmp_path / "python" / "low_context" / "low_context-m.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(dict.fromkeys(FIELDS, "") | row) + "\n")
    assert [one.text for one in recorded_completions(tmp_path, {problem.id: problem})] == texts


def write(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps({"problem_id": "p", "text": "a"} | row) + "\n" for row in rows))
    return path


def test_rows_without_a_number_are_samples_in_order(tmp_path: Path, make_problem: MakeProblem) -> None:
    path = write(tmp_path / "m.jsonl", {}, {"text": "b"}, {"model": "n"}, {"text": "c", "sample": None})
    found = list(recorded_completions(path, {"p": make_problem()}))
    assert [(row.model, row.sample, row.text) for row in found] == [
        ("m", 0, "a"), ("m", 1, "b"), ("n", 0, "a"), ("m", 2, "c"),
    ]  # fmt: skip


def test_a_sample_that_stands_twice_is_refused(tmp_path: Path, make_problem: MakeProblem) -> None:
    path = write(tmp_path / "m.jsonl", {"sample": 1}, {"sample": 0}, {"sample": 1})
    with pytest.raises(DataError, match=r"m\.jsonl:3: .* line 1"):
        list(recorded_completions(path, {"p": make_problem()}))


@pytest.mark.parametrize("row", [{"model": ""}, {"model": "a\x1b[31m"}, {"sample": -1}, {"sample": 1 << 31}])
def test_names_and_numbers_that_cannot_be_shown_are_refused(tmp_path: Path, row: dict[str, object]) -> None:
    with pytest.raises(DataError, match=r"m\.jsonl:1: .*completion"):
        list(recorded_completions(write(tmp_path / "m.jsonl", row), {}))


def test_a_file_that_broke_off_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", {})
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match=r"m\.jsonl:1: .*JSON"):
        list(recorded_completions(path, {}))


def test_a_models_name_is_matched_as_a_whole(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem("python/low_context/1").model_copy(update={"released": {"prefix": "p"}})
    names = ("gpt-4.1", "gpt-4.1-mini", "DeepSeek-V3-0324", "claude-4-sonnet")
    folder = tmp_path / "completions" / "python" / "low_context"
    folder.mkdir(parents=True)
    fields = dict.fromkeys(("testsource", "language", "suffix", "LLM_justification", "assertions"), "")
    for name in names:
        row = fields | {"id": "1", "prefix": "p", "golden_completion": problem.reference}
        row |= {f"{name}_completions": [name, None]}
        (folder / f"low_context-{name}.jsonl").write_text(json.dumps(row) + "\n")
    for name in names:
        found = list(recorded_completions(tmp_path, {problem.id: problem}, [name]))
        assert [(row.model, row.text) for row in found] == [(name, name), (name, None)]
