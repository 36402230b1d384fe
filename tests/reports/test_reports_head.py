"""The head of a report: ranking, sentences, warnings, in every form."""

import io
import json
import re
from dataclasses import replace
from itertools import product

import pytest

from caretbench.metrics.paired import Pair
from caretbench.problem import Completion, Latency
from caretbench.reports.frame import LoadedRun
from caretbench.reports.head.head_texts import cost_text, findings, head_sentences, part_sentences
from caretbench.reports.head.head_values import HeadPart, ReportHead
from caretbench.reports.output.page import render_html
from caretbench.reports.output.page_parts import page_head
from caretbench.reports.output.text_output import (
    WIDTH,
    interval_drawing,
    print_summary,
    print_tables,
    ranking_table,
    to_markdown,
)
from caretbench.reports.results import paired_models
from caretbench.reports.results.paired_models import ComparisonRow, PairedTest, pair_sentences, with_power
from caretbench.reports.run_summary import summarise
from caretbench.reports.sections.rates import main_table
from caretbench.reports.summary import Summary
from caretbench.reports.tables import table_of
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION
from tests.reports.test_reports_compare import ALL, NONE, PROBLEMS, run_of
from tests.support.report_runs import make_run


def joined(*runs: LoadedRun, **manifest: object) -> Summary:
    """The summary of one run with the models of several."""
    import polars as pl

    frame = pl.concat([run.frame for run in runs])
    return summarise(replace(runs[0], frame=frame, manifest=runs[0].manifest | manifest))


def marks(passing: int, number: int = 40) -> list[list[bool]]:
    return [[place < passing] for place in range(number)]


def only_part(summary: Summary) -> HeadPart:
    assert summary.head is not None
    [part] = summary.head.parts
    return part


def test_the_best_model_is_compared_with_the_first_that_is_told_from_it() -> None:
    summary = joined(run_of("a", marks(39)), run_of("b", ALL), run_of("c", marks(10)), run_of("d", NONE))
    part = only_part(summary)
    assert [entry.title for entry in part.ranking] == ["b", "a", "c", "d"]
    assert len(part.pairs) == 6
    told, untold, power = findings(part)
    assert told.startswith("b passes 75.0 points more than c on 40 problems [")
    assert untold == "b and a cannot be told apart on 40 problems: +2.5 points [+0.0 to +15.0]."
    assert power.startswith("Such a comparison finds 20.0 points in 8 of 10 cases.")
    nearest = part.others[1]
    assert nearest.low is not None
    assert nearest.high is not None
    assert 0 < nearest.low < 0.75 < nearest.high


def test_models_that_no_test_tells_apart_are_said_to_be_so() -> None:
    two = only_part(joined(run_of("a", marks(20)), run_of("b", marks(21))))
    assert findings(two) == [
        "b and a cannot be told apart on 40 problems: +2.5 points [+0.0 to +15.0].",
        "Such a comparison finds 20.0 points in 8 of 10 cases. "
        "At their rate of disagreement 5 points need about 160 problems.",
    ]
    several = findings(only_part(joined(*(run_of(name, marks(20 + place)) for place, name in enumerate("abcde")))))
    assert several[0].startswith("e and d cannot be told apart on 40 problems")
    assert several[2] == "c, b and a cannot be told apart from e either."


def test_long_lists_of_names_are_cut() -> None:
    runs = [run_of(name, marks(38 - place)) for place, name in enumerate("abcde")]
    sentences = findings(only_part(joined(*runs, run_of("z", NONE))))
    assert sentences[0].startswith("a passes 95.0 points more than z")
    assert sentences[1].startswith("a and b cannot be told apart")
    assert sentences[3] == "c, d and e cannot be told apart from a either."


