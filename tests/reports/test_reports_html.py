"""The page, read as text and in a real browser with the network off."""

import json
import re
import shutil
from collections.abc import Iterator
from html import unescape
from importlib.resources import files
from pathlib import Path

import pytest
import vl_convert

from caretbench.execution.execution_types import Status
from caretbench.metrics.error_kinds.kind_table import error_kind_names
from caretbench.reports import charts
from caretbench.reports.compare import compare_runs
from caretbench.reports.frame import LoadedRun
from caretbench.reports.output import page as page_module
from caretbench.reports.output.page import (
    manifest_facts,
    pack_samples,
    render_comparison,
    render_html,
    render_page,
    to_script_json,
)
from caretbench.reports.output.page_parts import with_legend
from caretbench.reports.run_summary import summarise
from caretbench.reports.section import Chart, PageBlock, PagePart
from caretbench.reports.sections import section_charts
from caretbench.reports.sections.section_charts import NOT_THE_MODELS
from caretbench.reports.summary import Summary
from tests.support.report_runs import XSS, make_run, to_svg

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; apt install chromium")


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    return make_run(per_cell=4, samples=3)


@pytest.fixture(scope="module")
def summary(run: LoadedRun) -> Summary:
    return summarise(run)


@pytest.fixture(scope="module")
def html(run: LoadedRun, summary: Summary) -> str:
    return render_html(summary, run, published=True)


