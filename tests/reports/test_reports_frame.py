import json

import pytest

from caretbench.files import DataError
from caretbench.problem import Completion, Score
from caretbench.reports.frame import build_frame, load_run, metric_columns
from tests.support.report_runs import make_problem, make_run


def row(problem_id: str, scorer: str, **changes: object) -> Score:
    fields = {"problem_id": problem_id, "model": "m", "scorer": scorer, "policy": "raw", "profile": "default"}
    return Score.model_validate(fields | changes)


PROBLEM = make_problem("python", "api_usage", 1)


def test_scorers_of_one_completion_become_one_line() -> None:
    frame = build_frame(
        [PROBLEM],
        [
            row(PROBLEM.id, "execution@1", outcome="passed", values={"passed": 1}),
            row(PROBLEM.id, "documentation@1", values={"passed": 0}),
            row(PROBLEM.id, "similarity@1", values={"cosine": 0.5, "line0_exact_match": 1}),
        ],
    )
    line = frame.row(0, named=True)
    assert frame.height == 1
    assert (line["passed"], line["counted"], line["status"]) == (False, True, "failed")
    assert (line["cosine"], line["line0_match"]) == (0.5, 1.0)
    assert metric_columns(frame) == ["cosine", "line0_match"]


def test_a_row_without_verdict_outweighs_a_failure() -> None:
    frame = build_frame(
        [PROBLEM],
        [
            row(PROBLEM.id, "execution@1", outcome="sandbox_error", counted=False),
            row(PROBLEM.id, "documentation@1", values={"passed": 0}),
        ],
    )
    line = frame.row(0, named=True)
    assert (line["passed"], line["counted"], line["status"]) == (None, False, "sandbox_error")


def test_a_comments_words_are_no_verdict_on_a_program_that_did_not_run() -> None:
    frame = build_frame([PROBLEM], [row(PROBLEM.id, "documentation@1", values={"passed": 1})])
    line = frame.row(0, named=True)
    assert (line["passed"], line["counted"], line["status"]) == (None, None, None)


def test_the_gates_verdict_is_null_where_it_said_nothing() -> None:
    other = make_problem("python", "api_usage", 2)
    scores = [row(p.id, "execution@1", outcome="passed", values={"passed": 1}) for p in (PROBLEM, other)]
    frame = build_frame([PROBLEM, other], scores, {PROBLEM.id: "unverified"})
    assert frame["valid"].to_list() == [False, None]


def test_an_unknown_problem_is_an_error() -> None:
    with pytest.raises(DataError, match=r"nowhere.*not have"):
        build_frame([PROBLEM], [row("nowhere", "execution@1", values={"passed": 1})])


def test_a_run_is_read_from_its_folder(tmp_path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"suite": "devbench"}, indent=2))
    completion = Completion(problem_id=PROBLEM.id, model="m", text="x")
    (tmp_path / "completions.jsonl").write_text(completion.model_dump_json() + "\n")
    scored = row(PROBLEM.id, "execution@1", outcome="passed", values={"passed": 1})
    (tmp_path / "scores.jsonl").write_text(scored.model_dump_json() + '\n{"torn')
    verdicts = [
        {"problem_id": name, "verdict": verdict, "details": {"strength": "value"}}
        for name, verdict in ((PROBLEM.id, "valid"), ("of another selection", "valid"))
    ]
    (tmp_path / "validity.jsonl").write_text("".join(json.dumps(one) + "\n" for one in verdicts))
    run = load_run(tmp_path, [PROBLEM])
    assert run.mutant_strengths == {"value": 1}
    assert run.frame["valid"].to_list() == [True]
    assert [(row.key, row.text) for row in run.completions] == [(completion.key, "x")]


def test_a_folder_without_manifest_says_so(tmp_path) -> None:
    with pytest.raises(DataError, match="run's folder"):
        load_run(tmp_path, [PROBLEM])


def test_the_made_up_run_has_one_line_per_completion() -> None:
    run = make_run(per_cell=1, samples=2)
    assert run.frame.height == len(run.completions)


def test_flags_stand_in_the_table() -> None:
    problem = make_problem("python", "api_usage", 1)
    flagged = {"flags": ["tamper:early_exit", "tamper:exit_hook"]}
    frame = build_frame(
        [problem],
        [
            row(problem.id, "execution@1", values={"passed": 1.0}, details=flagged),
            row(problem.id, "execution@1", sample=1, values={"passed": 1.0}),
            row(problem.id, "similarity@1", sample=2, values={"cosine": 1.0}),
        ],
    )
    assert frame["flags"].to_list() == [["tamper:early_exit", "tamper:exit_hook"], [], None]
