import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from io import StringIO
from pathlib import Path

import pytest

from caretbench.reports.frame import LoadedRun
from caretbench.reports.output.text_output import print_summary, to_markdown
from caretbench.reports.results.published_numbers import published_names, published_numbers
from caretbench.reports.run_summary import summarise
from caretbench.reports.sections.published import PublishedSection, compare_with_published, published_tables
from caretbench.reports.summary import Summary
from tests.support.published_papers import published_folder, small_paper
from tests.support.report_runs import make_run

PER_MODEL = 7 + 12 + 12 + 6  # Tables 5, 6, 8 and 9


@pytest.fixture(scope="module")
def two_of_each_cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with small_paper(tmp_path_factory.mktemp("published"), per_cell=2, samples=1):
        yield


@pytest.fixture(scope="module")
def run(two_of_each_cell: None) -> LoadedRun:
    return make_run(per_cell=2, samples=1, profiles=("paper",))


@pytest.fixture(scope="module")
def paper(run: LoadedRun) -> Summary:
    return summarise(run)


def part_of(run: LoadedRun, keep: Callable[[str], bool]) -> LoadedRun:
    """The run about some problems only."""
    return replace(
        run,
        problems=[problem for problem in run.problems if keep(problem.id)],
        completions=[row for row in run.completions if keep(row.problem_id)],
        frame=run.frame.filter([keep(name) for name in run.frame["problem_id"]]),
    )


def test_every_table_of_numbers_ships_with_the_package() -> None:
    folder = resources.files("caretbench.reports").joinpath("published")
    rows = {
        entry.name: len(list(csv.DictReader(entry.read_text("utf-8").splitlines())))
        for entry in folder.iterdir()
        if entry.name.endswith(".csv")
    }
    assert rows == {
        "devbench.csv": 429, "c3bench.csv": 941, "simcopilot.csv": 599, "efcb.csv": 130, "codevbench.csv": 481,
        "left_out_cells.csv": 35, "conventional.csv": 4,
    }  # fmt: skip


def test_all_nine_models_have_a_name_of_ours() -> None:
    assert {cell.model for cell in published_numbers("devbench")} == set(published_names("devbench")["models"].values())


def test_every_printed_cell_of_two_models_finds_ours(paper: Summary) -> None:
    rows = compare_with_published(paper)
    assert len(rows) == 2 * PER_MODEL
    assert [*dict.fromkeys(row.published.table.split(":")[0] for row in rows)] == [
        "Table 5",
        "Table 6",
        "Table 8",
        "Table 9",
    ]


def test_printed_values_are_rates(paper: Summary) -> None:
    row = next(
        row for row in compare_with_published(paper) if (row.column.model, row.published.label) == ("gpt-4o", "all")
    )
    assert row.published.value == pytest.approx(0.772)
    assert row.low <= row.ours <= row.high


def test_default_similarities_stand_beside_nothing(two_of_each_cell: None) -> None:
    run = make_run(per_cell=2, samples=1, profiles=("default",))
    rows = compare_with_published(summarise(run))
    assert {row.published.metric for row in rows} == {"pass@1"}


def test_each_table_of_the_paper_has_its_block_and_the_last_line_counts(paper: Summary) -> None:
    tables = published_tables(compare_with_published(paper))
    assert [table.title for table in tables] == [
        "Table 5: Pass@1 with n = 5 across code completion categories",
        "Table 6: Similarity metrics across programming languages",
        "Table 8: Similarity metrics across task categories",
        "Table 9: Pass@1 rates by programming language using n = 5 samples",
    ]
    assert [len(table.rows) for table in tables] == [14, 24, 24, 12]
    agreeing = sum(row.agrees for row in compare_with_published(paper))
    stream = StringIO()
    print_summary(paper, stream, published=True)
    assert stream.getvalue().splitlines()[-1] == f"{agreeing} of 74 cells agree"
    assert to_markdown(paper, published=True).endswith(f"- {agreeing} of 74 cells agree")
    print_summary(paper, stream := StringIO())
    assert "cells agree" not in stream.getvalue()


def test_one_language_is_compared_with_its_own_numbers_alone(run: LoadedRun) -> None:
    summary = summarise(part_of(run, lambda name: "/c_sharp/" in name))
    rows = compare_with_published(summary)
    assert {(row.published.stratum, row.published.label) for row in rows} == {("language", "csharp")}
    assert len(rows) == 2 * 3  # one of Table 9, two of Table 6
    notes = list(PublishedSection().notes(summary))
    assert notes[1].startswith("gpt-4o: 12 of 13 parts of the paper's tables are not compared")
    assert notes[1].endswith("(all problems: 12 of 72)")


