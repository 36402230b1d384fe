"""The safety net: what is kept of the files, and which differences are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.safety_net.__main__ import compare
from benchmarks.safety_net.checkout import PROBLEMS, choose
from benchmarks.safety_net.server import answer
from benchmarks.safety_net.values import cleaned, differences, digest, flat, of_run, of_validity, renamed

KEY = {"problem_id": "a", "model": "reference", "parameters": "none", "sample": 0}
SCORE = {
    **KEY, "scorer": "execution@1", "policy": "syntax@4", "profile": "default", "counted": True, "outcome": "passed",
    "values": {"passed": 1.0}, "details": {"cpu_s": 0.5, "run_s": 0.7, "cached": False, "flags": ["tamper:exit"]},
}  # fmt: skip


def run_folder(folder: Path, score: dict[str, Any], text: str = "return 1") -> Path:
    folder.mkdir()
    manifest = {"data": {"hash": "0" * 64, "problems": 3}, "models": [], "versions": {"caretbench": "0.1.0"}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "completions.jsonl").write_text(json.dumps({**KEY, "text": text}) + "\n")
    (folder / "scores.jsonl").write_text(json.dumps(score) + "\n")
    return folder


def test_a_run_holds_verdicts_and_hashes_but_no_text(tmp_path: Path) -> None:
    found = of_run(run_folder(tmp_path / "run", SCORE))
    assert found["score/reference/a/0/execution/syntax"] == {
        "counted": True, "outcome": "passed", "passed": 1.0, "flags": "['tamper:exit']",
    }  # fmt: skip
    assert found["completion/reference/a/0"] == digest("return 1") == "486d9affb60dbb00"
    assert found["data"] == ["0" * 16, 3]


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        ({"values": {"passed": 0.0}}, ["score/reference/a/0/execution/syntax"]),
        ({"outcome": "timeout"}, ["score/reference/a/0/execution/syntax"]),
        ({"details": {"cpu_s": 9.0, "cached": True, "flags": ["tamper:exit"]}}, []),
        ({"scorer": "execution@2"}, []),
        ({"model": "reference"}, []),
        ({"values": {"passed": 1.0 + 1e-14}}, []),
    ],
)
def test_a_changed_score_is_found_and_a_time_is_not_compared(
    tmp_path: Path, change: dict[str, Any], keys: list[str]
) -> None:
    one = of_run(run_folder(tmp_path / "one", SCORE))
    other = of_run(run_folder(tmp_path / "other", {**SCORE, **change}))
    assert [key for key, _, _ in differences(one, other)] == keys


def test_a_changed_text_is_found_by_its_hash(tmp_path: Path) -> None:
    one = of_run(run_folder(tmp_path / "one", SCORE))
    other = of_run(run_folder(tmp_path / "other", SCORE, "return 2"))
    assert list(differences(one, other)) == [("completion/reference/a/0", digest("return 1"), digest("return 2"))]


def test_keys_that_one_side_lacks_differ() -> None:
    assert list(differences({"a": 1, "b": None}, {"b": None, "c": 0})) == [("a", 1, "(missing)"), ("c", "(missing)", 0)]


def test_a_report_is_flattened_by_the_names_of_its_parts() -> None:
    report = {
        "columns": [
            {
                "model": "reference", "policy": "block@2", "overall": {"value": 1 / 3, "warning": "few problems"},
                "strata": {"mode": [{"labels": {"mode": "infill"}, "problems": 4, "similarity": {"line": 0.5}}]},
            },
        ],
        "wall_s": 7.5, "notes": ["prose"], "versions": {"python": "3.11"}, "method": "wilson", "said": "two words",
    }  # fmt: skip
    assert dict(flat(report)) == {
        "/columns/reference block/overall/value": 0.333333333333,
        "/columns/reference block/strata/mode/mode=infill/problems": 4.0,
        "/columns/reference block/strata/mode/mode=infill/similarity": digest({"line": 0.5}),
        "/method": "wilson",
    }


def test_checks_are_hashed_without_times_and_empty_fields() -> None:
    assert cleaned({"reference_s": 0.4, "needs": [], "kind": "tests", "prepare": None}) == {"kind": "tests"}


def test_verdicts_of_the_gate_keep_the_names_of_reasons() -> None:
    row = {"problem_id": "a", "verdict": "invalid", "reasons": ["flaky: 1 of 3"], "details": {"mutants_tried": "2"}}
    assert of_validity([row]) == {"validity/a": ["invalid", ["flaky"], False, "2"]}


def test_problems_are_chosen_evenly_and_always_the_same() -> None:
    problems = [{"id": str(number), "labels": {"language": "python"}, "checks": []} for number in range(600)]
    chosen = [int(one) for one in choose(problems, released=False)]
    assert chosen == [int(one) for one in choose(problems, released=True)]
    assert [number // 10 for number in chosen] == list(range(PROBLEMS))
    small = choose(problems[:7], released=False)
    assert small == [str(number) for number in range(7)]


def test_the_server_answers_by_what_it_is_shown() -> None:
    def body(text: str, **more: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": text}], "seed": 1, **more}

    assert answer(body("a")) == answer({**body("a"), "seed": 2}) != answer(body("b"))
    schema = {"type": "object", "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 10}}}
    asked = body("a", response_format={"type": "json_schema", "json_schema": {"schema": schema}})
    assert 0 <= json.loads(answer(asked))["score"] <= 10


def test_compare_counts_and_prints_differences(capsys: pytest.CaptureFixture[str]) -> None:
    stored = {"revision": "abc", "cases": {"one": {"a": 1, "b": 2}, "other": {"c": 3}}}
    assert compare(stored, {"cases": {"one": {"a": 1, "b": 2}}}) == 0
    assert compare(stored, {"cases": {"one": {"a": 1, "b": 5}}}) == 1
    written = capsys.readouterr()
    assert written.out == "one: b: 2 -> 5\n"
    assert "not compared: other" in written.err


def test_keys_of_a_record_get_todays_names() -> None:
    stored = {"report/own/efcb-score/rows/#0": 1, "controls/other-golden/mean": 2.0, "mine/golden-rule": 3}
    assert renamed(stored) == {
        "report/suite_tables/efcb-score/rows/#0": 1, "controls/other-reference/mean": 2.0, "mine/golden-rule": 3
    }  # fmt: skip


def test_parts_of_a_report_that_one_side_has_are_counted_and_no_differences(capsys: pytest.CaptureFixture[str]) -> None:
    one = {"report/columns/a/rate": 1, "report/old/a": 1, "report/old/b": 1, "score/a": 1}
    other = {"report/columns/a/rate": 2, "report/new/a": 1}
    stored = {"revision": "abc", "cases": {"one": one}}
    assert compare(stored, {"cases": {"one": other}}) == 2
    written = capsys.readouterr()
    assert written.out == "one: report/columns/a/rate: 1 -> 2\none: score/a: 1 -> (missing)\n"
    assert "report/old, only in the record: 2 values" in written.err
    assert "report/new, only in this: 1 values" in written.err
