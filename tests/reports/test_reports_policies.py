"""The same answers under several policies, the intervals that papers print, and numbers cut both ways."""

import csv
import io

import pytest

from caretbench.metrics.intervals import Interval, plus_minus
from caretbench.problem import Completion, Score
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.page import render_html
from caretbench.reports.output.text_output import to_csv, to_markdown
from caretbench.reports.results.paper_intervals import paper_interval_estimates, paper_table_layouts
from caretbench.reports.results.run_settings import variant_titles
from caretbench.reports.run_summary import breakdown_labels, summarise_run
from caretbench.reports.sections import section_charts
from caretbench.reports.sections.paper_layouts import paper_intervals_table, paper_tables
from caretbench.reports.sections.policies import policies_table
from caretbench.reports.sections.section_charts import heat_map
from caretbench.reports.strata import strata_of
from caretbench.suites.simcopilot.suite import SimCopilot
from caretbench.suites.suite_types import PaperTable
from tests.support.report_runs import make_problem, make_run

PASSES = {
    "block@1": "yyyn", "raw@2": "nnnn", "simcopilot/clean@2": "ynnn", "simcopilot/trim@2": "nynn",
    "simcopilot/repair@2": "yynn",
}  # fmt: skip
OWN, *FURTHER = PASSES
PROBLEMS = [
    make_problem(
        "python", "c", number, cluster=f"p{number}",
        labels={
            "language": "python", "mode": "infill" if number % 2 else "suffix_hidden", "block": "loop_body",
            "constructs": ["loop_body", "function"], "reference_distance": 20.0 * number,
        },
    )
    for number in range(4)
]  # fmt: skip


def run() -> LoadedRun:
    rows = [
        Score.model_validate(
            {
                "problem_id": problem.id, "model": "m", "scorer": scorer, "policy": policy, "profile": "default",
                "outcome": "passed" if mark == "y" else "failed", "values": values, "details": details,
            }
        )
        for policy, marks in PASSES.items()
        for problem, mark in zip(PROBLEMS, marks, strict=True)
        for scorer, values, details in (
            ("execution@1", {"passed": float(mark == "y")}, {"stderr": "NameError: name 'x' is not defined"}),
            ("syntax@1", {"parses": float(mark == "y")}, {"fault": "" if mark == "y" else "truncated"}),
        )
    ]  # fmt: skip
    completions = [Completion(problem_id=problem.id, model="m", text="x") for problem in PROBLEMS]
    manifest = {"suite": "simcopilot", "policy": OWN, "further_policies": FURTHER, "profile": "default"}
    return LoadedRun("r", manifest, PROBLEMS, completions, build_frame(PROBLEMS, rows))


def test_policies_stand_side_by_side_the_runs_own_first() -> None:
    summary = summarise_run(run())
    assert [column.policy for column in summary.columns] == list(PASSES)
    table = policies_table(summary, "default")
    assert table is not None
    assert table.heads == ("Model", "Part", "Problems", *PASSES)
    assert [field.text for field in table.rows[0]][1:] == ["all", "4", "75.0%", "0.0%", "25.0%", "25.0%", "50.0%"]
    assert {row[1].text for row in table.rows[1:]} == {"Python / infill", "Python / suffix hidden"}
    # What is only beside the run's own policy is broken down by nothing else.
    assert "constructs" in summary.columns[0].strata
    assert set(summary.columns[1].strata) == {"language", "mode", "language / mode"}
    assert [entry.best.value for entry in summary.best_of] == [0.5]
    text = to_markdown(summary)
    assert text.count("## Pass rates") == 1
    assert "under 5 policies" in text


