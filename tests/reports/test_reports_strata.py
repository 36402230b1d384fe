"""Strata of any suite: several values at once, numbers cut here, crossed labels."""

import csv
import io

import pytest

from caretbench.problem import Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.page import render_html
from caretbench.reports.output.text_output import to_csv, to_markdown
from caretbench.reports.run_summary import summarise
from caretbench.reports.sections import section_charts
from caretbench.reports.sections.rates import stratum_table
from caretbench.reports.sections.section_charts import rates_by_label
from caretbench.reports.strata import strata_of
from caretbench.reports.summary import Summary
from caretbench.runs.verdict import has_verdicts
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION, Stratification
from tests.support.questions import question_problems
from tests.support.report_runs import make_problem

PLAN = Stratification(
    labels=("language", "constructs", "distance"),
    crossed=(("language", "constructs"), ("constructs", "distance")),
    paper_bounds={"distance": {"python": (10.0, 30.0), "*": (5.0,)}},
)


def problems():
    found = []
    for number in range(1, 10):
        labels = {
            "language": "python",
            "constructs": ["loop_body"] if number % 2 else ["if_body", "loop_body"],
            "distance": float(number * number),
        }
        found.append(make_problem("python", "c", number, labels=labels, cluster="one"))
    for number in range(1, 4):
        labels = {"language": "java", "constructs": [], "distance": float(number * 4)}
        found.append(make_problem("java", "c", number, labels=labels, cluster="two"))
    return found


def sizes(stratum) -> dict[str, int]:
    return {" / ".join(part.labels.values()): len(part.problems) for part in stratum.parts}


def test_what_is_only_judged_has_no_verdict() -> None:
    found = {problem.label("task"): has_verdicts(problem) for problem in question_problems()}
    assert found == {"gmcq-easy": True, "mpr-gen": False, "reverse-qa": False, "reverse-qa-hallu": False}


def by_name(profile: str):
    return {stratum.name: stratum for stratum in strata_of(problems(), profile, PLAN)}


def test_numbers_are_cut_at_terciles_within_each_language() -> None:
    found = by_name("default")["distance"]
    assert sizes(found) == {"short": 4, "medium": 4, "long": 4}
    assert [part.order for part in found.parts] == [(0,), (1,), (2,)]
    assert found.note == (
        "Distance (terciles of these problems): Java up to 4, above 4 up to 8, above 8; "
        "Python up to 9, above 9 up to 36, above 36."
    )


def test_the_paper_cuts_at_its_own_bounds() -> None:
    found = by_name("paper")["distance"]
    assert sizes(found) == {"short": 3 + 1, "medium": 2, "long": 4 + 2}
    assert "the paper's" in found.note
    assert "Java up to 5, above 5" in found.note


def test_a_problem_counts_in_every_part_whose_value_it_has() -> None:
    found = by_name("default")
    assert sizes(found["constructs"]) == {"loop_body": 9, "if_body": 4}
    assert found["constructs"].note == "A problem may count in several parts of constructs."
    assert sizes(found["language / constructs"]) == {"python / loop_body": 9, "python / if_body": 4}
    assert sizes(found["constructs / distance"])["if_body / long"] == 1


def test_labels_that_no_problem_has_make_no_stratum() -> None:
    assert [stratum.name for stratum in strata_of(problems(), "default", DEFAULT_STRATIFICATION)] == ["language"]


def summary(profile: str = "default") -> Summary:
    rows = [
        Score.model_validate(
            {
                "problem_id": problem.id, "model": "m", "scorer": "execution@1", "policy": "raw", "profile": profile,
                "outcome": "passed" if number % 3 else "failed", "values": {"passed": float(bool(number % 3))},
            }
        )
        for number, problem in enumerate(problems())
    ]  # fmt: skip
    frame = build_frame(problems(), rows)
    return summarise(LoadedRun("r", {"suite": "simcopilot"}, problems(), [], frame), stratification=PLAN)


def test_every_form_shows_the_strata_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    found = summary()
    [column] = found.columns
    assert list(column.strata) == [
        "language", "constructs", "distance", "language / constructs", "constructs / distance",
    ]  # fmt: skip
    table = stratum_table(found.columns, "distance")
    assert [row[0].text for row in table.rows] == ["short", "medium", "long"]
    assert "terciles" in table.caption
    assert "several parts" in stratum_table(found.columns, "constructs").caption
    assert "## pass@1 by distance" in to_markdown(found)
    rows = list(csv.DictReader(io.StringIO(to_csv(found))))
    crossed = next(row for row in rows if row["scope"] == "constructs / distance")
    assert crossed["labels"] == "constructs=if_body; distance=short"
    assert next(row for row in rows if row["scope"] == "language / constructs")["language"] == "python"
    assert rates_by_label(found.columns, "distance") is None  # no part has 20 problems
    monkeypatch.setattr(section_charts, "MIN_TESTED", 1)
    spec = rates_by_label(found.columns, "distance")
    assert spec is not None
    assert [one["mark"]["type"] for one in spec["layer"]] == ["rule", "point"]
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == ["short", "medium", "long"]
    assert Summary.model_validate_json(found.model_dump_json()) == found


def test_few_clusters_are_resampled_by_overlap_group_with_a_warning() -> None:
    estimate = summary().columns[0].overall.pass_at[1]
    assert estimate.warning is not None
    assert "only 2 clusters" in estimate.warning
    assert any("`caretbench compare`" in note for note in summary().notes)


def test_the_page_has_a_chart_for_every_label() -> None:
    from tests.support.report_runs import make_run

    page = render_html(summary(), make_run(per_cell=1, samples=1), samples=0)
    assert "pass@1 by constructs" in page
    assert "Constructs / distance" in page


@pytest.mark.parametrize("profile", ["paper", "default"])
def test_equal_numbers_are_one_part(profile: str) -> None:
    same = [make_problem("go", "c", number, labels={"distance": 3.0}) for number in range(3)]
    [stratum] = strata_of(same, profile, Stratification(labels=("distance",), crossed=()))
    assert sizes(stratum) == {"all": 3}
