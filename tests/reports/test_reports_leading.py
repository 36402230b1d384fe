"""Problems over which rates lead: those that need an answer; and the numbers over them in reports."""

from collections.abc import Mapping

import polars as pl
import pytest

from caretbench.people.strengths.report_sections import whole_summary
from caretbench.problem import Completion, Problem
from caretbench.reports.compare import compare_runs
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.head.head_texts import findings
from caretbench.reports.output.page_parts import page_head
from caretbench.reports.output.text_output import ranking_table, summary_tables, to_csv
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.problem_lists import leading_problems
from caretbench.reports.results.strengths import ModelStrengths
from caretbench.reports.run_summary import failures, summarise
from caretbench.reports.sections.suite_tables import with_all
from caretbench.reports.summary import Summary
from caretbench.suites.devbench.suite import DevBench
from caretbench.suites.suite_types import Table
from tests.reports.test_reports_summary import column, ids, verdicts
from tests.support.report_runs import make_problem

PROBLEMS = [make_problem("python", "api_usage", number) for number in range(1, 5)]


def led(
    gate: dict[str, str] | None = None, profile: str = "default", problems: list[Problem] = PROBLEMS, **baselines: str
):
    """Numbers of the problems that lead; a baseline passes those whose letter is p."""
    scores = [
        score
        for model, letters in {"m": "pppp", **baselines}.items()
        for score in verdicts(
            model.replace("_", "-"),
            ids(problems, *[["passed" if letter == "p" else "failed"] for letter in letters]),
            profile,
        )
    ]
    found = leading_problems(build_frame(problems, scores, gate), problems, profile)
    return found.rule, sorted(name.rpartition("/")[2] for name in found.problems)


def test_without_the_gate_problems_that_no_trivial_baseline_passes_lead() -> None:
    assert led(empty="pfff", stub="pffp") == ("net_of_baselines", ["2", "3"])
    assert led(copy_context="fpff") == ("net_of_baselines", ["1", "3", "4"])
    assert led(empty="ffff") == led() == ("all", ["1", "2", "3", "4"])


def test_neither_the_reference_nor_guesses_take_a_problem_away() -> None:
    assert led(reference="pppp", random="ppff", other_variant="pfff") == ("all", ["1", "2", "3", "4"])


def test_where_the_gate_has_a_verdict_it_decides() -> None:
    names = [problem.id for problem in PROBLEMS]
    gate = dict(zip(names, ("valid", "invalid", "unverified", "valid"), strict=True))
    assert led(gate, empty="ffff") == ("valid", ["1", "4"])
    # It decided two: the others are in by the baselines.
    part = {names[0]: "valid", names[1]: "invalid"}
    assert led(part, empty="ffpf") == ("valid", ["1", "4"])
    assert led({names[1]: "invalid"}, empty="ffpf") == ("net_of_baselines", ["1", "4"])


def test_an_empty_reference_is_an_answer() -> None:
    silent = [PROBLEMS[0].model_copy(update={"reference": "\n"}), *PROBLEMS[1:]]
    assert led(problems=silent, empty="ppff") == ("net_of_baselines", ["1", "3", "4"])


def test_the_paper_ranks_by_all() -> None:
    assert led(profile="paper", empty="pfff") == ("all", ["1", "2", "3", "4"])


def test_if_nothing_needs_an_answer_all_lead() -> None:
    assert led(empty="pppp") == ("all", ["1", "2", "3", "4"])
    only = PROBLEMS[:2]
    gate = {only[0].id: "valid", only[1].id: "invalid"}
    frame = build_frame(only, list(verdicts("m", ids(only, *[["passed"]] * 2))), gate)
    found = leading_problems(frame, only, "default", {only[0].id})
    assert found == (frozenset({only[1].id}), "all")


FORTY = [make_problem(language, "api_usage", number) for language in ("python", "java") for number in range(1, 21)]
LETTERS = {
    # The empty answer passes 16 of 40; `silent` leaves these empty, and is second on the others.
    "careful": "f" * 10 + "p" * 6 + "p" * 18 + "f" * 6,
    "silent": "p" * 16 + "p" * 12 + "f" * 12,
    "hasty": "f" * 16 + "p" * 8 + "f" * 16,
    "empty": "p" * 16 + "f" * 24,
    "reference": "p" * 40,
}
BASELINES = [{"model": name, "source": "baseline"} for name in ("reference", "empty")]