def test_the_page_holds_the_policies_and_a_figure_for_each_language(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run()
    summary = summarise_run(found, [("mode", "block")])
    assert "Python: pass@1 by mode and constructs" not in render_html(summary, found, samples=0)  # too few problems
    monkeypatch.setattr(section_charts, "MIN_TESTED", 1)
    page = render_html(summary, found, samples=0)
    assert 'id="policies"' in page
    assert "Python: pass@1 by mode and constructs" in page
    assert "m: pass@1 by mode and block" in page  # the heat map that was asked for
    assert "± of the paper" in page
    heat = heat_map(summary.columns[0], "language / mode / constructs")
    assert heat is not None
    assert heat["layer"][0]["encoding"]["y"]["scale"]["domain"] == ["Python / infill", "Python / suffix hidden"]
    assert 'id="policies"' not in render_html(summarise_run(make_run(per_cell=1, samples=1)), found, samples=0)


def test_the_papers_interval_and_wilsons_stand_beside_ours() -> None:
    summary = summarise_run(run())
    table = paper_intervals_table(summary.columns[:1], summary.main)
    assert table is not None
    assert [field.text.split(" ")[0] for field in table.rows[0][4:]] == ["75.0"] * 3
    assert table.rows[0][5].note == "30.1 to 95.4"
    methods = {row["metric"] for row in csv.DictReader(io.StringIO(to_csv(summary)))}
    assert {"pass@1 (parametric)", "pass@1 (wilson)"} <= methods


def test_300_of_382_prints_the_same_by_three_methods() -> None:
    rate = ReportedNumber(value=300 / 382, problems=382, method="wilson")
    printed = paper_interval_estimates(rate, 0, all_three=True)
    texts = {
        name: plus_minus(entry.value, Interval(entry.low or 0.0, entry.high or 0.0, "wilson"))
        for name, entry in printed.items()
    }
    assert texts == dict.fromkeys(("parametric", "wilson", "percentile"), "78.5 ± 4.1")


def test_the_papers_tables_stand_in_their_form() -> None:
    summary = summarise_run(run())
    found = {table.title: table for table in paper_tables(summary.columns[:1], summary.paper_tables)}
    overall, reference, construct = (
        next(table for title, table in found.items() if f"{name}, in form" in title)
        for name in ("Table 2", "Table 3", "Tables 5 to 7")
    )
    assert overall.heads == ("Model", "Python / infill", "Python / suffix hidden")
    assert overall.rows[0][0].text == "m"
    assert overall.rows[0][1].text.startswith("50.0 ± ")
    assert overall.rows[0][2].text == "100.0 ± 0.0"
    assert overall.rows[0][1].note == "n = 2"
    assert reference.heads[1:] == ("m",)
    assert "10" in reference.caption  # where the paper cuts
    assert construct.heads[:2] == ("Constructs", "Model")
    assert [row[0].text for row in construct.rows] == ["function", "loop body"]


def test_under_the_papers_profile_distances_are_cut_at_its_bounds_already() -> None:
    tables_ = (PaperTable("t", ("language", "reference_distance@paper")), PaperTable("u", ("colour",)))
    assert [form.stratum for form in paper_table_layouts(tables_, {"language / reference_distance"})] == [
        "language / reference_distance"
    ]


def test_distances_are_cut_at_terciles_and_at_the_papers_bounds() -> None:
    found = {stratum.name: stratum for stratum in strata_of(PROBLEMS, "default", SimCopilot.stratification)}
    by_paper = found["reference_distance (paper's bounds)"]
    assert [len(part.problems) for part in by_paper.parts] == [1, 1, 2]
    assert "terciles" in found["reference_distance"].note
    assert "the paper's" in by_paper.note
    only = [stratum.name for stratum in strata_of(PROBLEMS, "paper", SimCopilot.stratification)]
    assert not any("paper's bounds" in name for name in only)


def test_what_the_parser_found_decides_the_kind_of_an_error() -> None:
    [own, *_] = summarise_run(run()).errors
    counts = {name: count for part in own.parts for name, count in part.counts.items()}
    assert counts["incomplete"] == 1
    assert "unresolved_name" not in counts
    assert "parses" not in " ".join(summarise_run(run()).columns[0].similarity_titles)


def test_labels_of_the_problems_can_be_asked_for_and_no_others() -> None:
    assert breakdown_labels(["mode, block", "language"], PROBLEMS) == [("mode", "block"), ("language",)]
    with pytest.raises(ValueError, match=": block, constructs"):
        breakdown_labels(["colour"], PROBLEMS)


def test_models_that_were_asked_in_several_contexts_are_called_by_them() -> None:
    models = [
        {"model": "m", "source": "model", "parameters": name, "settings": settings}
        for name, settings in (("p0", {}), ("p1", {"context": "retrieval@2"}))
    ]
    asked = [("m", "p0"), ("m", "p1"), ("reference", "")]
    titles = {("m", "p0"): "m (as_is)", ("m", "p1"): "m (retrieval@2)", ("reference", ""): "reference"}
    assert variant_titles({"models": models}, asked) == titles
    # Two that differ in something else keep the titles by their hashes.
    twice = [*models, {"model": "m", "source": "model", "parameters": "p2", "settings": {}}]
    assert variant_titles({"models": twice}, [*asked, ("m", "p2")])["m", "p2"] == "m (p2)"