def test_p_values_are_adjusted_over_all_pairs() -> None:
    """Six more passes are significant between two models (p = 0.031), and not among 28 pairs."""
    alone = only_part(joined(run_of("a", marks(20)), run_of("b", marks(26))))
    assert [row.distinguishable for row in alone.others] == [True]
    several = [
        run_of(name, [[place * step % 41 < 20] for place in range(40)])
        for name, step in zip("cdefgh", range(3, 15, 2), strict=True)
    ]
    crowded = only_part(joined(run_of("a", marks(20)), run_of("b", marks(26)), *several))
    assert [row.distinguishable for row in crowded.others] == [False] * 7
    assert {row.family for row in crowded.pairs} == {28}
    # One pair of 28 has to differ more than a pair alone.
    assert (crowded.others[0].smallest or 0) > (alone.others[0].smallest or 1)


BASELINES = {"models": [{"model": name, "source": "baseline"} for name in ("reference", "stub", "empty")]}


def test_one_model_is_compared_with_the_strongest_baseline_that_does_not_know_the_answer() -> None:
    runs = [run_of("m", marks(30)), run_of("reference", ALL), run_of("stub", marks(5)), run_of("empty", NONE)]
    part = only_part(joined(*runs, **BASELINES))
    assert [entry.title for entry in part.ranking] == ["reference", "m", "stub", "empty"]
    assert [entry.title for entry in part.models] == ["m"]
    [sentence] = findings(part)
    assert sentence.startswith("m passes 62.5 points more than the baseline stub on 40 problems [")
    assert part.pairs == ()


def test_a_model_that_is_no_better_than_a_baseline_is_said_to_be_so() -> None:
    level = only_part(joined(run_of("m", marks(6)), run_of("stub", marks(5)), **BASELINES))
    apart = "m and the baseline stub cannot be told apart on 40 problems: +2.5 points [+0.0 to +15.0]."
    assert findings(level)[0] == apart
    worse = only_part(joined(run_of("m", marks(5)), run_of("stub", marks(30)), **BASELINES))
    assert findings(worse)[0].startswith("The baseline stub passes 62.5 points more than m on 40 problems [")
    several = joined(run_of("m", marks(6)), run_of("n", NONE), run_of("stub", marks(5)), **BASELINES)
    assert findings(only_part(several))[-1] == apart


def test_without_anything_to_compare_there_is_the_rate() -> None:
    assert findings(only_part(joined(run_of("m", marks(30))))) == [
        "m passes 75.0% of 40 problems [59.8 to 85.8]; there is nothing to compare it with."
    ]
    summary = joined(run_of("stub", marks(5)), **BASELINES)
    assert summary.head is not None
    assert head_sentences(summary.head) == ["No model was scored: these are the baselines."]
    assert findings(only_part(summary)) == []


def test_parts_that_a_suite_keeps_apart_are_not_averaged() -> None:
    """A part with fewer than 20 common problems is shown, and not tested."""
    parted = [
        problem.model_copy(update={"labels": {**problem.labels, "kind": "rare" if place < 6 else "frequent"}})
        for place, problem in enumerate(PROBLEMS)
    ]
    runs = [run_of("a", NONE, problems=parted), run_of("b", ALL, problems=parted)]
    import polars as pl

    run = replace(runs[0], frame=pl.concat([run.frame for run in runs]))
    summary = summarise(run, DEFAULT_STRATIFICATION._replace(headline_labels=("kind", "category")))
    assert summary.head is not None
    frequent, rare = summary.head.parts
    assert (dict(frequent.labels), dict(rare.labels)) == ({"kind": "frequent"}, {"kind": "rare"})
    assert [entry.estimate.problems for entry in (*frequent.ranking, *rare.ranking)] == [34, 34, 6, 6]
    assert findings(frequent)[0].startswith("b passes 100.0 points more than a")
    assert [row.label for row in frequent.pairs] == ["frequent"]
    assert head_sentences(summary.head)[0].startswith(
        "Over all parts, b passes 100.0 points more than a on 40 problems"
    )
    assert [row.family for row in summary.head.overall] == [1]
    assert findings(rare) == [
        "b passes 100.0% of 6 problems [61.0 to 100.0]. There are too few common problems to compare the models."
    ]


