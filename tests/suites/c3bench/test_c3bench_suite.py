"""The suite C3-Bench: its starter set, scores, baselines and profiles."""

from __future__ import annotations

import textwrap
from collections import Counter
from functools import cache

import pytest

from benchmarks.chat_noise import Case, noises
from caretbench.build import load_builder
from caretbench.problem import PredicateCheck, Problem
from caretbench.runs.verdict import has_verdicts
from caretbench.suites import load_suite
from caretbench.suites.baselines import baseline_completions
from caretbench.suites.c3bench.build.builder import repeated_sources
from caretbench.suites.c3bench.build.scale_middles import wrong_answers
from caretbench.suites.c3bench.scale import ScaleSpecification, verify
from caretbench.suites.c3bench.suite import starter_folder

SUITE = load_suite("c3bench")


@cache
def starter() -> tuple[Problem, ...]:
    return SUITE.load("starter").problems


def of_task(name: str) -> list[Problem]:
    return [problem for problem in starter() if problem.label("task") == name]


def values(problem: Problem, text: str | None, profile: str = "default") -> dict[str, float]:
    return {name: value for one in SUITE.measure(problem, text, profile) for name, value in one.values.items()}


def test_the_starter_set_has_both_tasks_in_little_more_than_a_megabyte() -> None:
    assert (starter_folder() / "problems.jsonl").stat().st_size <= 1_100_000
    assert len(of_task("icc")) >= 60
    assert {one.label("category") for one in of_task("icc")} == {
        "structural", "algorithmic", "control_flow", "parameter",
    }  # fmt: skip
    assert {one.label("category") for one in of_task("scc")} == {"span", "multi_line", "block"}
    assert {one.label("language") for one in of_task("scc")} == {"python", "javascript", "typescript", "java"}
    assert not repeated_sources(starter())


def test_no_score_without_a_run_counts_as_passing() -> None:
    for problem in (of_task("icc")[0], of_task("scc")[0]):
        found = values(problem, problem.reference)
        assert "passed" not in found
        assert found["followed"] == found["exact_match"] == 1.0
        assert all(not check.counts for check in problem.checks if isinstance(check, PredicateCheck))
    assert has_verdicts(of_task("icc")[0])
    assert has_verdicts(of_task("scc")[0])


def test_instructions_about_algorithms_in_five_languages_have_predicates() -> None:
    icc = of_task("icc")
    assert len(icc) >= 120
    assert len(of_task("scc")) >= 120
    assert sum(one.label("category") == "algorithmic" for one in icc) >= 0.3 * len(icc)
    assert {one.label("language") for one in icc} == {"python", "javascript", "typescript", "java", "go"}
    assert all(any(check.kind == "predicate" for check in one.checks) for one in icc)
    assert sum(one.labels.get("instruction_by") == "people" for one in icc) >= 120


def test_references_follow_and_empty_answers_do_not() -> None:
    for problem in starter():
        assert values(problem, problem.reference)["followed"] == 1.0, problem.id
        assert values(problem, None)["followed"] == 0.0, problem.id


def test_the_right_answer_to_another_instruction_does_not_follow_this_one() -> None:
    rows = list(baseline_completions("other-variant", of_task("icc"), SUITE.baselines))
    assert len(rows) >= 0.7 * len(of_task("icc"))
    by_id = {problem.id: problem for problem in starter()}
    followed = [values(by_id[row.problem_id], row.text)["followed"] for row in rows]
    assert sum(followed) <= 0.02 * len(followed)
    assert not list(baseline_completions("other-variant", of_task("scc"), SUITE.baselines))


def test_hidden_tests_run_behind_answers_to_both_tasks() -> None:
    for problem in of_task("scc"):
        request = SUITE.make_request(problem, problem.reference, "default")
        assert request is not None
        assert request.source.startswith(problem.caret.prefix + problem.reference + problem.caret.suffix)
        assert len(request.source) > len(problem.caret.prefix + problem.reference + problem.caret.suffix)
        bare = problem.model_copy(update={"checks": problem.checks[1:]})
        assert SUITE.make_request(bare, bare.reference, "default") is None
        assert not has_verdicts(bare)
    for problem in of_task("icc"):
        request = SUITE.make_request(problem, problem.reference, "default")
        assert request is not None
        assert len(request.source) > len(problem.caret.prefix + problem.reference + problem.caret.suffix)
        assert "candidate(" not in problem.caret.suffix
        assert SUITE.make_request(problem, None, "default") is None


