from dataclasses import replace

import polars as pl
import pytest

from caretbench.files import DataError
from caretbench.metrics.paired import NOT_DISTINGUISHABLE
from caretbench.problem import Problem, Score
from caretbench.reports.compare import compare_runs, comparison_sentences, comparison_tables
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.results.run_settings import IncomparableError
from caretbench.suites.suite_types import Stratification
from tests.support.report_runs import make_problem

PROBLEMS = [make_problem(language, "api_usage", number) for language in ("python", "java") for number in range(1, 21)]


def run_of(name: str, passes: list[list[bool]], model: str | None = None, problems=PROBLEMS, **manifest) -> LoadedRun:
    scores = [
        Score(
            problem_id=problem.id, model=model or name, sample=sample, scorer="execution@1",
            policy=manifest.get("policy", "raw"),
            profile="default", outcome="passed" if passed else "failed", values={"passed": float(passed)},
        )
        for problem, samples in zip(problems, passes, strict=False)
        for sample, passed in enumerate(samples)
    ]  # fmt: skip
    fields = {"data": {"hash": "d1"}, "policy": "raw", "profile": "default", "isolation": {"level": "namespaces"}}
    return LoadedRun(name, fields | manifest, problems, [], build_frame(problems, scores))


ALL = [[True]] * 40
NONE = [[False]] * 40
HALF = [[number % 2 == 0] for number in range(40)]


def test_a_clear_difference_is_told_with_its_interval() -> None:
    report = compare_runs([run_of("a", HALF), run_of("b", ALL)])
    (row,) = report.overall
    assert (row.first_rate, row.second_rate, row.difference) == (0.5, 1.0, -0.5)
    assert row.test == "exact McNemar"
    assert row.p_value == pytest.approx(2 * 0.5**20)
    assert row.low < -0.5 < row.high < 0
    assert row.verdict == "b is better"


def test_runs_without_verdicts_cannot_be_compared() -> None:
    with pytest.raises(DataError, match="no verdict"):
        compare_runs([run_of("a", []), run_of("b", [])])


def test_no_difference_is_not_distinguishable() -> None:
    almost = [list(samples) for samples in HALF]
    almost[1] = [True]
    (row,) = compare_runs([run_of("a", HALF), run_of("b", almost)]).overall
    assert row.verdict == NOT_DISTINGUISHABLE
    assert row.p_value == 1.0


def test_other_builds_of_a_language_are_refused_unless_aligned() -> None:
    runs = [run_of("a", HALF), run_of("b", ALL, variants={"cpp": "common_headers"})]
    with pytest.raises(IncomparableError, match=r"variants: .*cpp=common_headers"):
        compare_runs(runs)
    assert compare_runs(runs, align=["variants"]).aligned


def test_several_samples_are_tested_by_permutation() -> None:
    several = [[True, False], [False, False]] * 20
    (row,) = compare_runs([run_of("a", several), run_of("b", [[True, True]] * 40)]).overall
    assert row.test == "sign flips"
    assert row.difference == pytest.approx(-0.75)


def test_only_problems_with_verdicts_on_both_sides_count() -> None:
    (row,) = compare_runs([run_of("a", ALL[:30]), run_of("b", NONE[:10])]).overall
    assert row.problems == 10


def test_what_one_run_left_out_does_not_count() -> None:
    second = run_of("b", NONE, excluded={"no toolchain": [PROBLEMS[0].id]})
    (row,) = compare_runs([run_of("a", ALL), second]).overall
    assert row.problems == 39


def test_strata_are_adjusted_for_their_number() -> None:
    plan = Stratification(labels=("language", "category"), crossed=())
    report = compare_runs([run_of("a", HALF), run_of("b", ALL)], stratification=plan)
    assert [(row.scope, row.label) for row in report.strata] == [
        ("language", "java"), ("language", "python"),
    ]  # fmt: skip  # the one category holds all problems, and says nothing new
    python = next(row for row in report.strata if row.label == "python")
    assert 2 * 0.5**10 <= python.p_value < 0.02
    assert {row.family for row in report.strata} == {2}
    assert (report.overall[0].family, report.overall[0].p_value) == (1, pytest.approx(2 * 0.5**20))


