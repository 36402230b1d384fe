"""Conventional benchmarks end to end: rows in the layouts of six releases, through load, score, metrics and report."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import caretbench
from caretbench import RunConfig
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.models import ChatPrompt, TextPrompt
from caretbench.problem import FileSplice, Problem, ProgramCheck
from caretbench.prompts.registry import get_strategy
from caretbench.prompts.strategy import PromptBudget
from caretbench.reports.results.published_numbers import published_numbers
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.reports.sections.published import compare_with_published
from caretbench.runs.verdict import answer_flags
from caretbench.suites import load_suite
from tests.support.compiled_programs import need_toolchain
from tests.support.conventional_layouts import (
    HUMANEVAL,
    LAYOUTS,
    crosscodeeval,
    crosscodelongeval,
    real_fim_eval,
    repobench,
    repoeval,
    repositories,
    write_rows,
)

UNLIMITED = PromptBudget(None, len)


TEXT_LAYOUTS = ("crosscodeeval", "crosscodelongeval", "repoeval", "repobench", "real-fim-eval")


@pytest.mark.parametrize("name", TEXT_LAYOUTS)
def test_each_layout_is_read_and_its_reference_matches(name: str, tmp_path: Path) -> None:
    data = LAYOUTS[name](tmp_path / "data")
    suite = load_suite(name)
    problems = suite.load(str(data)).problems
    for problem in problems:
        for profile in ("default", "paper"):
            found = {
                one.scorer.partition("@")[0]: one.values for one in suite.measure(problem, problem.reference, profile)
            }
            assert found[f"match/{suite.about_data.match}"]["passed"] == 1, (problem.id, profile)
            assert found["legacy/exact"] == {"exact_match": 1}
            missed = {one.scorer.partition("@")[0]: one.values for one in suite.measure(problem, "zzz", profile)}
            assert missed[f"match/{suite.about_data.match}"]["passed"] == 0


def row_of(data: Path) -> tuple[Path, dict[str, Any]]:
    """Return the first data file of a layout with its first row."""
    path = data if data.is_file() else next(iter(sorted(data.rglob("*.jsonl"))))
    return path, json.loads(path.read_text().splitlines()[0])


@pytest.mark.parametrize("name", [*TEXT_LAYOUTS, "execrepobench"])
def test_compressed_files_with_crlf_marks_and_further_fields_are_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    data = LAYOUTS[name](tmp_path / "data")
    expected = load_suite(name).load(str(data)).problems
    for path in [data] if data.is_file() else sorted(data.rglob("*.jsonl")):
        rows = [json.loads(line) | {"row": "more", "further": [None]} for line in path.read_text().splitlines()]
        lines = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + lines.encode()))
        path.unlink()
    found = load_suite(name).load(str(data.parent if data.suffix else data))
    assert found.problems == expected
    assert not found.passed_over


def test_null_context_suffix_and_names_are_no_faults(tmp_path: Path) -> None:
    path, row = row_of(crosscodeeval(tmp_path / "a"))
    metadata = {"task_id": 7, "repository": None, "file": None}
    write_rows(path, row | {"metadata": metadata, "crossfile_context": None, "right_context": None})
    (problem,) = load_suite("crosscodeeval").load(str(tmp_path / "a")).problems
    assert (problem.caret.suffix, problem.caret.context, problem.cluster) == ("", (), "7")
    path, row = row_of(real_fim_eval(tmp_path / "b"))
    write_rows(path, row | {"task_id": None, "repo": None, "suffix": None}, row | {"task_id": "ü"})
    first, second = load_suite("real-fim-eval").load(str(tmp_path / "b")).problems
    assert (first.id, first.cluster, first.caret.suffix, second.id) == ("edit/1", "1", "", "edit/ü")


def test_languages_that_are_not_here_are_passed_over_and_counted(tmp_path: Path) -> None:
    path, row = row_of(real_fim_eval(tmp_path))
    others = [row | {"task_id": number, "lang": name} for number, name in enumerate(("PHP", "kotlin", "PHP", "C#"))]
    write_rows(path, row, *others)
    write_rows(tmp_path / "notes" / "other.jsonl", row)
    found = load_suite("real-fim-eval").load(str(tmp_path))
    assert [one.caret.language for one in found.problems] == ["cpp", "csharp"]
    unread, *languages = found.passed_over
    assert "notes: 1 file" in unread
    assert languages == ["rows in PHP passed over: 2", "rows in kotlin passed over: 1"]


def test_the_nearest_folder_names_the_language_and_parts_are_numbered_on(tmp_path: Path) -> None:
    data = repobench(tmp_path / "java" / "data").parent
    path, row = row_of(data)
    path.rename(path.with_name("cross_file_first-00000-of-00002.jsonl"))
    write_rows(path.with_name("cross_file_first-00001-of-00002.jsonl"), row | {"next_line": "z = 2"})
    for folder in (data, path.parent):
        found = [(one.id, one.reference) for one in load_suite("repobench").load(str(folder)).problems]
        assert found == [("python/cross_file_first/1", "y = x"), ("python/cross_file_first/2", "z = 2")]


@pytest.mark.parametrize("shown", ["\r\n", "\n"])
def test_a_repository_with_crlf_runs_whatever_its_rows_have(
    shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    data = repositories(tmp_path / "data")
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    for row in rows:
        code = data.parent / "repos" / row["repo_name"] / "code.py"
        code.write_bytes(b"\xef\xbb\xbf" + code.read_bytes().replace(b"\n", b"\r\n"))
        row["prefix_code"] = row["prefix_code"].replace("\n", shown)
        row["suffix_code"] = row["suffix_code"].replace("\n", shown)
    write_rows(data, *rows)
    for problem in load_suite("execrepobench").load(str(data)).problems:
        splice = problem.splice
        assert isinstance(splice, FileSplice)
        content = (data.parent / "repos" / str(problem.caret.repository) / splice.path).read_bytes()
        assert splice.content(content, problem.reference) == content
        assert splice.content(content, "a\n") == content.replace(problem.reference.encode(), b"a\r\n")


def test_ranked_parts_of_other_files_are_shown_with_the_best_last(tmp_path: Path) -> None:
    (problem,) = load_suite("crosscodeeval").load(str(crosscodeeval(tmp_path))).problems
    assert [file.text for file in problem.caret.context] == ["worse()", "best()"]
    assert (problem.id, problem.cluster) == ("python/line_completion_rg1_bm25/p/1", "owner-repo")


def values(problem: Problem, answer: str, scorer: str) -> Mapping[str, float]:
    measured = load_suite(problem.suite).measure(problem, answer, "paper")
    return next(one.values for one in measured if one.scorer.startswith(scorer))


def test_crosscodeeval_is_measured_after_its_own_cut_and_without_comments(tmp_path: Path) -> None:
    (problem,) = load_suite("crosscodeeval").load(str(crosscodeeval(tmp_path))).problems
    found = values(problem, "f(x, 3)  # no\nmore()\n", "legacy/crosscodeeval")
    # `f(x, 2)` and `f(x, 3)`: 6 of 7 characters, so 12 / 14 rounded; both have the identifiers f and x.
    assert found == {
        "crosscodeeval_em": 0, "crosscodeeval_es_difflib": 86, "crosscodeeval_es_levenshtein": 86,
        "crosscodeeval_id_em": 1, "crosscodeeval_id_precision": 1, "crosscodeeval_id_recall": 1,
        "crosscodeeval_id_f1": 1,
    }  # fmt: skip


def test_repocoder_compares_as_many_lines_as_the_reference_has(tmp_path: Path) -> None:
    (problem,) = load_suite("repoeval").load(str(repoeval(tmp_path))).problems
    assert values(problem, "  a = 1\n\nb = 2\nc = 3", "legacy/repocoder") == {"repocoder_em": 1, "repocoder_es": 1}
    # Of 11 characters one differs.
    assert values(problem, "a = 1\nb = 3", "legacy/repocoder") == pytest.approx(
        {"repocoder_em": 0, "repocoder_es": 1 - 1 / 11}
    )


def test_a_function_is_compared_by_its_body(tmp_path: Path) -> None:
    problems = load_suite("crosscodelongeval").load(str(crosscodelongeval(tmp_path))).problems
    function = next(problem for problem in problems if problem.label("split") == "function")
    found = values(function, "    a = 1\n    return a\n\nprint(f(", "legacy/repoformer")
    assert found["repoformer_em"] == 1


def test_repobench_compares_words(tmp_path: Path) -> None:
    (problem,) = load_suite("repobench").load(str(repobench(tmp_path))).problems
    assert values(problem, "y  =  x", "match/")["passed"] == 1
    assert problem.caret.prefix == "import os\nx = 1\n"


def test_a_language_may_be_spelled_as_in_the_release(tmp_path: Path) -> None:
    (problem,) = load_suite("real-fim-eval").load(str(real_fim_eval(tmp_path))).problems
    assert (problem.caret.language, problem.id, problem.cluster) == ("cpp", "edit/5", "o/r")


def test_repositories_decide_by_their_own_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs two seconds: each answer runs in a workspace of its repository."""
    need_toolchain("python")
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    data = repositories(tmp_path / "data")
    problems = load_suite("execrepobench").load(str(data)).problems
    assert [file.text for file in problems[0].caret.context] == ["x = 1"]
    answers = {problems[0].id: "b + a", problems[1].id: "a + b"}
    suites = ({"name": "execrepobench", "data": str(data), "policy": "raw"},)
    caretbench.score(RunConfig(suites=suites, output=tmp_path / "run", baselines=()), answers=answers)  # type: ignore[arg-type]
    rows = [json.loads(line) for line in (tmp_path / "run" / "scores.jsonl").read_text().splitlines()]
    outcomes = {
        (row["model"], row["problem_id"]): row["outcome"] for row in rows if row["scorer"].startswith("execution")
    }
    assert [outcomes["reference", problem.id] for problem in problems] == ["passed"] * 2
    answered = [value for (model, _), value in outcomes.items() if model != "reference"]
    assert sorted(answered) == ["failed", "passed"]


