"""Judge scores: numbers worked out by hand, and their positions in reports."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from caretbench.extraction.policies import get_policy
from caretbench.files import sha256_text
from caretbench.judging.answers import answer_key, inserted_texts
from caretbench.judging.controls import caret_controls
from caretbench.problem import Judgement
from caretbench.reports.frame import LoadedRun
from caretbench.reports.judged.judged_scores import control_failures, judged_scores, refused_criteria
from caretbench.reports.judged.judged_texts import JudgedRun, judged_values
from caretbench.reports.judged.score_tables import judged_tables
from caretbench.reports.judged.scores import NOT_VALIDATED, JudgedScores
from caretbench.reports.output.page import render_html
from caretbench.reports.output.text_output import plain_lines, summary_tables, to_csv, to_json, to_markdown
from caretbench.reports.run_summary import summarise
from caretbench.reports.sections.published import compare_judge_scores
from caretbench.reports.sections.section_charts import overall_scores, score_map
from caretbench.reports.summary import Summary
from caretbench.runs.judging.ratings import HumanRating
from tests.support.published_papers import small_paper
from tests.support.report_runs import LANGUAGES, make_run, to_svg

CRITERION = "devbench-quality@1"
Opinion = Callable[[str, str], tuple[float, float]]


def length_counts(_problem: str, text: str) -> tuple[float, float]:
    """A judge that likes some lengths better than others, and nothing not at all."""
    return (0.0, 0.0) if not text else (2.0 + len(text) % 4, 1.0 + len(text) % 3)


def judged_run(
    opinions: dict[str, Opinion], per_cell: int = 2, samples: int = 2, baselines: Sequence[str] = ()
) -> LoadedRun:
    run = make_run(per_cell=per_cell, samples=samples)
    manifest = dict(run.manifest) | {
        "policy": "raw@2",
        "judges": [
            {"model": name, "parameters": "p", "source": "model",
             "settings": {"form": "scores", "scores": {"relevance": 5.0, "helpfulness": 5.0}}}
            for name in opinions
        ],
    }  # fmt: skip
    problems = {problem.id: problem for problem in run.problems}
    judged = [row for row in run.completions if row.model in {"gpt-4o", "Ministral-3B", *baselines}]
    texts = {
        (row.completion.problem_id, row.answer): row.text
        for row in inserted_texts(judged, problems, get_policy("raw"), "default")
    }
    for problem, named in caret_controls(run.problems).items():
        texts |= {(problem, answer_key(text)): text for text in named.values()}
    rows = [
        Judgement(
            problem_id=problem, answer=answer, judge=judge, parameters="p", criterion=CRITERION,
            values=dict(zip(("relevance", "helpfulness"), opinion(problem, text), strict=True)),
        )
        for judge, opinion in opinions.items()
        for (problem, answer), text in texts.items()
    ]  # fmt: skip
    return replace(run, manifest=manifest, judgements=rows)


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    return judged_run({"a/judge": length_counts})


@pytest.fixture(scope="module")
def summary(run: LoadedRun) -> Summary:
    return summarise(run)


def section(run: LoadedRun) -> JudgedScores:
    [found] = judged_scores(JudgedRun.of_run(run))
    return found


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def test_every_number_is_a_mean_over_instances(run: LoadedRun, summary: Summary) -> None:
    [judged] = summary.judged
    assert {column.title for column in judged.columns[:2]} == {"gpt-4o", "Ministral-3B"}
    # Their texts are the controls'; of the other baselines only some texts happen to be judged.
    assert [column.title for column in judged.columns[2:]] == ["reference", "empty"]
    column = next(column for column in judged.columns if column.model == "gpt-4o")
    by_problem: dict[str, list[float]] = {}
    for row in run.completions:
        if row.model == "gpt-4o":
            by_problem.setdefault(row.problem_id, []).append(sum(length_counts("", row.text or "")))
    instances = {problem: mean(values) for problem, values in by_problem.items()}
    total = column.value
    assert total is not None
    assert total.value == pytest.approx(mean(list(instances.values())))
    assert total.problems == len(instances) == 72
    assert total.low is not None
    assert total.high is not None
    assert total.low < total.value < total.high
    parts = [column.parts[name].value for name in ("relevance", "helpfulness")]
    assert sum(parts) == pytest.approx(total.value)
    for cell in column.strata["language"]:
        wanted = [value for name, value in instances.items() if f"/{cell.labels['language']}/" in name]
        assert cell.value.value == pytest.approx(mean(wanted))
    assert len(column.strata["language / category"]) == 36
    assert column.answers == column.rated == 144


def test_the_same_seed_gives_the_same_numbers(run: LoadedRun, summary: Summary) -> None:
    assert judged_scores(JudgedRun.of_run(run)) == summary.judged
    assert Summary.model_validate_json(to_json(summary)) == summary


def test_values_for_suites_are_totals_with_the_refusal_of_the_judge(run: LoadedRun) -> None:
    texts = JudgedRun.of_run(run)
    values = judged_values(texts, refused_criteria(judged_scores(texts))).filter(pl.col("model") == "gpt-4o")
    totals = {
        (row.problem_id, row.sample): sum(length_counts("", row.text or ""))
        for row in run.completions
        if row.model == "gpt-4o"
    }
    found = {(row["problem_id"], row["sample"]): row["judged"] for row in values.iter_rows(named=True)}
    assert found == pytest.approx(totals)
    assert (values["withheld"].null_count(), values.height) == (0, 144)  # a judge of lengths fails its controls
    assert not values["says_nothing"].any()


def test_a_text_without_judgement_lowers_the_share_not_the_mean(run: LoadedRun) -> None:
    column = section(run).columns[0]
    gone = next(row for row in run.completions if row.model == column.model)
    answer = answer_key(gone.text or "")
    rows = [row for row in run.judgements if (row.problem_id, row.answer) != (gone.problem_id, answer)]
    fewer = section(replace(run, judgements=rows))
    again = next(entry for entry in fewer.columns if entry.model == column.model)
    assert again.rated < again.answers == column.answers
    faulty = [
        row.model_copy(update={"values": {}, "fault": "no"}) if row.answer == answer else row for row in run.judgements
    ]
    judged = section(replace(run, judgements=faulty, judgements_missing={("a/judge", "p", CRITERION): 3}))
    assert judged.judges[0].unreadable >= 1
    assert judged.judges[0].missing == 3


def test_controls_show_whether_a_judge_can_be_believed(run: LoadedRun) -> None:
    [judge] = section(run).judges
    assert {control["problems"] for control in judge.controls.values()} == {72}
    assert list(judge.controls) == ["reference", "reference-twice", "other-reference", "empty"]
    assert judge.controls["empty"]["mean"] == 0.0
    assert judge.controls["empty"]["separation"] == 1.0
    assert judge.controls["empty"]["reference_above"] == 1.0
    assert judge.controls["reference"]["separation"] is None
    assert judge.in_order is False  # it looks at lengths
    references = {problem.id: problem.reference for problem in run.problems}

    def knowing(problem: str, text: str) -> tuple[float, float]:
        if not text:
            return 0.0, 0.0
        own = references[problem]
        return (5.0, 5.0) if text == own else (3.0, 3.0) if own in text else (1.0, 0.5)

    good = section(judged_run({"k/judge": knowing}))
    assert good.judges[0].in_order is True
    assert good.judges[0].controls["other-reference"]["separation"] == 1.0
    warnings = summarise(run).warnings
    assert any("does not rate the controls in the order" in text for text in warnings)


def test_a_random_judge_fails_and_is_marked_in_every_table_and_export() -> None:
    def random_opinion(problem: str, text: str) -> tuple[float, float]:
        drawn = int(sha256_text(problem + text), 16)
        return float(drawn % 6), float(drawn // 6 % 6)

    run = judged_run({"r/judge": random_opinion})
    judged = section(run)
    [judge] = judged.judges
    assert judge.state == "failed"
    assert "reference judged" in judge.reason
    [line] = control_failures([judged])
    assert judge.reason in line
    summary = summarise(run)
    assert sum(judge.reason in text for text in summary.warnings) == 1
    scored = [table for table in judged_tables(judged) if table.title.startswith("Judge scores")]
    assert scored
    assert all(any("(!)" in field.text for field in row) for table in scored for row in table.rows)
    lines = [row for row in csv.DictReader(io.StringIO(to_csv(summary))) if row["metric"] == f"{CRITERION}:total"]
    assert lines
    assert all(judge.reason in row["note"] for row in lines if not row["scope"].startswith("control"))
    [written] = json.loads(to_json(summary))["judged"]
    assert written["judges"][0]["state"] == "failed"
    assert all(judge.reason in column["refused"] for column in written["columns"])
    assert all("(!)" in json.dumps(chart) for chart in (overall_scores(judged), score_map(judged)))

    references = {problem.id: problem.reference for problem in run.problems}

    def knowing(problem: str, text: str) -> tuple[float, float]:
        return (5.0, 5.0) if text == references[problem] else (1.0, 1.0)

    good = section(judged_run({"k/judge": knowing}))
    assert good.judges[0].state == "accepted"
    assert not any(column.refused for column in good.columns)
    assert not [*control_failures([good])]


def test_several_judges_their_mean_and_how_they_agree() -> None:
    def stricter(problem: str, text: str) -> tuple[float, float]:
        relevance, helpfulness = length_counts(problem, text)
        return max(0.0, relevance - 1), helpfulness

    judged = section(judged_run({"a/judge": length_counts, "b/judge": stricter}))
    assert {column.judge for column in judged.columns} == {"all judges"}
    assert {column.judge for column in judged.by_judge} == {"a/judge", "b/judge"}
    values = {
        column.judge: column.value.value
        for column in (*judged.columns, *judged.by_judge)
        if column.model == "gpt-4o" and column.value
    }
    assert values["all judges"] == pytest.approx((values["a/judge"] + values["b/judge"]) / 2)
    assert judged.alpha is not None
    assert 0 < judged.alpha < 1  # a judge that is stricter throughout agrees less
    [pair] = judged.pairs
    assert (pair.first, pair.second) == ("a/judge", "b/judge")
    assert pair.spearman is not None
    titles = [table.title for table in judged_tables(judged)]
    assert any("b/judge alone" in title for title in titles)
    assert any(title.startswith("Agreement of judges") for title in titles)


def test_the_released_overall_is_the_mean_of_the_means_of_files() -> None:
    run = judged_run({"a/judge": length_counts})
    manifest = dict(run.manifest)
    settings = {"form": "final-sum", "scores": {"total": 10.0}}
    manifest["judges"] = [{"model": "a/judge", "parameters": "p", "source": "model", "settings": settings}]
    rows = [
        row.model_copy(update={"criterion": "devbench-paper@1", "values": {"total": sum(row.values.values())}})
        for row in run.judgements
        if not (row.problem_id.startswith("devbench/java/") and row.problem_id.endswith("/1"))
    ]
    judged = section(replace(run, manifest=manifest, judgements=rows))
    assert judged.released
    column = judged.columns[0]
    files = [cell.value.value for cell in column.strata["language / category"]]
    total = column.value
    assert total is not None
    assert total.value == pytest.approx(mean(files))
    assert total.method == "percentile"
    assert not column.parts


def test_it_says_everywhere_that_no_person_was_asked(run: LoadedRun, summary: Summary) -> None:
    [judged] = summary.judged
    for table in judged_tables(judged):
        assert NOT_VALIDATED in table.title
        assert NOT_VALIDATED in plain_lines(table)
    assert any(NOT_VALIDATED in text for text in summary.warnings)
    assert all(NOT_VALIDATED in row["note"] for row in judge_lines(summary))
    assert to_markdown(summary).count(NOT_VALIDATED) > 4
    page = render_html(summary, run, samples=0)
    assert f"These scores: {NOT_VALIDATED}." in page
    for chart in (overall_scores(judged), score_map(judged)):
        assert chart is not None
        assert NOT_VALIDATED in chart["description"]


def judge_lines(summary: Summary) -> list[dict[str, str]]:
    lines = list(csv.DictReader(io.StringIO(to_csv(summary))))
    return [line for line in lines if line["metric"].startswith(CRITERION)]


def test_the_csv_holds_every_cell(summary: Summary) -> None:
    lines = [line for line in judge_lines(summary) if line["model"] == "gpt-4o"]
    assert len(lines) == 3 + 1 + 6 + 6 + 36
    [overall] = [line for line in lines if line["scope"] == "all" and line["metric"] == f"{CRITERION}:total"]
    assert overall["judge"] == "a/judge"
    assert 0 < float(overall["low"]) < float(overall["value"]) < float(overall["high"]) < 10
    scopes = {line["scope"] for line in judge_lines(summary)}
    assert {"control reference", "control empty"} < scopes


def test_table_7_in_form(summary: Summary) -> None:
    table = next(entry for entry in summary_tables(summary) if entry.title.startswith("Judge scores by language"))
    assert table.heads == ("Model", "All", "C#", "C++", "Java", "JavaScript", "Python", "TypeScript", "Judged")
    assert all(" to " in field.note for field in table.rows[0][1:-1])


def test_the_charts_can_be_drawn(run: LoadedRun, summary: Summary) -> None:
    [judged] = summary.judged
    for chart in (overall_scores(judged), score_map(judged)):
        assert chart is not None
        svg = to_svg(chart)
        assert "gpt-4o" in svg
    assert all(name in render_html(summary, run, samples=0) for name in ("chart-judged-0-0", "chart-judged-0-1"))


def test_printed_scores_stand_beside_ours(run: LoadedRun, tmp_path: Path) -> None:
    with small_paper(tmp_path, per_cell=2, samples=2):
        summary = summarise(run)
        rows = compare_judge_scores(summary)
        assert len(rows) == 2 * len(LANGUAGES)
        java = next(row for row in rows if row.column.model == "gpt-4o" and row.published.label == "java")
        assert (java.published.value, java.published.low, java.published.high) == (9.23, 9.02, 9.43)
        column = next(column for column in summary.judged[0].columns if column.model == "gpt-4o")
        cell = next(cell for cell in column.strata["language"] if cell.labels["language"] == "java")
        assert java.ours == cell.value
        shown = summary_tables(summary, published=True)[-1]
        assert shown.title.startswith("Table 7: Programming language LLM-judge scores")
        assert shown.title.endswith(f"({NOT_VALIDATED})")
        assert all("(!)" in row[-1].text for row in shown.rows)  # a judge of lengths fails its controls
        assert "Table 7: Programming" in render_html(summary, run, published=True, samples=0)


def test_printed_scores_stand_beside_no_part_of_the_data(summary: Summary) -> None:
    assert compare_judge_scores(summary) == ()


def test_people_take_the_place_of_the_note(run: LoadedRun) -> None:
    seen: set[tuple[str, str]] = set()
    ratings = []
    for row in run.judgements[:60]:
        if (row.problem_id, row.answer) not in seen:
            seen.add((row.problem_id, row.answer))
            values = {name: value * 0.8 for name, value in row.values.items()}
            ratings += [
                HumanRating(problem_id=row.problem_id, answer=row.answer, rater=rater, values=values)
                for rater in ("ann", "ben")
            ]
    judged = section(replace(run, ratings=ratings))
    [people] = judged.people
    assert (people.texts, people.raters, people.alpha) == (60, 2, 1.0)
    assert people.spearman == pytest.approx(1.0)
    assert people.mean_difference > 0
    assert judged.validity == f"{NOT_VALIDATED}: needs 3 people, found 2, Spearman 1.00 [1.00 to 1.00] on 60 texts"
    assert not judged.validated
    for factor, validated in ((1.0, True), (0.2, False)):
        # The ranks are right both times; a judge that is far from three people who agree takes no one's place.
        third = [row.model_copy(update={"rater": rater, "values": {name: min(5.0, value / 0.8 * factor)
                                        for name, value in row.values.items() if value is not None}})
                 for row in ratings for rater in ("ann", "ben", "cyd")]  # fmt: skip
        judged = section(replace(run, ratings=third))
        assert judged.validated == validated
        start = "validated against 3 people on 60 texts, wins against 100% of 3 people, Spearman 1.00"
        assert judged.validity.startswith(start) == validated
        shown = "".join(plain_lines(table) for table in judged_tables(judged))
        assert (NOT_VALIDATED in shown) != validated
    assert not section(replace(run, ratings=ratings[:4])).validated  # two texts say nothing


def test_a_run_without_judgements_has_none_of_this() -> None:
    run = make_run(per_cell=1, samples=1)
    assert judged_scores(JudgedRun.of_run(run)) == ()
    summary = summarise(run)
    assert "Judge scores" not in render_html(summary, run, samples=0)
