"""The overview of several suites, from stored runs of all of them: values, every format, and the page in Chromium."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest

from caretbench.cli.report import show_overview
from caretbench.reports.head.head_values import RankedModel
from caretbench.reports.overview import (
    Overview,
    OverviewSuite,
    number_table,
    overview_of,
    overview_title,
    rows_table,
    run_folders,
)
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.reports.summary import Summary
from tests.support.command_run import CommandRun
from tests.support.report_browser import PHONE, WIDE, chromium, cut_elements, needs_browser, open_all_parts, opened

STORED = Path(__file__).parents[1] / "runs" / "stored"
SUITES = ("c3bench", "codevbench", "devbench", "efcb", "simcopilot")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each suite, as a run file leaves it."""
    found = tmp_path_factory.mktemp("several") / "all five"
    for name in SUITES:
        shutil.copytree(STORED / name, found / f"{name}-starter")
    return found


@pytest.fixture(scope="module")
def summaries(root: Path) -> dict[Path, Summary]:
    return {folder: summarise_run(load_run_folder(folder)) for folder in run_folders(root)}


@pytest.fixture(scope="module")
def overview(root: Path, summaries: dict[Path, Summary]) -> Overview:
    return overview_of(root, summaries)


@pytest.fixture(scope="module")
def page(root: Path) -> Path:
    done = CommandRun(root, "--samples", "0", verb=("report",))
    assert done.code == 0, done.err
    assert f"report: {root / 'report.html'}" in done.out
    return root / "report.html"


def test_the_numbers_are_those_of_the_suites_own_reports(overview: Overview, summaries: dict[Path, Summary]) -> None:
    assert [suite.suite for suite in overview.suites] == list(SUITES)
    for suite, summary in zip(overview.suites, summaries.values(), strict=True):
        assert suite.head == summary.head
        assert suite.rows == {column.title: column.completions for column in summary.columns}
    for baseline in (False, True):
        table = number_table(overview, baselines=baseline)
        rows = {row[0].text: dict(zip(table.heads, row, strict=True)) for row in table.rows}
        assert list(rows) == (overview.baselines if baseline else overview.models)
        for suite in overview.suites:
            for entry in entries(suite, baseline=baseline):
                fields = [field for head, field in rows[entry.title].items() if head.startswith(suite.title)]
                [field] = [field for field in fields if field.estimate == entry.estimate][:1]
                assert field.link == suite.report
                assert field.note.endswith(f"n = {entry.estimate.problems}")


def entries(suite: OverviewSuite, *, baseline: bool) -> list[RankedModel]:
    assert suite.head is not None
    return [entry for part in suite.head.parts for entry in part.ranking if entry.baseline is baseline]


def test_models_are_sorted_by_name_and_have_their_rows(overview: Overview) -> None:
    assert overview.models == sorted(overview.models, key=str.casefold)
    assert "reference" in overview.baselines
    assert overview_title(overview).endswith(" on 5 suites")
    table = rows_table(overview)
    shown = {
        (row[0].text, head): field.text for row in table.rows for head, field in zip(table.heads, row, strict=True)
    }
    stored = {(title, suite.title): str(count) for suite in overview.suites for title, count in suite.rows.items()}
    models = {key: count for key, count in stored.items() if key[0] in overview.models}
    assert models
    assert models.items() <= shown.items()


def test_folders_of_one_suite_are_told_apart(tmp_path: Path, summaries: dict[Path, Summary]) -> None:
    summary = next(iter(summaries.values()))
    found = overview_of(tmp_path, {tmp_path / "one": summary, tmp_path / "two": summary})
    titles = [suite.title for suite in found.suites]
    assert [title.rpartition(" ")[2] for title in titles] == ["(one)", "(two)"]
    assert overview_title(found).endswith(" on 1 suite")
    assert "caretbench board" in number_table(found, baselines=True).caption


def test_every_format_has_the_table(
    root: Path, overview: Overview, summaries: dict[Path, Summary], capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(form: str) -> str:
        show_overview(root, summaries, form=form, html=False)
        return capsys.readouterr().out

    printed = shown("terminal")
    assert re.search(r"^Baselines by suite\nBaseline +C3-Bench: ICC IF", printed, re.MULTILINE)
    assert all(f"{suite.title}: {suite.answer}" in printed for suite in overview.suites)
    found = Overview.model_validate_json(CommandRun(root, "--no-html", "--json", verb=("report",)).out)
    assert found == overview
    assert "(devbench-starter/report.html)" in shown("markdown")
    lines = shown("csv").splitlines()
    assert {line.partition(",")[0] for line in lines} == {"suite", *SUITES}
    assert sum(line.startswith("suite,run,") for line in lines) == 1


def test_options_for_one_suite_are_refused(root: Path) -> None:
    done = CommandRun(root, "--by", "language", verb=("report",))
    assert done.told
    assert "--by: " in done.err
    assert f"one suite, {root / 'c3bench-starter'} " in done.err
    assert CommandRun(root, "--published", verb=("report",)).told
    assert "run's folder" in CommandRun(root.parent, verb=("report",)).err


def test_the_page_links_to_pages_that_exist(
    root: Path, summaries: dict[Path, Summary], page: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "pages" / "overview.html"
    elsewhere.parent.mkdir()
    show_overview(root, summaries, form="terminal", page=elsewhere)
    for path in (page, elsewhere):
        links = set(re.findall(r'<a href="([^"#]+)"', path.read_text("utf-8")))
        assert len(links) == len(SUITES)
        assert all((path.parent / unquote(link)).is_file() for link in links)


@needs_browser
def test_no_column_leaves_the_page(page: Path) -> None:
    wide = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    with chromium() as browser:
        for look in (WIDE, PHONE):
            with opened(browser, page, look) as (shown, said):
                open_all_parts(shown)
                assert shown.evaluate("document.documentElement.scrollWidth") <= look[0]
                assert cut_elements(shown) == []
                assert look == WIDE or shown.evaluate(wide) == 0
                link = shown.locator("#suites td a").first
                leads_to = link.evaluate("one => one.href")
                link.click()
                shown.wait_for_url(leads_to)
                assert shown.locator("h1").count() == 1
                assert said == []


def test_a_folder_without_runs_has_no_overview(root: Path, tmp_path: Path) -> None:
    assert run_folders(tmp_path) == []
    assert run_folders(root / "devbench-starter") == []
    assert run_folders(tmp_path / "missing") == []
