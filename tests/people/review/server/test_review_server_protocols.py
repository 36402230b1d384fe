"""Every protocol on real items in a real Chromium, by keys; and a browser that is killed, full, or enlarged."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from playwright.sync_api import Browser, BrowserContext, Page

from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.protocol import ReviewProtocol, load_protocol, protocol_names
from caretbench.people.review.records import ReviewItem
from caretbench.people.review.review_items import problem_items, run_items
from caretbench.suites import load_problems, load_suite
from tests.people.review.server.test_review_server_browser import stored
from tests.support.axe import axe_script, serious_findings
from tests.support.questions import question_problems
from tests.support.report_browser import CHROMIUM, chromium, needs_browser
from tests.support.review_pages import joined, open_item, press, ready, settled
from tests.support.review_server import made_item, make_review, running_server
from tests.support.simulated_people import run_of, starter_run

pytestmark = needs_browser
SUITES = {"reference-check": "codevbench"}
"""Suites of the protocols that are for all suites; the first of the protocol's own otherwise, or devbench."""


def walked(*names: str) -> list[Any]:
    """The protocols; a walk costs 8 CPU seconds, so that all but ``names``, which show what no other does, are long."""
    return [pytest.param(name, marks=[] if name in names else [pytest.mark.long]) for name in protocol_names()]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def real_items(name: str, folder: Path) -> tuple[ReviewProtocol, Sequence[ReviewItem]]:
    """The protocol, and items of the starter problems of its suite, or of answers to them."""
    protocol = load_protocol(name)
    if name == "efcb-answer":
        run = run_of(folder / "run", "efcb", question_problems(), ("It adds a clock, which the server shows.",))
        found = run_items(run, protocol, criterion="efcb-description")
        return found.protocol, found.items
    if protocol.subject == "answer":
        found = run_items(starter_run(folder / "run"), protocol, texts=12)
        return found.protocol, found.items
    suite = load_suite(next(iter(protocol.suites), SUITES.get(name, "devbench")))
    return protocol, problem_items(load_problems(suite, "starter").problems[:12], protocol)


def decide(page: Page) -> int:
    """Answer every open question by its first key; return the number of keys."""
    before = open_item(page)
    keys = 0
    while open_item(page) == before:
        question = page.get_attribute("fieldset.active", "data-question")
        key = page.get_attribute("fieldset.active input", "data-key")
        assert key is not None
        page.keyboard.press(key)
        keys += 1
        for _ in range(100):  # a decision is stored before the next item opens, which takes time on a busy machine
            if open_item(page) != before or page.get_attribute("fieldset.active", "data-question") != question:
                break
            page.wait_for_timeout(30)
        assert keys < 12
    return keys