def test_the_table_of_pass_rates_keeps_parts_apart_and_names_them() -> None:
    labels = DEFAULT_STRATIFICATION._replace(headline_labels=("category",), part_words={"low_context": "few lines"})
    summary = summarise(make_run(per_cell=1, samples=1), labels)
    table = main_table(summary.columns)
    assert table.heads[:2] == ("Model", "Part")
    assert table.numeric[:2] == (False, False)
    assert "few lines" in {row[1].text for row in table.rows}
    whole = {column.title: column.overall.problems for column in summary.columns}
    for title, problems in whole.items():
        rows = [row for row in table.rows if row[0].text == title]
        assert len(rows) == 6
        assert sum(float(row[table.heads.index("Problems")].sort) for row in rows) == problems
    assert summary.head is not None
    assert "few lines" in [part.heading for part in summary.head.parts]


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    return make_run(per_cell=2, samples=2)


@pytest.fixture(scope="module")
def summary(run: LoadedRun) -> Summary:
    return summarise(run)


def test_every_form_begins_with_the_same_head(run: LoadedRun, summary: Summary) -> None:
    [sentence] = findings(only_part(summary))
    stream = io.StringIO()
    print_summary(summary, stream)
    page = render_html(summary, run, samples=0)
    assert stream.getvalue().startswith(sentence)
    assert to_markdown(summary).split("\n\n")[1] == sentence
    assert f'<h1 class="answer">{sentence}</h1>' in page
    [warning] = [text for text in summary.warnings if "excluded from all rates" in text]
    assert warning.startswith("12 of 72 problems are excluded from all rates: ")
    for text in (stream.getvalue(), to_markdown(summary), page):
        assert text.index(sentence) < text.index(warning) < text.index("Pass rates")
    assert json.loads(summary.model_dump_json())["head"]["parts"][0]["pairs"][0]["second"] == "Ministral-3B"


def test_without_execution_models_are_ranked_by_similarity(run: LoadedRun) -> None:
    import polars as pl

    bare = run.frame.with_columns(
        passed=pl.lit(None, pl.Boolean), counted=pl.lit(None, pl.Boolean), status=pl.lit(None, pl.String)
    )
    summary = summarise(replace(run, frame=bare, manifest=run.manifest | {"executed": False}))
    part = only_part(summary)
    assert part.measure.title == "Cosine, full text, mean of n"
    assert findings(part)[0].startswith("gpt-4o is 0.1")
    assert "more similar to the reference than Ministral-3B [" in findings(part)[0]
    assert any("The programs were not run" in text for text in summary.warnings)


def test_null_and_empty_answers_are_warned_of(run: LoadedRun) -> None:
    texts = {"gpt-4o": None, "Ministral-3B": " \n"}
    completions = [
        Completion(problem_id=problem.id, model=model, parameters="none", text=text if place < 10 else "x")
        for (place, problem), (model, text) in product(enumerate(run.problems), texts.items())
    ]
    warnings = summarise(replace(run, completions=completions)).warnings
    assert any(text.startswith("gpt-4o: 10 of 72 answers are null") for text in warnings)
    assert "Ministral-3B: 10 of 72 answers are empty." in warnings


def test_answers_stopped_by_the_token_limit_are_warned_of(run: LoadedRun) -> None:
    completions = [
        Completion(problem_id=problem.id, model="gpt-4o", text="x", finish_reason="length" if place % 2 else "stop")
        for place, problem in enumerate(run.problems)
    ]
    warnings = summarise(replace(run, completions=completions)).warnings
    assert any(text.startswith("gpt-4o: 50% of the answers were stopped by the token limit") for text in warnings)
    few = [row.model_copy(update={"finish_reason": "stop"}) for row in completions[:70]] + completions[70:]
    assert not any("token limit" in text for text in summarise(replace(run, completions=few)).warnings)


def test_intervals_are_drawn_with_a_mark_for_zero(summary: Summary) -> None:
    part = only_part(summary)
    drawings = {entry.title: interval_drawing(entry.estimate) for entry in part.ranking}
    assert drawings["stub"].startswith("o-")
    assert drawings["reference"].endswith("o")
    assert all(text.count("o") == 1 and len(text) <= WIDTH for text in drawings.values())
    assert [row[0].text for row in ranking_table(part).rows] == [entry.title for entry in part.ranking]


