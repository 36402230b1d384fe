"""Reports of every suite in a real browser: findings of axe, the console, overflow, keyboard and print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.reports.output.page import render_html
from caretbench.reports.run_summary import summarise
from tests.support.axe import axe_script, serious_findings
from tests.support.made_answers import suite_report
from tests.support.report_browser import (
    PAPER,
    PHONE,
    WIDE,
    chromium,
    cut_elements,
    needs_browser,
    open_all_parts,
    opened,
)
from tests.support.report_runs import make_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [needs_browser, pytest.mark.dear]

LIMITS: Mapping[str, int] = {"devbench": 24, "simcopilot": 24, "efcb": 600, "c3bench": 60, "codevbench": 24}
"""Suites, each with the number of starter problems of its report."""
MADE_UP = "made-up"
"""Report of a made-up run, which has every chart."""

_CONTROLS = "a[href], button, select, input, summary, [tabindex='0']"
_REACHED = "document.activeElement.dataset.reached = 'yes'"
_MISSED = f"""[...document.querySelectorAll("{_CONTROLS}")]
    .filter((one) => one.checkVisibility() && !one.dataset.reached).map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(per_cell=4, samples=3)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(summarise(run), run, published=True), "utf-8")
    return path


@pytest.fixture(scope="module", params=[MADE_UP, *(pytest.param(name, marks=pytest.mark.long) for name in LIMITS)])
def report(request: pytest.FixtureRequest, made_up: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a suite."""
    if request.param == MADE_UP:
        return made_up
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    return suite_report(request.param, tmp_path_factory.mktemp(request.param), LIMITS[request.param])


@pytest.mark.requires("axe")
@pytest.mark.parametrize("look", [PHONE, pytest.param(WIDE, marks=pytest.mark.long)])  # dark and folded
def test_axe_finds_nothing_serious(browser: Browser, report: Path, look: tuple[int, str]) -> None:
    script = axe_script()
    with opened(browser, report, look) as (page, _):
        assert serious_findings(page, script) == []
        open_all_parts(page)
        assert serious_findings(page, script) == []


@pytest.mark.parametrize("look", [WIDE, PHONE])
def test_nothing_is_cut_and_the_console_is_silent(browser: Browser, report: Path, look: tuple[int, str]) -> None:
    with opened(browser, report, look) as (page, said):
        open_all_parts(page)
        assert cut_elements(page, paper=look == PHONE) == []
        assert page.evaluate("document.documentElement.scrollWidth") == look[0]
        assert said == []


def test_print_cuts_no_column(browser: Browser, report: Path) -> None:
    with opened(browser, report, PAPER) as (page, _):
        open_all_parts(page)
        page.emulate_media(media="print")
        assert cut_elements(page, paper=True) == []


@pytest.mark.requires("axe")
def test_a_finding_of_axe_is_seen(browser: Browser, made_up: Path) -> None:
    script = axe_script()
    with opened(browser, made_up, WIDE) as (page, _):
        page.evaluate("document.querySelector('#filters select').closest('label').firstChild.remove()")
        assert [found for found in serious_findings(page, script) if found.startswith("select-name (critical)")]


@pytest.mark.parametrize("look", [WIDE, PHONE])
def test_tab_reaches_every_control(browser: Browser, made_up: Path, look: tuple[int, str]) -> None:
    with opened(browser, made_up, look) as (page, _):
        open_all_parts(page)
        for _ in range(page.locator(_CONTROLS).count() + 20):
            page.keyboard.press("Tab")
            page.evaluate(_REACHED)
        assert page.evaluate(_MISSED) == []


def test_tables_and_samples_work_by_keyboard(browser: Browser, made_up: Path) -> None:
    with opened(browser, made_up, WIDE) as (page, _):
        button = page.locator("table.sortable th button", has_text="pass@1").first
        _press(page, button.element_handle(), "Enter")
        assert page.locator("table.sortable").first.locator("th[aria-sort=descending]").count() == 1
        sample = page.locator("#sample-list button").nth(5)
        _press(page, sample.element_handle(), "Enter")
        assert sample.get_attribute("aria-current") == "true"
        assert page.locator("#sample h3").inner_text() == sample.locator(".name").inner_text()


def test_parts_are_closed_on_a_phone_only(browser: Browser, made_up: Path) -> None:
    with opened(browser, made_up, WIDE) as (page, _):
        assert page.locator("details.part:not([open])").count() == 0
    with opened(browser, made_up, PHONE) as (page, _):
        assert page.locator("details.part[open]").count() == 0
        assert page.locator("main").bounding_box()["height"] < 3000
        _press(page, page.locator("#manifest summary").element_handle(), "Enter")
        assert page.locator(".manifest").is_visible()
        page.locator("nav a[href='#samples']").click()
        assert page.locator("#sample h3").is_visible()
        closed = page.locator("details.part:not([open])").count()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details.part:not([open])").count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details.part:not([open])").count() == closed


def test_without_scripts_all_parts_are_there(browser: Browser, made_up: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 400, "height": 900})
    try:
        page = context.new_page()
        page.goto(made_up.as_uri())
        assert page.locator("details.part[open]").count() == page.locator("details.part").count() > 3
        assert page.locator(".manifest").is_visible()
    finally:
        context.close()


def _press(page: Page, control: object, key: str) -> None:
    """Move to a control by Tab, and press a key there."""
    for _ in range(600):
        page.keyboard.press("Tab")
        if page.evaluate("(one) => document.activeElement === one", control):
            page.keyboard.press(key)
            return
    pytest.fail("Tab does not reach the control")