def test_any_label_can_be_tested_and_crossed() -> None:
    marked = [
        problem.model_copy(
            update={"labels": {**problem.labels, "lines": float(place), "kinds": ["all", str(place % 2)]}}
        )
        for place, problem in enumerate(PROBLEMS)
    ]
    runs = [replace(run_of(name, marks), problems=marked) for name, marks in (("a", HALF), ("b", ALL))]
    plan = Stratification(labels=("lines", "kinds"), crossed=(("language", "kinds"),))
    report = compare_runs(runs, stratification=plan)
    assert {(row.scope, row.label) for row in report.strata} >= {
        ("kinds", "0"), ("kinds", "1"), ("language / kinds", "java / all"),
    }  # fmt: skip
    assert ("kinds", "all") not in {(row.scope, row.label) for row in report.strata}
    titles = [table.title for table in comparison_tables(report)]
    assert titles[1:] == ["By kinds", "By language and kinds"]  # parts by lines have fewer than 20 problems


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("data", {"data": {"hash": "d2"}}),
        ("policy", {"policy": "first_line"}),
        ("isolation", {"isolation": {"level": "none"}}),
    ],
)
def test_runs_that_differ_are_refused_by_name_unless_aligned(name: str, changed: dict) -> None:
    runs = [run_of("a", HALF), run_of("b", ALL, **changed)]
    with pytest.raises(IncomparableError, match=f"{name}: a has .*--align {name}"):
        compare_runs(runs)
    report = compare_runs(runs, align=[name])
    assert any(line.startswith(name) for line in report.aligned)
    assert any(f"Aligned, {name}" in note for note in report.notes)


def test_problems_with_the_hash_of_their_block_are_joined_by_it() -> None:
    before = [one.model_copy(update={"block_hash": "1"}) for one in PROBLEMS]
    other = make_problem("python", "api_usage", 99)  # another commit: the program around each block is another
    after = [one.model_copy(update={"splice": other.splice}) for one in before]
    after[:10] = [one.model_copy(update={"block_hash": "2"}) for one in after[:10]]
    runs = [run_of("a", HALF, problems=before), run_of("b", ALL, problems=after, data={"hash": "d2"})]
    (row,) = compare_runs(runs, align=["data"]).overall
    assert row.problems == 30


def test_runs_of_two_suites_are_refused_whatever_is_aligned() -> None:
    runs = [run_of("a", HALF, suite="devbench"), run_of("b", ALL, suite="efcb")]
    with pytest.raises(IncomparableError, match=r"devbench, .*efcb"):
        compare_runs(runs, align=("data", "policy"))


def test_tests_that_cannot_decide_are_not_counted() -> None:
    both = [{"cluster": "c", "overlap_group": f"{place // 20}"} for place in range(len(PROBLEMS))]
    few = [problem.model_copy(update=own) for problem, own in zip(PROBLEMS, both, strict=True)]
    report = compare_runs([run_of("a", HALF, problems=few), run_of("b", ALL, problems=few)])
    assert report.overall[0].verdict.startswith("cannot be decided")
    assert not any("P values are adjusted" in note for note in report.notes)


def test_other_data_is_aligned_on_the_problems_that_are_equal() -> None:
    changed = [problem.model_copy(update={"reference": "other"}) for problem in PROBLEMS[:5]] + PROBLEMS[5:]
    second = run_of("b", ALL, problems=changed, data={"hash": "d2"})
    report = compare_runs([run_of("a", HALF), second], align=["data"])
    assert report.overall[0].problems == 35
    assert any("35 problems" in line for line in report.aligned)


def test_one_model_in_two_runs_is_named_by_run() -> None:
    report = compare_runs([run_of("monday", HALF, model="m"), run_of("friday", ALL, model="m")])
    assert report.names == ("monday: m", "friday: m")


def test_one_model_alone_cannot_be_compared() -> None:
    with pytest.raises(DataError, match="found: a"):
        compare_runs([run_of("a", ALL), run_of("reference", ALL)])


def test_baselines_take_part_when_named() -> None:
    report = compare_runs([run_of("a", HALF), run_of("reference", ALL)], models=["a", "reference"])
    assert report.overall[0].verdict == "reference is better"


def test_every_pair() -> None:
    runs = [run_of("a", HALF), run_of("b", ALL), run_of("c", NONE)]
    assert len(compare_runs(runs).overall) == 2
    assert len(compare_runs(runs, every_pair=True).overall) == 3