def floored(
    profile: str = "default", gate: dict[str, str] | None = None, models: tuple[str, ...] = (), **values: float
) -> LoadedRun:
    shown = {name: letters for name, letters in LETTERS.items() if not models or name in models}
    outcomes = {
        name: ids(FORTY, *[["passed" if letter == "p" else "failed"] for letter in letters])
        for name, letters in shown.items()
    }
    scores = [score for name, found in outcomes.items() for score in verdicts(name, found, profile, **values)]
    answers = [
        Completion(
            problem_id=problem.id, model=name,
            text="" if name == "empty" or (name == "silent" and place < 16) else problem.reference,
        )
        for name in shown
        for place, problem in enumerate(FORTY)
    ]  # fmt: skip
    manifest = {
        "suite": "devbench", "policy": "raw", "profile": profile, "models": BASELINES, "data": {"hash": "d"},
        "isolation": {"level": "namespaces"},
    }  # fmt: skip
    return LoadedRun(profile, manifest, FORTY, answers, build_frame(FORTY, scores, gate))


def ranked(summary: Summary):
    assert summary.head is not None
    [part] = summary.head.parts
    return part, {
        entry.title: (entry.estimate.problems, round(entry.estimate.value, 3), entry.beside and entry.beside.problems)
        for entry in part.ranking
    }


def test_the_problems_that_need_an_answer_rank_models_and_all_stand_beside() -> None:
    part, found = ranked(summarise(floored()))
    assert found == {
        "reference": (24, 1.0, 40),
        "careful": (24, 0.75, 40),
        "silent": (24, 0.5, 40),
        "hasty": (24, 0.333, 40),
        "empty": (24, 0.0, 40),
    }
    assert list(found)[:3] == ["reference", "careful", "silent"]
    assert [entry.beside.value for entry in part.ranking] == [1.0, 0.6, 0.7, 0.2, 0.4]
    # The tests of all pairs are over the same problems.
    assert {row.problems for row in part.pairs} == {24}


def test_the_paper_ranks_by_all_problems_and_the_others_stand_beside() -> None:
    part, found = ranked(summarise(floored("paper")))
    assert list(found)[:3] == ["reference", "silent", "careful"]
    assert found["silent"] == (40, 0.7, 24)
    assert {row.problems for row in part.pairs} == {40}


def test_valid_problems_lead_where_the_gate_has_run() -> None:
    gate = {problem.id: "valid" if place % 2 else "invalid" for place, problem in enumerate(FORTY)}
    summary = summarise(floored(gate=gate))
    _, found = ranked(summary)
    assert {problems for problems, _, _ in found.values()} == {20}
    [table] = [table for table in summary_tables(summary) if table.title.startswith("Pass rates")]
    assert table.heads[2:4] == ("pass@1, valid problems", "pass@1")


def test_a_row_says_the_share_of_empty_answers_and_the_baselines_that_are_better() -> None:
    part, _ = ranked(summarise(floored()))
    said = {entry.title: (entry.empty, entry.below) for entry in part.ranking}
    assert said["silent"] == (0.4, ())
    assert said["hasty"] == (0.0, ("empty",))
    assert said["empty"] == (None, ())
    table = ranking_table(part)
    places = [table.heads.index(head) for head in ("All problems", "Empty", "Below")]
    rows = {row[0].text: [row[place].text for place in places] for row in table.rows}
    assert rows["silent"][:2] == ["70.0%", "40.0%"]
    assert rows["hasty"] == ["20.0%", "0.0%", "empty"]
    [page] = page_head(summarise(floored())).parts
    assert {line.title: line.more for line in page.lines}["hasty"] == "all problems 20.0%, below empty"


def test_baselines_are_compared_on_all_problems_since_they_chose_the_others() -> None:
    part, found = ranked(summarise(floored(models=("hasty", "empty"))))
    assert found["hasty"][1] > found["empty"][1]
    assert part.baseline is not None
    assert part.baseline.difference == pytest.approx(-0.2)
    assert findings(part)[0].startswith(
        "The baseline empty and hasty cannot be told apart on 40 problems: +20.0 points"
    )


def test_compare_is_over_the_same_problems_and_says_so() -> None:
    runs = [floored(models=("careful", "empty")), floored(models=("silent", "empty"))]
    report = compare_runs(runs)
    assert [row.problems for row in report.overall] == [24]
    assert any(note.startswith("Over the problems that need an answer. Net of baselines") for note in report.notes)
    paper = compare_runs([floored("paper", models=("careful", "empty")), floored("paper", models=("silent", "empty"))])
    assert [row.problems for row in paper.overall] == [40]
    assert not any("need an answer" in note for note in paper.notes)