def test_a_failed_run_begins_with_that() -> None:
    summary = summarise(run_of("a", marks(5, 10)))
    assert summary.head is not None
    assert head_sentences(summary.head) == [
        "This run has failed: too few answers have a verdict (a 25.0%). Do not rely on its numbers."
    ]
    both = joined(run_of("a", marks(5, 10)), run_of("b", ALL))
    assert both.head is not None
    # Numbers that should not be relied on are no headline.
    assert all(part_sentences(both.head, part) == [] for part in both.head.parts)
    assert page_head(both).title.startswith("This run has failed")
    assert page_head(both).sentences == []
    whole = summarise(run_of("a", marks(5))).head
    assert whole is not None
    assert head_sentences(whole) == []


def test_intervals_are_drawn_on_wide_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = joined(run_of("a", marks(30)), run_of("b", ALL))
    monkeypatch.setenv("FORCE_COLOR", "1")
    drawn = {}
    for width in ("80", "130"):
        monkeypatch.setenv("COLUMNS", width)
        print_summary(summary, stream := io.StringIO())
        drawn[width] = any(line.count("-o-") or "---|" in line for line in stream.getvalue().splitlines())
    assert drawn == {"80": False, "130": True}


def test_too_few_independent_groups_are_named() -> None:
    grouped = [
        problem.model_copy(update={"cluster": f"source {place % 3}", "overlap_group": str(place % 3)})
        for place, problem in enumerate(PROBLEMS)
    ]
    part = only_part(joined(run_of("a", NONE, problems=grouped), run_of("b", ALL, problems=grouped)))
    assert findings(part) == [
        "Whether b is better than a cannot be decided with 3 independent groups (40 problems): "
        "+100.0 points [+20.6 to +100.0]."
    ]


def test_the_way_to_more_problems_is_named() -> None:
    """A starter set leads to the released one, a drawn part of the data to a greater part."""
    starter = {"suite": "devbench", "data": {"name": "starter", "problems": 72}}
    told = findings(only_part(joined(run_of("a", marks(20)), run_of("b", marks(21)), **starter)))
    assert told[1].endswith("5 points need about 160 problems: `--data released`.")
    # Of 60 drawn problems 40 are compared: others have no checks, or need no answer.
    data = {"name": "own", "problems": 900, "selected": 60}
    for selection, way_on in ({"limit": 60}, ": `--limit 240`"), ({"limit": 60, "select": "language=python"}, ""):
        drawn = {"suite": "devbench", "data": data, "selections": [selection]}
        told = findings(only_part(joined(run_of("a", marks(20)), run_of("b", marks(21)), **drawn)))
        assert told[1].endswith(f"5 points need about 160 problems{way_on}.")
    # More problems of the same sources are not more groups.
    grouped = [problem.model_copy(update={"cluster": f"source {place // 2}"}) for place, problem in enumerate(PROBLEMS)]
    drawn = {"suite": "devbench", "data": data, "selections": [{"limit": 60}]}
    both = (run_of(name, marks(20 + place), problems=grouped) for place, name in enumerate("ab"))
    assert "--limit" not in findings(only_part(joined(*both, **drawn)))[1]
    # Of the 900 the manifest does not say how many are of a part.
    scores = Pair([0.0] * 40, [1.0] * 2 + [0.0] * 38)
    for label, way_on in ("all", True), ("icc", False):
        (row,) = paired_models.tested_rows([PairedTest("a", "b", "all", label, scores)], 1)
        assert bool(with_power(row, scores, drawn, 1).way_on) == way_on


def test_models_that_pass_the_same_problems_have_no_rate_of_disagreement() -> None:
    told = findings(only_part(joined(run_of("a", marks(20)), run_of("b", marks(20)))))
    assert told[0].startswith("a and b cannot be told apart on 40 problems: +0.0 points")
    assert "None is passed by one of them alone; 5 points need about" in told[1]