def test_nothing_is_loaded_from_anywhere(html: str) -> None:
    own = re.sub(r"<script[^>]*>.*?</script>", "", html, flags=re.DOTALL)
    assert "http://" not in own
    assert "https://" not in own
    assert "default-src 'none'" in unescape(own)
    assert not re.search(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=(?![\"']data:)", html.partition("<main")[0])


def test_a_completion_cannot_leave_its_island(html: str) -> None:
    island = re.search(r'id="sample-data">(.*?)</script>', html, re.DOTALL)
    assert island is not None
    packed = json.loads(island[1])
    assert XSS in packed["strings"]
    assert html.count("window.attacked = true") == 2 * packed["strings"].count(XSS)
    assert "<script>window.attacked" not in html


def test_islands_escape_what_html_reads() -> None:
    assert json.loads(to_script_json({"text": "a\u202eb"})) == {"text": "a⟨U+202E⟩b"}
    packed = to_script_json({"text": "</script><!-- & \u2028 \ud800"})
    assert not set("<>&\u2028") & set(packed)
    assert json.loads(packed)["text"].startswith("</script><!-- & \u2028")


def test_identical_completions_stand_once(run: LoadedRun) -> None:
    packed = pack_samples(run.frame, run.problems, run.completions)
    assert sum(len(entry[2]) for entry in packed["entries"]) == run.frame.height
    assert len(packed["entries"]) < run.frame.height
    assert len(set(packed["strings"])) == len(packed["strings"])


def test_a_limit_takes_models_first_and_says_what_is_missing(run: LoadedRun) -> None:
    packed = pack_samples(run.frame, run.problems, run.completions, limit=20)
    assert len(packed["entries"]) == 20
    assert packed["total"] > 20
    assert {column["model"] for column in packed["columns"]} <= {"gpt-4o", "Ministral-3B"}


def test_a_page_without_samples(run: LoadedRun, summary: Summary) -> None:
    assert 'id="sample-data"' not in render_html(summary, run, samples=0)


def test_the_manifest_is_flattened() -> None:
    facts = dict(manifest_facts({"data": {"hash": "x"}, "models": [{"model": "m"}], "excluded": {"a": ["1"]}}))
    assert facts == {"data.hash": "x", "models[0].model": "m"}


def test_legends_are_outside_of_the_charts() -> None:
    spec = charts.layered(
        [{"model": "b"}, {"model": "a"}], charts.layer("point", {"color": charts.model_colour(["a", "b"])})
    )
    chart = with_legend(Chart("n", "t", spec))
    assert [(entry.name, entry.colour) for entry in chart.legend] == [("a", charts.SERIES[0]), ("b", charts.SERIES[1])]
    assert chart.spec is not None
    assert chart.spec["layer"][0]["encoding"]["color"]["legend"] is None
    bare = {"data": {"values": [{"of": "y"}, {"of": "x"}]}, "encoding": {"color": {"field": "of", "type": "nominal"}}}
    assert [entry.name for entry in with_legend(Chart("n", "t", bare)).legend] == ["y", "x"]
    assert (
        with_legend(
            Chart("n", "t", charts.layered([], charts.layer("point", {"color": charts.model_colour(["a"])})))
        ).legend
        == ()
    )


def test_the_charts_draw_without_a_browser(summary: Summary) -> None:
    columns = summary.columns
    specs = [
        section_charts.rates_by_label(columns, "language"),
        section_charts.heat_map(columns[0]),
        section_charts.similarity_against_passing(columns),
        section_charts.status_shares(columns),
    ]
    drawn = [to_svg(spec) for spec in specs if spec is not None]
    assert len(drawn) == 4
    assert all(svg.startswith("<svg") for svg in drawn)
    assert "r = " in drawn[2]


def test_a_label_named_if_is_drawn() -> None:
    rows = [{"label": name, "rate": 0.5} for name in ("if", "for", "try")]
    bars = {"x": charts.field("rate:Q"), "y": charts.names_in_order("label", ["try", "if", "for"])}
    drawn = to_svg(charts.finished_spec({"data": {"values": rows}, **charts.layer("bar", bars)}, 80, "labels"))
    assert drawn.index(">try<") < drawn.index(">if<") < drawn.index(">for<")


@pytest.mark.parametrize("status", list(Status))
def test_only_outcomes_that_the_machine_caused_have_their_own_colour(summary: Summary, status: Status) -> None:
    column = summary.columns[0].model_copy(update={"statuses": {status.value: 3}})
    drawn = json.dumps(section_charts.status_shares([column]))
    assert any(hatch in drawn for hatch in charts.HATCHES) == status.is_machine_fault
    assert (NOT_THE_MODELS in drawn) == status.is_machine_fault


def test_a_status_has_one_colour_in_every_chart() -> None:
    assert charts.outcome_colour("timeout") == charts.outcome_colour(Status.TIMEOUT.value)
    assert charts.outcome_colour("import") == charts.outcome_colour(Status.UNRESOLVED_IMPORT.value)
    assert charts.outcome_colour("harness_error") in charts.HATCHES
    colours = [charts.outcome_colour(status.value) for status in Status]
    assert len(set(colours)) == len(colours)
    assert set(charts.STATUS_ORDER) == set(Status)
    kinds = [charts.outcome_colour(name) for name in error_kind_names()]
    assert len(set(kinds)) == len(kinds)


@pytest.fixture(scope="module")
def page(html: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    sync_api = pytest.importorskip("playwright.sync_api")
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html, "utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        page.faults = []
        page.asked = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("console", lambda message: page.faults.append(message.text))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function("document.querySelectorAll('.chart svg').length >= 6", timeout=60_000)
        yield page
        browser.close()


@needs_browser
def test_the_page_draws_its_charts_and_asks_nobody(page) -> None:
    assert page.locator(".chart").count() == page.locator(".chart svg").count() == 9
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []


_OVERFLOW = """() => [document.documentElement.scrollWidth, ...[...document.querySelectorAll("main *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, pre, .unseen"))
    .map((one) => `${one.tagName} ${one.className}: ${(one.textContent || "").slice(0, 40)}`)]"""


@needs_browser
@pytest.mark.parametrize("width", [1300, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_at_any_width(page, width: int, scheme: str) -> None:
    """Nothing reaches over the right edge, tables on a phone included, and every mark of a rate is inside its list."""
    context = page.context.browser.new_context(
        offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    try:
        view = context.new_page()
        said: list[str] = []
        view.on("console", lambda message: said.append(message.text))
        view.goto(page.url)
        view.wait_for_function("document.querySelectorAll('.chart svg').length >= 6", timeout=60_000)
        assert view.evaluate(_OVERFLOW) == [width]
        wide = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
        assert width > 400 or view.evaluate(wide) == 0
        assert said == []
        marks = view.locator(".ranking .plot b")
        assert marks.count() == view.locator(".ranking li:not(.axis)").count() == 6
        assert all(marks.nth(place).bounding_box()["width"] == 12 for place in range(6))
    finally:
        context.close()


@needs_browser
def test_on_a_phone_parts_are_closed_unless_there_is_one_alone(page, tmp_path: Path) -> None:
    alone = tmp_path / "alone.html"
    alone.write_text(
        render_page("Strengths", [PagePart("alone", "Alone", "Alone", blocks=[PageBlock(notes=["text"])])]), "utf-8"
    )
    context = page.context.browser.new_context(offline=True, viewport={"width": 400, "height": 900})
    try:
        view = context.new_page()
        opened = {}
        for name, url in (("several", page.url), ("alone", alone.as_uri())):
            view.goto(url)
            opened[name] = view.evaluate("[...document.querySelectorAll('details.part')].map((part) => part.open)")
        assert len(opened["several"]) > 1
        assert not any(opened["several"])
        assert opened["alone"] == [True]
    finally:
        context.close()


@needs_browser
def test_a_hostile_completion_is_inert(page) -> None:
    page.locator("#sample-list button").first.click()
    assert page.evaluate("window.attacked") is None
    page.locator("#filters [name=text]").fill("python/api_usage/1")
    texts = []
    for place in range(page.locator("#sample-list button").count()):
        page.locator("#sample-list button").nth(place).click()
        texts.append(page.locator("#sample pre.answer").inner_text())
    assert XSS in texts
    assert page.evaluate("window.attacked") is None
    assert page.locator("#sample img").count() == 0
    page.locator("#filters [name=text]").fill("")


@needs_browser
def test_filters_narrow_the_list(page) -> None:
    before = int(page.locator("#sample-count").inner_text().split()[0])
    page.locator("#filters [name=language]").select_option("java")
    page.locator("#filters [name=status]").select_option("timeout")
    shown = page.locator("#sample-list button:not(.show-more)")
    assert 0 < shown.count() < before
    assert all("/java/" in text and "timeout" in text for text in shown.all_inner_texts())
    assert "timeout" in page.locator("#sample .message").inner_text()
    page.locator("#filters [name=language]").select_option("")
    page.locator("#filters [name=status]").select_option("")


@needs_browser
def test_answers_of_two_models_stand_side_by_side(page) -> None:
    shown = page.locator("#sample .pair figure")
    assert shown.count() == 2
    names = [text.split(":")[0] for text in shown.locator("figcaption").all_text_contents()]
    assert len(set(names)) == 2
    choice = page.locator("#sample select")
    choice.select_option(index=choice.locator("option").count() - 1)
    assert shown.nth(1).locator("figcaption").text_content().split(":")[0] != names[1]


@needs_browser
def test_what_runs_nothing_is_followed_or_not(page) -> None:
    script = (files("caretbench.reports") / "templates" / "report.js").read_text()
    body = script[script.index("const outcome = ") : script.index('fill("status", entries.map(outcome)')]
    cases = [[0, True], [0, False], [1, True], [1, None]]
    program = (
        "const [PROBLEM, STATUS, PASSED] = [0, 1, 2], problems = [{instructed: true}, {instructed: false}];"
        "const text = (place) => place, words = (value) => value === null ? 'none' : value;"
        f"{body}; return {json.dumps(cases)}.map(([problem, passed]) => outcome([problem, null, passed]))"
    )
    assert page.evaluate(f"() => {{ {program} }}") == ["followed", "not followed", "right", "none"]


@needs_browser
def test_arrow_keys_walk_through_the_samples(page) -> None:
    buttons = page.locator("#sample-list button")
    buttons.first.focus()
    page.keyboard.press("ArrowDown")
    assert buttons.nth(1).get_attribute("aria-current") == "true"
    assert buttons.first.get_attribute("aria-current") is None


@needs_browser
def test_blanks_show_in_the_diff(page) -> None:
    page.locator("#filters [name=text]").fill("python/api_usage/1")
    marks = []
    for place in range(page.locator("#sample-list button").count()):
        page.locator("#sample-list button").nth(place).click()
        marks += page.locator("#sample pre.diff ins").all_inner_texts()
    assert "··" in marks
    page.locator("#filters [name=text]").fill("")


@needs_browser
def test_a_discordant_case_opens_in_the_browser(page) -> None:
    link = page.locator("#discordant tbody a").first
    problem = link.inner_text()
    link.click()
    assert page.locator("#sample h3").inner_text() == problem
    assert page.faults == []
    page.evaluate("document.getElementById('filters').reset()")


@needs_browser
def test_tables_sort_by_number(page) -> None:
    table = page.locator("table.sortable").first
    head = table.locator("th button", has_text="pass@1").first
    head.click()
    rates = [float(text.split("%")[0]) for text in table.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert rates == sorted(rates, reverse=True)
    head.click()
    assert table.locator("th[aria-sort=ascending]").count() == 1


def test_a_comparison_is_a_page_and_a_section(run: LoadedRun, summary: Summary) -> None:
    alone, inside = render_comparison(compare_runs([run])), render_html(summary, run, samples=0)
    assert "Ministral-3B" in alone
    assert "p (tests)" in alone
    assert 'id="comparison"' in inside
    assert 'id="chart-data"' not in alone


def test_the_scripts_of_charts_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    made: list[int] = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: f"// scripts {made.append(1)}")
    first, second = page_module._vega_bundle.__wrapped__(), page_module._vega_bundle.__wrapped__()
    assert (first, len(made)) == (second, 1)
    assert [path.parent.name for path in tmp_path.rglob("vega-*.js")] == ["page"]
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "page" / next((tmp_path / "page").iterdir()).name))
    assert page_module._vega_bundle.__wrapped__() == first  # a folder that cannot be written
    assert len(made) == 2