def test_the_profile_paper_checks_kind_and_number_alone() -> None:
    block = next(one for one in of_task("scc") if one.label("category") == "block"
                 and "header_in_prefix" not in str(one.checks))  # fmt: skip
    too_much = block.reference + block.reference
    assert values(block, too_much)["followed"] == 0.0
    assert values(block, too_much, "paper")["followed"] == 1.0
    assert "followed_lenient" not in values(block, too_much, "paper")


def test_a_fence_is_forgiven_at_the_level_lenient_alone() -> None:
    lines = next(one for one in of_task("scc") if one.label("category") == "multi_line")
    found = values(lines, f"```\n{lines.reference}```")
    assert (found["followed"], found["followed_lenient"]) == (0.0, 1.0)


def test_indentation_is_forgiven_at_the_level_lenient_in_both_tasks() -> None:
    forgiven = Counter[str]()
    for problem in (*of_task("icc")[::8], *of_task("scc")):
        caret = problem.caret
        case = Case(problem.id, caret.language, caret.prefix, problem.reference, caret.suffix, hidden=False)
        if problem.label("category") == "span":
            continue
        for kind, text in noises(case).items():
            if kind.split(",")[0] not in {"dedented", "over-indented by 4", "first line indented", "tabs"}:
                continue
            found = values(problem, text)
            assert found["followed_lenient"] == 1.0, (problem.id, kind)
            # Bodies, whose header is in the prefix, have no column: none was forgiven. ICC had no such level.
            forgiven[f"{problem.label('task')} {problem.label('category')}"] += found["followed"] == 0.0
            assert "followed_lenient" not in values(problem, text, "paper")
    assert forgiven["scc block"] >= 20
    assert forgiven["scc multi_line"] >= 20
    assert sum(forgiven.values()) >= 100


def test_an_answer_of_another_kind_is_no_body_because_it_was_indented() -> None:
    # A body of two lines: `while False: pass`, which is indented as its header, has as many lines where it is moved.
    header = "def f(rows):\n    for row in rows:\n"
    body = "        print(row)\n        rows.pop()\n"
    specification = ScaleSpecification(kind="block", node="for", header_in_prefix=True, n=2, unit="code_line")
    wrong = wrong_answers(header, body, "    return rows\n", specification)
    lenient = specification.model_copy(update={"level": "lenient"})
    assert verify(header, body, "    return rows\n", lenient).ok
    assert verify(header, textwrap.dedent(body), "    return rows\n", lenient).ok
    assert not verify(header, textwrap.dedent(body), "    return rows\n", specification).ok
    assert [name for name, text in wrong.items() if verify(header, text, "    return rows\n", lenient).ok] == []
    # Blocks and lines keep their kind and number at every indentation.
    block = ScaleSpecification(kind="block", node="for", level="lenient")
    assert not verify("def f(rows):\n", "while rows:\n    rows.pop()\n", "    return rows\n", block).ok
    assert not verify("def f(rows):\n", "for row in rows:\n    g(row)\nh()\n", "    return rows\n", block).ok


def test_commentary_of_a_raw_answer_is_counted_apart_from_code() -> None:
    problem = of_task("icc")[0]
    [measured] = SUITE.measure_raw(problem, f"Here is the code:\n```python\n{problem.reference}```\nIt is short.")
    [alone] = SUITE.measure_raw(problem, problem.reference)
    assert measured.values["code_tokens"] == alone.values["code_tokens"] > 0
    assert measured.values["commentary_tokens"] >= 8
    assert alone.values["commentary_tokens"] == 0


def test_the_release_is_none_and_says_so() -> None:
    with pytest.raises(ValueError, match="ever released"):
        SUITE.load("released")


def test_tables_about_the_data_name_the_tokenizer() -> None:
    tokens, kinds = load_builder("c3bench").data_tables("starter")
    assert [row[:2] for row in tokens.rows][:4] == [
        ("ICC", "Instruction"), ("ICC", "Prefix"), ("ICC", "Middle"), ("ICC", "Suffix"),
    ]  # fmt: skip
    assert r"\w+|[^\w\s]" in tokens.title
    assert sum(int(row[-1]) for row in kinds.rows) == len(starter())
