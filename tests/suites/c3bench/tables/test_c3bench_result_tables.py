"""Table 2 in form, as printed, and the charts."""

from __future__ import annotations

import polars as pl
import pytest

from caretbench.problem import Caret, InlineSplice, PredicateCheck, Problem, ProgramCheck, Provenance
from caretbench.suites.c3bench.tables.result_tables import (
    headline_results,
    printed_rows,
    printed_table,
    result_tables,
    wrong_averages,
)

PREDICATE = PredicateCheck(name="features", counts=False)


def scale(node: str) -> PredicateCheck:
    """Return a specification: ``blind-scale`` writes a ``for`` into an empty file, but no argument of a call."""
    kind = "block" if node == "for" else "span_node"
    return PredicateCheck(name="scale", arguments={"specification": {"kind": kind, "node": node}}, counts=False)


def problem(task: str, number: int, category: str) -> Problem:
    return Problem(
        id=f"{task}/{number}", suite="c3bench", shown=Caret(language="python", prefix="", instruction="Do it."),
        splice=InlineSplice(before="", after=""), reference="pass\n",
        checks=(ProgramCheck(), PREDICATE) if task == "icc" else (scale("argument" if number else "for"),),
        labels={"task": task, "category": category, "language": "python"}, cluster=f"{task}/{number}",
        provenance=Provenance(source="test"),
    )  # fmt: skip


PROBLEMS = {
    one.id: one
    for one in (
        *(problem("icc", number, "structural" if number < 2 else "parameter") for number in range(4)),
        *(problem("scc", number, "span" if number < 2 else "block") for number in range(4)),
    )
}


def row(identity: str, passed: bool | None, followed: float, mode: str | None = "shown", **more: object) -> dict:
    return {
        "problem_id": identity, "model": "m", "model_title": "m", "parameters": "p", "sample": 0, "policy": "clean@3",
        "profile": "default", "instruction": mode, "prompt": "fim/starcoder@1", "passed": passed, "followed": followed,
        "followed_lenient": None if passed is not None else 1.0, "indel_similarity": 0.5, "code_tokens": 4.0,
        "commentary_tokens": 6.0, "cluster": identity, "overlap_group": None, **more,
    }  # fmt: skip


ROWS = [
    row("icc/0", True, 1.0), row("icc/1", True, 0.0), row("icc/2", False, 1.0), row("icc/3", True, 0.0),
    row("scc/0", None, 1.0), row("scc/1", None, 0.0), row("scc/2", None, 0.0), row("scc/3", None, 0.0),
]  # fmt: skip


def test_pass_at_1_and_instruction_following_are_columns_of_their_own() -> None:
    tables = {one.name: one for one in result_tables(pl.DataFrame(ROWS, infer_schema_length=None), PROBLEMS, 0)}
    main = tables["c3bench-results-default-clean@3"]
    cells = dict(zip(main.columns, (cell.partition("\n")[0] for cell in main.rows[0]), strict=True))
    assert cells["FIM"] == "yes"
    assert cells["ICC Pass@1"] == "75.0"
    assert cells["ICC IF"] == "25.0"
    assert cells["ICC IF of passed"] == "33.3"
    assert (cells["SCC IF"], cells["SCC IF lenient"]) == ("25.0", "100.0")
    assert cells["Average IF"] == "25.0"
    assert cells["ICC ES"] == "50.0"
    assert cells["SCC skill"] == "0.0"  # one of four follows, and so does the answer without sense


def test_without_a_run_nothing_is_known_about_implementations() -> None:
    rows = [{**one, "passed": None} for one in ROWS]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    [main, *_] = result_tables(frame, PROBLEMS, 0)
    cells = dict(zip(main.columns, (cell.partition("\n")[0] for cell in main.rows[0]), strict=True))
    assert (cells["ICC Pass@1"], cells["ICC IF"], cells["Average IF"]) == ("–", "–", "–")
    # Two of four satisfy the predicate, one of them without passing; this is no IF, and has a name of its own.
    assert cells["ICC predicate alone"] == "50.0"
    assert list(headline_results(frame)[1]) == ["predicate", "scale"]
    assert (
        "ICC predicate alone" not in result_tables(pl.DataFrame(ROWS, infer_schema_length=None), PROBLEMS, 0)[0].columns
    )