def test_a_repository_that_differs_from_its_row_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    data = repositories(tmp_path / "data", change="# changed\n")
    with pytest.raises(caretbench.DataError, match=r"code\.py"):
        load_suite("execrepobench").load(str(data))


def test_a_run_stands_next_to_the_numbers_that_another_paper_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    data = crosscodelongeval(tmp_path / "data")
    problems = load_suite("crosscodelongeval").load(str(data)).problems
    # The first line decides, whatever follows: Repoformer compares as many lines as the reference has.
    answers = {
        problem.id: problem.reference + "\nmore()" if problem.label("split") == "chunk" else "" for problem in problems
    }
    config = RunConfig(
        suites=({"name": "crosscodelongeval", "data": str(data), "profile": "paper"},),  # type: ignore[arg-type]
        output=tmp_path / "run", baselines=(),
    )  # fmt: skip
    caretbench.score(config, answers=answers, name="qwen2.5-coder-7b")
    rows = compare_with_published(summarise_run(load_run_folder(tmp_path / "run")))
    assert {(row.published.label, round(row.published.value, 3), row.ours) for row in rows} == {
        ("chunk", 0.524, 1.0),
        ("function", 0.144, 0.0),
    }
    assert {row.published.table for row in rows} == {"Table 5: CrossCodeLongEval in the paper of C3-Bench"}