def test_tables_say_what_may_be_said() -> None:
    report = compare_runs([run_of("a", HALF), run_of("b", HALF)])
    tables = comparison_tables(report)
    assert tables[0].rows[0][-1].text == NOT_DISTINGUISHABLE
    assert any("number of tests" in note for note in report.notes)
    assert tables[0].rows[0][tables[0].heads.index("p (tests)")].text == "1.000 (1)"


def asked(name: str, temperature: float, prompt: str, parameters: str, passes=HALF, model: str = "m") -> LoadedRun:
    run = run_of(name, passes, model)
    settings = {
        "sampling": {"temperature": temperature, "max_tokens": 800},
        "prompt": prompt,
        "client": {"model": model},
    }
    entry = {"model": model, "source": "model", "parameters": parameters, "settings": settings}
    frame = run.frame.with_columns(parameters=pl.lit(parameters))
    return LoadedRun(name, {**run.manifest, "models": [entry]}, run.problems, [], frame)


def test_one_model_asked_in_two_ways_is_compared_and_the_difference_said() -> None:
    runs = [asked("a", 0.2, "chat@1", "p1"), asked("b", 0.8, "fim/starcoder@1", "p2", ALL)]
    report = compare_runs(runs)
    assert report.overall[0].verdict == "b: m is better"
    assert report.notes[0] == (
        "a: m and b: m had different settings: sampling.temperature 0.2 and 0.8; prompt chat@1 and fim/starcoder@1."
    )


def test_models_asked_in_one_way_need_no_such_note() -> None:
    runs = [asked("a", 0.2, "chat@1", "p1"), asked("b", 0.2, "chat@1", "p1", ALL)]
    report = compare_runs(runs)
    assert report.overall[0].problems == 40
    assert not any("asked differently" in note for note in report.notes)


def test_that_two_models_are_two_is_no_difference_in_asking() -> None:
    runs = [asked("a", 0.2, "chat@1", "p1"), asked("b", 0.8, "chat@1", "p2", ALL, model="other")]
    assert compare_runs(runs).notes[0] == "m and other had different settings: sampling.temperature 0.2 and 0.8."


def in_groups(number: int) -> list[Problem]:
    """Problems of ``number`` sources, whose results are drawn together."""
    return [
        problem.model_copy(update={"cluster": f"source {place % number}", "overlap_group": f"group {place % number}"})
        for place, problem in enumerate(PROBLEMS)
    ]


@pytest.mark.parametrize(
    ("number", "verdict"), [(5, "cannot be decided with 5 independent groups"), (6, "b is better")]
)
def test_few_independent_groups_cannot_decide(number: int, verdict: str) -> None:
    problems = in_groups(number)
    (row,) = compare_runs([run_of("a", NONE, problems=problems), run_of("b", ALL, problems=problems)]).overall
    assert row.p_value == pytest.approx(2 * 0.5**number)
    assert row.verdict == verdict


def test_what_cannot_be_decided_is_no_part_of_the_correction() -> None:
    problems = [
        problem.model_copy(update={"labels": {**problem.labels, "size": "few" if place < 20 else "many"}})
        for place, problem in enumerate(in_groups(5)[:20] + PROBLEMS[20:])
    ]
    plan = Stratification(labels=("size",), crossed=())
    report = compare_runs(
        [run_of("a", HALF, problems=problems), run_of("b", ALL, problems=problems)], stratification=plan
    )
    few, many = report.strata
    assert "with 5 independent" in few.verdict
    assert many.p_value == pytest.approx(2 * 0.5**10)  # as if it were the only test


def test_the_parts_of_a_report_are_compared_apart() -> None:
    parted = [
        problem.model_copy(update={"labels": {**problem.labels, "tier": "hard" if place < 20 else "easy"}})
        for place, problem in enumerate(PROBLEMS)
    ]
    runs = [run_of("a", HALF, problems=parted), run_of("b", ALL, problems=parted)]
    report = compare_runs(runs, stratification=Stratification(labels=(), crossed=(), headline_labels=("tier",)))
    assert [(row.label, row.problems) for row in report.overall] == [("all parts", 40), ("easy", 20), ("hard", 20)]
    # What leads is asked alone; the parts are a family of their own.
    assert [row.family for row in report.overall] == [1, 2, 2]
    [sentence] = comparison_sentences(report)
    assert sentence.startswith("b passes 50.0 points more than a on 40 problems [")
    (table,) = comparison_tables(report)
    assert "Part" in table.heads
    assert "First minus second (points)" in table.heads