def test_parts_and_error_kinds_are_over_the_same_problems() -> None:
    summary = summarise(floored())
    own = column(summary, "silent")
    cells = {cell.name: cell for cell in own.strata["language"]}
    assert {name: own.headline_of(cell).problems for name, cell in cells.items()} == {"python": 4, "java": 20}
    assert cells["python"].pass_at[1].problems == 20
    [errors] = [entry for entry in summary.errors if entry.model == "silent"]
    assert sum(part.total for part in errors.parts) == 24
    [errors] = [entry for entry in summarise(floored("paper")).errors if entry.model == "silent"]
    assert sum(part.total for part in errors.parts) == 40


def test_strengths_are_over_the_same_problems() -> None:
    found = whole_summary(floored(cosine=0.5), strengths="silent").strengths
    assert isinstance(found, ModelStrengths)
    assert {test.row.problems for test in found.tests} == {24, 20}
    assert {test.measure for test in found.overall} == {"passes", "similarity"}
    assert [(one.rate.problems, one.empty) for one in found.languages] == [(20, 0.0)]
    paper = whole_summary(floored("paper"), strengths="silent").strengths
    assert isinstance(paper, ModelStrengths)
    assert [(one.rate.problems, one.empty) for one in paper.languages] == [(20, 0.0), (20, 0.8)]


def test_csv_has_both_rates_and_fail_under_asks_for_the_one_that_leads() -> None:
    summary = summarise(floored())
    rows = pl.read_csv(to_csv(summary).encode()).filter(pl.col("model") == "silent", pl.col("scope") == "all")
    values = dict(rows.select("metric", "value").iter_rows())
    assert (values["pass@1"], values["pass@1, net of baselines"]) == (0.7, 0.5)
    low = [line for line in failures(summary, 0.6) if " is below 0.6" in line]
    assert [line.partition(":")[0] for line in low] == ["silent", "hasty"]


@pytest.mark.parametrize("profile", ["default", "paper"])
def test_rates_over_all_problems_are_the_same_under_both_profiles(profile: str) -> None:
    found = column(summarise(floored(profile)), "silent", profile).overall
    assert found.pass_at[1].value == 0.7
    assert found.needed[1].value == 0.5


class Tabled(DevBench):
    """Suite with a table of its own: passes and problems by model."""

    def result_tables(self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
        del seed
        models = results.group_by("model", maintain_order=True).agg(pl.col("passed").mean(), pl.len())
        rows = tuple((model, f"{rate:.2f}\n{count} rows") for model, rate, count in models.iter_rows())
        languages = sorted({problem.caret.language for problem in problems.values()})
        by_language = Table("languages", "Languages", tuple(languages), (tuple(languages),))
        return (Table("own", "Own", ("Model", "Passed"), rows), by_language)


def test_the_suites_own_tables_are_over_the_same_problems_with_all_beside() -> None:
    shown = [one for table in ReportSource(floored(), suite=Tabled()).suite_tables for one in with_all(table)]
    assert [dict(table.rows) for table in shown[:1]] == [
        {
            # The best on the problems that need an answer is first: `silent` has more passes on all of them.
            "careful": "0.75\n24 rows; all: 0.60", "silent": "0.50\n24 rows; all: 0.70",
            "hasty": "0.33\n24 rows; all: 0.20", "reference": "1.00\n24 rows; all: 1.00",
            "empty": "0.00\n24 rows; all: 0.40",
        }
    ]  # fmt: skip
    assert [row[0] for row in shown[0].rows] == ["careful", "silent", "hasty", "reference", "empty"]
    assert "Net of baselines" in shown[0].notes[0]
    paper = ReportSource(floored("paper"), suite=Tabled()).suite_tables
    assert dict(paper[0].rows)["silent"] == "0.70\n40 rows"
    assert (paper[0].notes, paper[0].raw) == ((), None)


def test_a_suites_table_whose_form_differs_is_shown_twice() -> None:
    gate = {problem.id: "invalid" if "java" in problem.id else "valid" for problem in FORTY}
    _, *shown = [
        one for table in ReportSource(floored(gate=gate), suite=Tabled()).suite_tables for one in with_all(table)
    ]
    assert [(table.title, table.columns) for table in shown] == [
        ("Languages", ("python",)),
        ("Languages, all problems", ("java", "python")),
    ]