# A problem with five questions and its difference to the reference; an answer with a judge's question.
@pytest.mark.parametrize("name", walked("devbench-instance", "efcb-answer"))
def test_a_protocol_is_walked_by_keys(browser: Browser, tmp_path: Path, name: str) -> None:
    protocol, items = real_items(name, tmp_path)
    with ReviewDatabase.create(tmp_path / "review", protocol, items, 0) as database:
        secret = database.invite("ann", "reviewer")
    script = axe_script()
    with running_server(tmp_path / "review") as server:
        page = joined(browser, server, secret, viewport={"width": 360, "height": 740}, bypass_csp=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert serious_findings(page, script) == []
        if "reference" in protocol.shows:
            page.keyboard.press("d")
            assert page.is_visible("details.reference[open] pre.diff")
        keys = [decide(page) for _ in range(3)]
        settled(page)
        assert page.faults == []  # type: ignore[attr-defined]
        page.context.close()
    events = stored(tmp_path / "review")
    assert len(events) == 3
    assert max(keys) <= 6
    for event in events:
        assert protocol.faults(event.answers, event.note, 9) is None


SMALL = """() => [...document.querySelectorAll("button, summary, .tools a, .options label")]
    .filter((one) => one.offsetParent && Math.min(one.offsetWidth, one.offsetHeight) < 44)
    .map((one) => one.outerHTML)"""
"""Targets of fingers that are narrower or lower than 44 pixels."""
SECOND_TAP = """() => new MutationObserver((_, observer) => {
    const input = document.querySelector("form.answers input[type=radio]");
    if (!input) return;
    observer.disconnect();
    input.closest("label").dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
    input.click();
}).observe(document.getElementById("entry"), { childList: true })"""
"""Taps the first answer of the next item in the moment in which it is shown."""


@pytest.mark.parametrize("name", walked("devbench-instance"))
def test_a_protocol_is_walked_by_touch(browser: Browser, tmp_path: Path, name: str) -> None:
    protocol, items = real_items(name, tmp_path)
    with ReviewDatabase.create(tmp_path / "review", protocol, items, 0) as database:
        secret = database.invite("ann", "reviewer")
    with running_server(tmp_path / "review") as server:
        phone: dict[str, object] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
        page = joined(browser, server, secret, **phone)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(SMALL) == []
        for _ in range(2):
            before = open_item(page)
            page.wait_for_timeout(350)  # a tap in the first moments belongs to the item before
            page.evaluate(SECOND_TAP)
            while open_item(page) == before:
                question = page.get_attribute("fieldset.active", "data-question")
                page.locator("fieldset.active label").first.tap()
                for _ in range(100):
                    if open_item(page) != before or page.get_attribute("fieldset.active", "data-question") != question:
                        break
                    page.wait_for_timeout(30)
            shown = page.locator("mark, .labels").first.bounding_box()
            assert shown is not None
            assert 0 <= shown["y"] < 844
        settled(page)
        page.get_by_role("button", name="Undo").tap()
        page.wait_for_function(
            "(now) => document.querySelector('form.answers').dataset.item === now", arg=str(before)[:-2]
        )
        settled(page)
        assert page.faults == []  # type: ignore[attr-defined]
        page.context.close()
    assert [event.kind for event in stored(tmp_path / "review")] == ["decision", "decision", "withdrawal"]


@pytest.mark.long  # axe and keys in a narrow window, as in the walks
def test_at_200_percent_nothing_is_cut(browser: Browser, tmp_path: Path) -> None:
    protocol, items = real_items("devbench-instance", tmp_path)
    with ReviewDatabase.create(tmp_path / "review", protocol, items, 0) as database:
        secret = database.invite("ann", "reviewer")
    with running_server(tmp_path / "review") as server:
        # A window of 1,280 × 800 pixels at 200 % shows 640 × 400.
        options: dict[str, object] = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}
        page = joined(browser, server, secret, color_scheme="light", bypass_csp=True, **options)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert serious_findings(page, axe_script()) == []
        assert decide(page) == 5
        page.context.close()


def test_a_draft_survives_a_killed_browser(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path / "review", [made_item(1)], {"ann": "reviewer"})
    profile = tmp_path / "profile"

    def launched() -> BrowserContext:
        return browser.browser_type.launch_persistent_context(profile, executable_path=CHROMIUM, args=["--no-sandbox"])

    with running_server(tmp_path / "review") as server:
        context = launched()
        joined(context, server, secrets["ann"])
        context.close()  # a browser writes its cookies to disk half a minute later, or when it ends
        page = launched().new_page()
        page.goto(server.address)
        ready(page)
        page.keyboard.press("4")
        page.keyboard.press("n")
        page.keyboard.type("half a thou")
        page.wait_for_timeout(500)
        killed = 0
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(profile).encode() in words:
                os.kill(int(process.name), signal.SIGKILL)
                killed += 1
        assert killed
        (profile / "SingletonLock").unlink(missing_ok=True)
        context = launched()
        page = context.new_page()
        page.goto(server.address)
        ready(page)
        assert page.input_value("textarea") == "half a thou"
        assert page.eval_on_selector_all("input:checked", "found => found.map((one) => one.value)") == ["4"]
        context.close()


def test_a_browser_without_space_says_so_and_keeps_the_item_open(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(3)], {"ann": "reviewer"})
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        first = open_item(page)
        cdp = page.context.new_cdp_session(page)
        cdp.send("Storage.overrideQuotaForOrigin", {"origin": server.address, "quotaSize": 1})
        page.keyboard.press("n")
        page.fill("textarea", "x" * 15_000)
        page.keyboard.press("Escape")
        for key in "3333a":
            page.keyboard.press(key)
        page.wait_for_function("() => document.querySelector('.error').textContent.startsWith('Not kept')")
        assert open_item(page) == first
        assert stored(tmp_path) == []
        cdp.send("Storage.overrideQuotaForOrigin", {"origin": server.address})
        press(page, "a")
        settled(page)
        assert [event.item for event in stored(tmp_path)] == [str(first)[:-2]]
        page.context.close()
