import csv
from importlib import resources
from pathlib import Path

import pytest

from caretbench.reports.published import compare_with_published, published_names, published_numbers
from caretbench.reports.run_summary import summarise
from caretbench.reports.sections.published import published_table
from caretbench.reports.summary import Summary
from caretbench.suites import load_suite
from tests.support.report_runs import make_run


@pytest.fixture(scope="module")
def paper() -> Summary:
    run = make_run(per_cell=2, samples=1, profiles=("paper",))
    return summarise(run)


def test_every_table_of_numbers_ships_with_the_package() -> None:
    folder = resources.files("caretbench.reports").joinpath("published")
    rows = {
        entry.name: len(list(csv.DictReader(entry.read_text("utf-8").splitlines())))
        for entry in folder.iterdir()
        if entry.name.endswith(".csv")
    }
    assert rows == {
        "devbench.csv": 429, "c3bench.csv": 941, "simcopilot.csv": 599, "efcb.csv": 130, "codevbench.csv": 472,
        "left_out_cells.csv": 35,
    }  # fmt: skip


def test_all_nine_models_have_a_name_of_ours() -> None:
    assert {cell.model for cell in published_numbers("devbench")} == set(published_names("devbench")["models"].values())


def test_every_printed_cell_of_two_models_finds_ours(paper: Summary) -> None:
    rows = compare_with_published(paper)
    per_model = 7 + 12 + 12 + 6  # Tables 5, 6, 8 and 9
    assert len(rows) == 2 * per_model
    assert {row.table for row in rows} == {"Table 5", "Table 6", "Table 8", "Table 9"}


def test_printed_values_are_rates(paper: Summary) -> None:
    row = next(r for r in compare_with_published(paper) if (r.table, r.model, r.label) == ("Table 5", "gpt-4o", "all"))
    assert row.printed == pytest.approx(0.772)
    assert row.low <= row.ours <= row.high


def test_default_similarities_stand_beside_nothing() -> None:
    run = make_run(per_cell=1, samples=1, profiles=("default",))
    rows = compare_with_published(summarise(run))
    assert {row.metric for row in rows} == {"pass@1"}


def test_the_table_counts_what_agrees(paper: Summary) -> None:
    table = published_table(compare_with_published(paper))
    assert table is not None
    assert "of 74 published values" in table.caption


def test_nothing_published_gives_no_table(paper: Summary) -> None:
    assert compare_with_published(paper.model_copy(update={"suite": "private"})) == ()


def test_a_suite_may_bring_numbers_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "names.toml").write_text(
        '[efcb.models]\n"m" = "Model M"\n[efcb.metrics]\nrate = "pass@1"\n', encoding="utf-8"
    )
    (tmp_path / "efcb.csv").write_text(
        "table,model,suite,subset,metric,value,unit,ci_low,ci_high,margin_95,status,notes\n"
        "table_1,Model M,efcb,,rate,12.5,percent,,,,text,\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(type(load_suite("efcb")), "published_folder", tmp_path)
    published_names.cache_clear()
    published_numbers.cache_clear()
    try:
        (cell,) = published_numbers("efcb")
        assert (cell.model, cell.metric, cell.value) == ("Model M", "pass@1", 0.125)
        assert published_numbers("devbench")
    finally:
        published_names.cache_clear()
        published_numbers.cache_clear()