def test_an_interval_without_0_of_models_that_are_not_told_apart_comes_with_the_test() -> None:
    row = ComparisonRow(
        first="a", second="b", scope="all", label="all", problems=81, first_rate=0.8, second_rate=0.7, difference=0.1,
        low=0.013, high=0.19, p_value=0.0624, test="exact McNemar", groups=81, distinguishable=False, family=3,
    )  # fmt: skip
    assert next(pair_sentences(row)).endswith("+10.0 points [+1.3 to +19.0], p = 0.062 for 3 tests.")
    assert next(pair_sentences(row.model_copy(update={"low": -0.013}))).endswith("[-1.3 to +19.0].")


def test_groups_are_named_where_they_are_fewer_than_problems() -> None:
    grouped = [problem.model_copy(update={"cluster": f"source {place // 2}"}) for place, problem in enumerate(PROBLEMS)]
    part = only_part(joined(*(run_of(name, marks(20 + place), problems=grouped) for place, name in enumerate("ab"))))
    assert findings(part)[0].startswith("b and a cannot be told apart on 40 problems in 20 independent groups: +2.5")


def test_a_title_over_several_numbers_follows_their_tests() -> None:
    """C3-Bench's page had "first in all of 2 numbers" above two parts that said "not distinguishable"."""

    def title(*passing: int) -> str:
        parts = [only_part(joined(run_of("a", ALL), run_of("b", marks(number)))) for number in passing]
        head = ReportHead(parts=tuple(parts))
        return page_head(joined(run_of("a", ALL)).model_copy(update={"head": head})).title

    assert title(39, 38) == "No models can be told apart in any of 2 numbers, which are not averaged"
    assert title(39, 10) == "2 numbers, which are not averaged"
    assert title(5, 10) == "a is better than all others in each of 2 numbers, which are not averaged"


def test_baselines_are_over_the_problems_that_the_models_have() -> None:
    runs = [run_of("m", marks(10)[:12]), run_of("reference", ALL), run_of("stub", marks(5))]
    part = only_part(joined(*runs, **BASELINES))
    assert {entry.title: entry.estimate.problems for entry in part.ranking} == {"reference": 7, "m": 7, "stub": 7}


def test_times_stand_in_the_head_where_models_were_asked() -> None:
    run = make_run(per_cell=1, samples=1)
    timed = [
        completion.model_copy(update={"latency": Latency(first_s=0.25, last_s=1.5)}) for completion in run.completions
    ]
    summary = summarise(replace(run, completions=timed))
    assert summary.head is not None
    stream = io.StringIO()
    print_summary(summary, stream)
    for text in (stream.getvalue(), to_markdown(summary)):
        assert "First token (s)" in text
        assert "0.25" in text
    assert "first token 0.25 s, answer 1.50 s" in render_html(summary, run, samples=0)


def test_no_word_is_cut_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = ("Part", "Rate", *(f"A column with the word inconsiderable{number}" for number in range(5)))
    fields = ["category pattern matching", "75.3%", *["not distinguishable"] * 5]
    table = table_of("Rates", heads, [fields], "Each row is a part.")
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = {}
    for width in ("60", "200"):
        monkeypatch.setenv("COLUMNS", width)
        print_tables([table], stream=(stream := io.StringIO()))
        shown[width] = re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue())
    lines = [line.rstrip() for line in shown["60"].splitlines()]
    assert lines[:3] == ["Rates", "category pattern matching", "  Rate: 75.3%"]
    assert "  A column with the word inconsiderable4: not" in lines
    assert max(map(len, lines)) <= 60
    assert any("category" in line and "75.3%" in line for line in shown["200"].splitlines())


def test_costs_are_in_dollars_with_two_digits() -> None:
    assert [cost_text(value) for value in (None, 0.0000123, 0.0012, 0.25, 12.3)] == [
        "", "$0.000012", "$0.0012", "$0.25", "$12",
    ]  # fmt: skip