@pytest.mark.parametrize(
    ("name", "model", "ours"), [("humaneval-infilling", "codellama-7b", 1.0), ("santacoder-fim", "santacoder", 1.0)]
)
def test_references_stand_next_to_the_numbers_of_a_page(name: str, model: str, ours: float, tmp_path: Path) -> None:
    data = LAYOUTS[name](tmp_path / "data")
    problems = load_suite(name).load(str(data)).problems
    settings = {"name": name, "data": str(data), "profile": "paper"}
    config = RunConfig(suites=(settings,), output=tmp_path / "run", baselines=())  # type: ignore[arg-type]
    caretbench.score(config, answers={problem.id: problem.reference for problem in problems}, name=model)
    [row] = compare_with_published(summarise_run(load_run_folder(tmp_path / "run")))
    assert (row.ours, row.published.value < 1) == (ours, True)


@pytest.mark.parametrize(
    ("name", "parts", "models", "example"),
    [
        ("safim", {"algorithmic", "control", "api"}, 22, ("DeepSeek-Coder-6.7B-Base", "api", 0.716)),
        ("crosscodeeval", {"python", "java", "typescript", "csharp"}, 23, None),
        ("repoeval", {"line", "api", "function"}, 23, ("Qwen2.5-Coder-7B", "line", 0.673)),
        ("humaneval-infilling", {"single-line"}, 1, ("CodeLlama-7B", "single-line", 0.83)),
        ("santacoder-fim", {"python", "java", "javascript"}, 1, ("SantaCoder", "java", 0.62)),
    ],
)
def test_each_printed_part_is_one_of_ours(
    name: str, parts: set[str], models: int, example: tuple[str, str, float] | None
) -> None:
    numbers = published_numbers(name)
    assert {number.label for number in numbers} == parts
    assert len(numbers) == models * len(parts)
    assert {number.stratum for number in numbers} <= set(load_suite(name).strata)
    assert example is None or example in {(number.model, number.label, round(number.value, 3)) for number in numbers}