def test_problems_without_a_predicate_are_counted_in_a_note() -> None:
    lacking = PROBLEMS["icc/3"].model_copy(update={"checks": (ProgramCheck(),)})
    rows = pl.DataFrame(ROWS, infer_schema_length=None)
    assert (
        "ICC IF is about 3 of 4 problems: the others have no predicate."
        in result_tables(rows, {**PROBLEMS, "icc/3": lacking}, 0)[0].notes
    )
    assert not any("no predicate." in note for note in result_tables(rows, PROBLEMS, 0)[0].notes)


def test_extent_and_tests_lead_where_answers_about_scale_ran() -> None:
    ran = {**PROBLEMS, **{name: one.model_copy(update={"checks": (ProgramCheck(), *one.checks)})
                          for name, one in PROBLEMS.items() if name.startswith("scc/")}}  # fmt: skip
    rows = [*ROWS[:4], row("scc/0", True, 1.0), row("scc/1", False, 1.0), row("scc/2", True, 0.0),
            row("scc/3", True, 1.0)]  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None)
    tables = {one.name: one for one in result_tables(frame, ran, 0)}
    main = tables["c3bench-results-default-clean@3"]
    cells = dict(zip(main.columns, (cell.partition("\n")[0] for cell in main.rows[0]), strict=True))
    assert (cells["SCC extent and tests"], cells["SCC IF"], cells["SCC skill"]) == ("50.0", "75.0", "–")
    assert cells["ICC IF"] == "25.0"
    assert list(headline_results(frame)[1]) == ["joint", "scale_tested"]
    assert list(headline_results(pl.DataFrame(ROWS, infer_schema_length=None))[1]) == ["joint", "scale"]
    paper = result_tables(pl.DataFrame([{**one, "profile": "paper"} for one in rows], infer_schema_length=None), ran, 0)
    assert "SCC extent and tests" not in paper[0].columns


def test_no_skill_is_printed_where_an_answer_without_sense_follows_all_but_always() -> None:
    solved = {**PROBLEMS, **{f"scc/{number}": PROBLEMS["scc/0"] for number in range(4)}}
    [main, *_] = result_tables(pl.DataFrame(ROWS, infer_schema_length=None), solved, 0)
    assert dict(zip(main.columns, main.rows[0], strict=True))["SCC skill"] == "–\nblind 100.0"


def test_the_paper_s_table_has_no_skill() -> None:
    rows = [{**one, "profile": "paper"} for one in ROWS]
    [main, *_] = result_tables(pl.DataFrame(rows, infer_schema_length=None), PROBLEMS, 0)
    assert main.columns[-3] == "Average IF"
    assert dict(zip(main.columns, main.rows[0], strict=True))["SCC IF"].startswith("25.0")


def test_the_effect_of_the_instruction_is_a_table() -> None:
    rows = [*ROWS, *({**one, "instruction": "none", "followed": 0.0} for one in ROWS)]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    effects = {one.name: one for one in result_tables(frame, PROBLEMS, 0)}["c3bench-instruction"]
    assert {line[1] for line in effects.rows} == {"Pass@1", "ICC IF", "SCC IF"}
    main = {one.name: one for one in result_tables(frame, PROBLEMS, 0)}["c3bench-results-default-clean@3"]
    assert [line[0] for line in main.rows] == ["m", "m, instruction none"]
    assert dict(zip(main.columns, main.rows[0], strict=True))["of commentary"] == "6"


def test_thirty_four_of_the_printed_averages_follow_from_their_cells() -> None:
    rows = printed_rows()
    assert len(rows) == 39
    wrong = {name: (rows[name]["Average IF"], float(mean)) for name, mean in wrong_averages().items()}
    assert wrong == {
        "DeepSeek-Coder-6.7B-Base": ("18.2", 16.0),
        "StarCoder2-15B-Instruct-v0.1": ("2.6", 2.9),
        "GPT-4o-mini-2024-07-18": ("32.9", pytest.approx(32.35)),
        "GPT-4o-2024-08-06": ("40.8", pytest.approx(41.35)),
        "o1-preview": ("53.0", pytest.approx(53.3)),
    }


def test_printed_rows_stand_below_those_of_the_run() -> None:
    found = printed_table(result_tables(pl.DataFrame(ROWS, infer_schema_length=None), PROBLEMS, 0))
    assert found.rows[0][0] == "m (this run)"
    assert len(found.rows) == 40
    [doubtful] = [line for line in found.rows if line[0] == "o1-preview"]
    assert doubtful[-1] == "53.0\nthe mean of its cells is 53.3"