def test_models_that_the_paper_does_not_have_are_said_to_have_no_printed_number(run: LoadedRun) -> None:
    unknown = [row.model_copy(update={"model": "somebody's"}) for row in run.completions]
    notes = list(PublishedSection().notes(summarise(replace(run, completions=unknown))))
    assert notes == ["The paper prints no number for these models and problems.", "0 of 0 cells agree"]


def test_a_limit_and_recordings_of_some_problems_are_compared_with_nothing(run: LoadedRun) -> None:
    limited = summarise(part_of(run, lambda name: name.endswith("/1")))
    assert compare_with_published(limited) == ()
    assert list(PublishedSection().notes(limited))[-1] == "0 of 0 cells agree"
    lost = next(row for row in run.completions if row.model == "gpt-4o")
    recorded = replace(run, completions=[row for row in run.completions if row is not lost])
    language = str(next(problem for problem in run.problems if problem.id == lost.problem_id).label("language"))
    rows = [row for row in compare_with_published(summarise(recorded)) if row.column.model == "gpt-4o"]
    assert len(rows) == PER_MODEL - 1 - 3 - 3  # all, and the problem's language and category
    assert language not in {row.published.label for row in rows}
    assert len(compare_with_published(summarise(recorded))) == len(rows) + PER_MODEL


def test_a_run_with_fewer_samples_is_compared_with_nothing(run: LoadedRun) -> None:
    twice = [row.model_copy(update={"sample": 1}) for row in run.completions]
    assert compare_with_published(summarise(replace(run, completions=[*run.completions, *twice]))) == ()


def test_an_error_message_stands_for_all_samples_of_its_request(two_of_each_cell: None) -> None:
    run = make_run(per_cell=2, samples=1, profiles=("paper",))
    twice = [row.model_copy(update={"sample": 1}) for row in run.completions[1:]]
    failed = run.completions[0].model_copy(update={"error": True})
    names = published_names("devbench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(names, "samples", 2)  # type: ignore[arg-type]
        complete = replace(run, completions=[failed, *run.completions[1:], *twice])
        assert len(compare_with_published(summarise(complete))) == 2 * PER_MODEL
        lost = replace(run, completions=[*run.completions, *twice])
        assert len(compare_with_published(summarise(lost))) < 2 * PER_MODEL


def test_rows_that_are_not_scored_yet_are_no_comparison(run: LoadedRun) -> None:
    lost = run.problems[0].id
    half = replace(run, frame=run.frame.filter(run.frame["problem_id"] != lost))
    assert "all" not in {row.published.label for row in compare_with_published(summarise(half))}


def test_nothing_published_gives_no_table(paper: Summary) -> None:
    assert compare_with_published(paper.model_copy(update={"suite": "private"})) == ()


def test_a_suite_may_bring_numbers_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "names.toml").write_text(
        '[efcb.models]\n"m" = "Model M"\n[efcb.metrics]\nrate = "pass@1"\n', encoding="utf-8"
    )
    (tmp_path / "efcb.csv").write_text(
        "table,model,suite,subset,metric,value,unit,ci_low,ci_high,margin_95,status,notes\n"
        "table_1,Model M,efcb,,rate,12.5,percent,,,,text,\n",
        encoding="utf-8",
    )
    with published_folder("efcb", tmp_path):
        (cell,) = published_numbers("efcb")
        assert (cell.table, cell.model, cell.metric, cell.value) == ("Table 1", "Model M", "pass@1", 0.125)
        assert published_numbers("devbench")


def test_without_stated_sizes_a_run_about_all_of_its_data_is_compared(run: LoadedRun) -> None:
    with pytest.MonkeyPatch.context() as patch:
        names = published_names("devbench")
        patch.delitem(names, "problems")  # type: ignore[arg-type]
        patch.delitem(names, "samples")  # type: ignore[arg-type]
        assert len(compare_with_published(summarise(run))) == 2 * PER_MODEL
        data = dict(run.manifest["data"]) | {"problems": len(run.problems) + 1}
        selected = replace(run, manifest=dict(run.manifest) | {"data": data})
        assert compare_with_published(summarise(selected)) == ()