# --- the three suites that run ---------------------------------------------------------------------------------------


def safim_problem(tmp_path: Path, split: str = "block", **change: Any) -> Problem:
    row = {
        "task_id": "t", "lang": "python", "prompt": "Complete.\n\nCode:\n\nprint(\n# TODO: Your code here\n)\n",
        "eval_prompt": "print(\n{{completion}}\n)\n", "ground_truth": "1",
        "unit_tests": [{"input": "", "output": ["1"]}],
    }  # fmt: skip
    path = write_rows(tmp_path / f"{split}_completion.jsonl.gz".removesuffix(".gz"), row | change)
    from caretbench.conventional.rows import read_problems, read_rows

    return read_problems("safim", read_rows(path, values={"split": split}))[0]


def test_the_statement_is_text_before_a_base_models_program_and_an_instruction_in_a_chat(tmp_path: Path) -> None:
    caret = safim_problem(tmp_path).caret
    text = get_strategy("left-to-right").prompt(caret, UNLIMITED)
    assert isinstance(text, TextPrompt)
    assert text.text.startswith("Complete.\n\nCode:\n\nprint(")
    chat = get_strategy("chat").prompt(caret, UNLIMITED)
    assert isinstance(chat, ChatPrompt)
    assert "Complete." in chat.messages[-1].text
    assert "```python\nprint(" in chat.messages[-1].text


@pytest.mark.parametrize(
    ("answer", "profile", "passed"),
    [
        ("f(1, x = 2)", "default", 1), ("f(1,x=2)", "paper", 1), ("g(1, x=2)", "paper", 1), ("g(1, x=2)", "default", 0),
        ("f(1, x=3)", "paper", 0),
    ],
)  # fmt: skip
def test_a_call_of_the_api_split_must_call_the_same_function(
    answer: str, profile: Any, passed: float, tmp_path: Path
) -> None:
    problem = safim_problem(tmp_path, "api", ground_truth="f(1, x=2)", unit_tests=None)
    measured = load_suite("safim").measure(problem, answer, profile)
    assert next(one.values["passed"] for one in measured if one.scorer.startswith("match/")) == passed


def test_a_program_that_is_judged_by_its_output_may_leave_early(tmp_path: Path) -> None:
    problem = safim_problem(tmp_path)
    assert answer_flags("1)\nimport sys\nsys.exit(0", problem, "default") == ()
    asserted = problem.model_copy(update={"checks": (ProgramCheck(),)})
    assert answer_flags("1)\nimport sys\nsys.exit(0", asserted, "default") == ("tamper:early_exit",)


def test_limits_are_those_of_the_benchmark(tmp_path: Path) -> None:
    request = load_suite("safim").make_request(safim_problem(tmp_path), "1", "default")
    assert isinstance(request, ExecutionRequest)
    assert (request.limits.cpu_s, request.confirms_cpu_limit, request.sentinel) == (2.0, False, False)


@pytest.mark.parametrize(
    ("answer", "paper", "default"),
    [
        ("    return 1", "passed", "passed"), ("    return 2", "runtime_error", "failed"),
        # `exit` is None there; a program that leaves before its assertions never reached its end here.
        ("    return 1\nexit(0)", "runtime_error", "incomplete"),
        ("    return 1\nimport sys\nsys.exit(0)", "runtime_error", "incomplete"),
    ],
)  # fmt: skip
def test_the_paper_executes_a_text_in_which_nothing_can_leave(
    answer: str, paper: str, default: str, tmp_path: Path
) -> None:
    from caretbench.execution.local_executor import LocalExecutor

    need_toolchain("python")
    path = write_rows(tmp_path / "HumanEval-SingleLineInfilling.jsonl", HUMANEVAL)
    suite = load_suite("humaneval-infilling")
    from caretbench.conventional.rows import read_problems, read_rows

    (problem,) = read_problems(suite.name, read_rows(path, values={"split": "single-line"}))
    requests = [suite.request(problem, answer, profile, {}) for profile in ("paper", "default")]
    executor = LocalExecutor(2, use_cache=False)
    outcomes = [next(iter(executor.submit([request]))).status for request in requests]  # type: ignore[list-item]
    assert [str(outcome) for outcome in outcomes] == [paper, default]


def run_references(name: str, folder: Path, count: int) -> Sequence[str]:
    """Return the outcomes of the first references of a benchmark."""
    from caretbench.execution.local_executor import LocalExecutor

    suite = load_suite(name)
    problems = suite.load(str(folder)).problems[:count]
    requests = [suite.request(problem, problem.reference, "default", {}) for problem in problems]
    return [str(result.status) for result in LocalExecutor(2, use_cache=False).submit(requests)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "folder"), [("humaneval-infilling", "humaneval_infilling"), ("santacoder-fim", "santacoder_fim")]
)
def test_references_of_the_released_rows_pass(name: str, folder: str, test_data: Path) -> None:
    for language in ("python", "java", "javascript"):
        need_toolchain(language)
    assert set(run_references(name, test_data / folder, 20)) == {"passed"}


@pytest.mark.data
def test_verdicts_are_those_of_the_released_evaluator(test_data: Path) -> None:
    """Costs 10 s: 150 recorded verdicts of HumanEval-Infilling, under ``paper``."""
    from caretbench.execution.local_executor import LocalExecutor

    need_toolchain("python")
    suite = load_suite("humaneval-infilling")
    problems = {problem.id: problem for problem in suite.load(str(test_data / "humaneval_infilling")).problems}
    rows = [json.loads(line) for line in (test_data / "parity" / "human_eval_infilling.jsonl").read_text().splitlines()]
    requests = []
    for number, row in enumerate(rows):
        request = suite.request(problems[row["task_id"]], row["completion"], "paper", {})
        assert request is not None
        requests.append(request.model_copy(update={"id": str(number)}))
    results = {int(result.id): result for result in LocalExecutor(2, use_cache=False).submit(requests)}  # type: ignore[arg-type]
    different = [
        rows[number]["task_id"]
        for number, result in results.items()
        if (result.status == "passed") != rows[number]["passed"]
    ]
    assert different == []
