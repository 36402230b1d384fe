"""The review page in a real Chromium, by keyboard, with a server that is slow, killed or absent."""

from __future__ import annotations

import random
import signal
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from playwright.sync_api import Browser, BrowserContext, Page

from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.protocol import ItemMix, load_protocol
from caretbench.people.review.records import ReviewEvent
from caretbench.people.review.state import ReviewState
from tests.people.review.test_review_state import decided
from tests.support.axe import axe_script, serious_findings
from tests.support.report_browser import CHROMIUM, chromium, needs_browser
from tests.support.review_pages import joined, open_item, press, ready, settled
from tests.support.review_server import PROTOCOL, SEVERAL, made_item, make_review, running_server, starter_items

pytestmark = needs_browser
PEOPLE = {"ann": "reviewer", "bob": "reviewer", "eve": "adjudicator"}
LATE = """() => {
    const fetched = window.fetch;
    window.fetch = async (...all) => { await new Promise((done) => setTimeout(done, 500)); return fetched(...all); };
}"""
"""Delays every request of the page's script by half a second."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def stored(folder: Path) -> list[ReviewEvent]:
    with ReviewDatabase(folder / DATABASE_NAME) as database:
        return [event for _, event in database.events()]


def test_an_item_is_decided_by_five_keys_and_undone_by_one(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(3)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        first = open_item(page)
        press(page, "4344a")
        assert open_item(page) != first
        page.keyboard.press("u")
        page.wait_for_function(f"() => document.querySelector('form.answers').dataset.item === '{str(first)[:-2]}'")
        assert checked(page) == ["4", "3", "4", "4", "accept"]
        press(page, "r2")
        press(page, "l")
        settled(page)
        kinds = [event.kind for event in stored(tmp_path)]
        assert kinds == ["decision", "withdrawal", "decision", "later"]
        assert stored(tmp_path)[2].answers["reason"] == "low-complexity"
        assert page.faults == []  # type: ignore[attr-defined]
        page.context.close()


def test_keys_do_nothing_in_a_text_field_and_can_be_changed(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(3)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        page.keyboard.press("n")
        page.keyboard.type("a real 5")
        assert page.input_value("textarea") == "a real 5"
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.click("dialog[open] button[aria-label*='Accept']")
        page.keyboard.press("r")
        assert "taken" in page.inner_text("dialog[open] .error")
        page.click("dialog[open] button[aria-label*='Accept']")
        page.keyboard.press("y")
        page.keyboard.press("Escape")
        press(page, "1111y")
        settled(page)
        [event] = stored(tmp_path)
        assert (event.answers["decision"], event.note) == ("accept", "a real 5")
        page.context.close()


def test_a_draft_survives_a_closed_browser(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path / "review", [made_item(1)], PEOPLE)

    def launched() -> BrowserContext:
        return browser.browser_type.launch_persistent_context(
            tmp_path / "profile", executable_path=CHROMIUM, args=["--no-sandbox"]
        )

    with running_server(tmp_path / "review") as server:
        context = launched()
        page = joined(context, server, secrets["ann"])
        page.keyboard.press("4")
        page.keyboard.press("n")
        page.keyboard.type("half a thou")
        page.wait_for_timeout(300)
        context.close()
        context = launched()
        page = context.new_page()
        page.goto(server.address)
        ready(page)
        assert page.input_value("textarea") == "half a thou"
        assert checked(page) == ["4"]
        context.close()


def test_decisions_wait_in_the_browser_while_the_server_is_away(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(14)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        server.stop(signal.SIGKILL)
        for _ in range(10):
            press(page, "3333a")
        page.wait_for_function("() => document.getElementById('waiting').textContent.startsWith('10 decisions wait')")
        server.start()
        settled(page)
        events = stored(tmp_path)
        assert len(events) == len({event.item for event in events}) == 10
        page.context.close()


def checked(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all("input:checked", "found => found.map((one) => one.value)")
    return found


@pytest.mark.long  # undoing, as by the keys above
def test_the_last_decision_before_a_reload_can_be_undone(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(3)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        first = open_item(page)
        press(page, "4321a")
        settled(page)
        page.reload()
        ready(page)
        press(page, "u")
        assert open_item(page) == first
        assert checked(page) == ["4", "3", "2", "1", "accept"]
        settled(page)
        assert [event.kind for event in stored(tmp_path)] == ["decision", "withdrawal"]
        page.context.close()


@pytest.mark.long  # undoing, as by the keys above
def test_an_older_decision_has_a_way_back(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(4)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        first = open_item(page)
        for keys in ("4321a", "1111a", "2222a"):
            press(page, keys)
        settled(page)
        page.click("text=Your decisions")
        page.wait_for_selector("h1:has-text('Your decisions')")
        assert page.locator("tbody tr").count() == 3
        page.locator("tbody tr").last.get_by_role("button", name="Decide again").click()
        ready(page)
        assert (open_item(page), checked(page)) == (first, ["4", "3", "2", "1", "accept"])
        press(page, "5555a")
        settled(page)
        events = stored(tmp_path)
        assert [event.kind for event in events] == ["decision"] * 3 + ["withdrawal", "decision"]
        assert {f"{event.item}:0" for event in events[3:]} == {first}
        assert page.faults == []  # type: ignore[attr-defined]
        page.context.close()


def test_the_page_of_a_first_person_sends_nothing_as_the_second(browser: Browser, tmp_path: Path) -> None:
    """Whoever tries two links in one browser has the first page still open; its decisions are its person's."""
    secrets = make_review(tmp_path, [made_item(number) for number in range(6)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        press(page, "3333a")
        settled(page)
        page.route("**/api/**", lambda route: route.abort())
        other = joined(page.context, server, secrets["bob"])
        assert other.inner_text("#person") == "bob"
        press(page, "3333a")
        page.unroute("**/api/**")
        page.evaluate("() => dispatchEvent(new Event('online'))")
        page.wait_for_selector(".foreign")
        assert "now bob's" in page.inner_text(".foreign")
        press(other, "4444a")
        settled(other)
        assert [event.person for event in stored(tmp_path)] == ["ann", "bob"]
        with ReviewDatabase(tmp_path / DATABASE_NAME) as database:
            again = database.invite("ann", "reviewer")
        third = joined(page.context, server, again)
        settled(third)
        assert sorted(event.person for event in stored(tmp_path)) == ["ann", "ann", "bob"]
        page.context.close()


def test_an_arrow_never_sends(browser: Browser, tmp_path: Path) -> None:
    """Chromium makes a click of an arrow: on the way from 1 to 5, each number is chosen once."""
    protocol = load_protocol("completion-quality").model_copy(update={"mix": ItemMix()})
    with ReviewDatabase.create(tmp_path, protocol, [made_item(number) for number in range(3)], 0) as database:
        secret = database.invite("ann", "reviewer")
    with running_server(tmp_path) as server:
        page = joined(browser, server, secret)
        first = open_item(page)
        page.keyboard.press("4")
        page.focus("fieldset:last-of-type input")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(300)
        assert (open_item(page), checked(page)) == (first, ["4", "3"])
        press(page, ["Enter"])
        page.wait_for_function("() => document.activeElement.matches('fieldset input')")
        press(page, "u")
        page.focus("fieldset:first-of-type input")
        for key in ("ArrowRight", "ArrowLeft", " "):
            page.keyboard.press(key)
        page.wait_for_timeout(300)
        assert open_item(page) == first
        # The pointer on an earlier question after an undo changes it; on the last one it sends, though it was chosen.
        page.click("fieldset:first-of-type label:nth-child(3)")
        page.wait_for_timeout(300)
        assert (open_item(page), checked(page)) == (first, ["2", "3"])
        page.click("fieldset:last-of-type label:nth-child(4)")
        page.wait_for_function(f"() => document.querySelector('form.answers').dataset.item !== '{str(first)[:-2]}'")
        settled(page)
        answers = [dict(event.answers) for event in stored(tmp_path) if event.kind == "decision"]
        assert answers == [{"relevance": 4, "helpfulness": 3}, {"relevance": 2, "helpfulness": 3}]
        page.context.close()


@pytest.mark.long  # undoing, as by the keys above
def test_after_an_undo_digits_begin_at_the_first_question(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(3)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        first = open_item(page)
        press(page, "4444a")
        press(page, "u")
        assert page.inner_text("fieldset.active .place") == "1"
        page.keyboard.press("2")
        page.wait_for_selector("fieldset.active[data-question=realism]")
        assert checked(page) == ["2", "4", "4", "4", "accept"]
        page.click("fieldset[data-question=complexity_authenticity] legend")
        page.focus("fieldset[data-question=complexity_authenticity] input")
        page.keyboard.press("1")
        page.wait_for_selector("fieldset.active[data-question=decision]")
        assert (open_item(page), checked(page)) == (first, ["2", "4", "4", "1", "accept"])
        press(page, "a")
        settled(page)
        assert list(stored(tmp_path)[-1].answers.values()) == [2, 4, 4, 1, "accept"]
        page.context.close()


def test_the_adjudicator_compares_in_a_table(browser: Browser, tmp_path: Path) -> None:
    """At 1366 × 768 the item's category and every scale are seen without scrolling the page."""
    items = [made_item(number, before="a = 1\n" * 80, after="b = 2\n" * 80) for number in range(2)]
    secrets = make_review(tmp_path, items, PEOPLE)
    with ReviewDatabase(tmp_path / DATABASE_NAME) as database:
        state = ReviewState(database)
        for item in items:
            for name, decision in (("ann", "accept"), ("bob", "reject")):
                state.add(decided(name, item.id, decision))
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["eve"], viewport={"width": 1366, "height": 768})
        header = page.eval_on_selector("header", "(node) => node.getBoundingClientRect().bottom")
        assert page.eval_on_selector(".labels", "(node) => node.getBoundingClientRect().top") >= header
        page.keyboard.press("2")
        page.keyboard.press("5")
        page.wait_for_selector("fieldset.active[data-question=category_alignment]")
        assert page.eval_on_selector_all("td[data-yours]", "(all) => all.map((cell) => cell.textContent)")[:2] == [
            "2",
            "5",
        ]
        assert page.locator("tr.differs").count() == 2
        rows = page.eval_on_selector_all(
            "fieldset[data-question=realism] label", "(all) => all.map((one) => one.getBoundingClientRect().top)"
        )
        assert len(set(rows)) == 5, "one number a row"
        press(page, "33a")
        assert page.eval_on_selector(".labels", "(node) => node.getBoundingClientRect().top") >= header
        page.context.close()


@pytest.mark.long  # answering, as by the keys above
def test_a_key_that_is_held_down_answers_once(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(3)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        for _ in range(6):  # the second and later ones are repeats
            page.keyboard.down("3")
        page.wait_for_timeout(300)
        assert checked(page) == ["3"]
        page.keyboard.up("3")
        page.keyboard.press("?")
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(200)
        assert page.inner_text("form.answers .error") == ""
        page.context.close()


def test_a_screen_reader_has_names_for_all_that_is_answered(browser: Browser, tmp_path: Path) -> None:
    """By roles and names of the accessibility tree alone, an item is decided and the next one is announced."""
    secrets = make_review(tmp_path, [made_item(number) for number in range(3)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        for question in PROTOCOL.questions[:4]:
            group = page.get_by_role("group", name=question.text)
            answer = group.get_by_role("radio", name=f"3, {question.anchors['3']}", exact=True)
            answer.focus()
            page.keyboard.press(" ")
            assert answer.is_checked()
        page.get_by_role("group", name="Keep the problem?").get_by_role("radio", name="Accept", exact=True).focus()
        page.keyboard.press(" ")
        before = page.get_by_role("status").first.inner_text()
        page.get_by_role("button", name="Send").focus()
        press(page, ["Enter"])
        assert "1 of 3 decided" in page.get_by_role("status").first.inner_text() != before
        page.context.close()


def test_two_tabs_of_one_person_do_not_decide_an_item_twice(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(6)], PEOPLE)
    with running_server(tmp_path) as server:
        page = joined(browser, server, secrets["ann"])
        other = page.context.new_page()
        other.goto(server.address)
        ready(other)
        first = open_item(page)
        assert open_item(other) == first
        press(page, "3333a")
        other.wait_for_function(f"() => document.querySelector('form.answers').dataset.item !== '{str(first)[:-2]}'")
        press(other, "3333a")
        settled(other)
        assert len({event.item for event in stored(tmp_path)}) == 2
        page.context.close()


def test_hostile_texts_are_shown_as_code_and_axe_finds_nothing(browser: Browser, tmp_path: Path) -> None:
    hostile = (
        "<script>document.title='ran'</script><img src='https://evil.example/x' onerror=\"document.title='ran'\">\n"
        "\x1b[31m \u202e hidden \x00 " + "x" * 2_000_000 + "\n"
    )
    item = made_item(1, before=hostile, span=hostile, after=hostile, tests=hostile, instruction=hostile)
    secrets = make_review(tmp_path, [item], PEOPLE)
    script = axe_script()
    with running_server(tmp_path) as server:
        for scheme, width in (("light", 1300), ("dark", 360)):
            secret = secrets.pop("ann", None) or secrets.pop("bob")
            size = {"width": width, "height": 800}
            page = joined(browser, server, secret, color_scheme=scheme, viewport=size, bypass_csp=scheme == "dark")
            requests: list[str] = []
            page.on("request", lambda request, seen=requests: seen.append(request.url))  # type: ignore[misc]
            page.reload()
            ready(page)
            assert page.title() != "ran"
            assert "<script>" in page.inner_text("article .program")
            assert all(address.startswith(server.address) for address in requests)
            assert page.faults == []  # type: ignore[attr-defined]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            if scheme == "dark":
                assert serious_findings(page, script) == []
                page.keyboard.press("?")
                assert serious_findings(page, script) == []
            page.context.close()


@pytest.mark.long
def test_two_reviewers_and_an_adjudicator_take_36_items_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    """The next item stands at once, though the server answers half a second late."""
    secrets = make_review(tmp_path, starter_items(), PEOPLE)
    with running_server(tmp_path) as server:
        times: list[float] = []
        for name in ("ann", "bob"):
            page = joined(browser, server, secrets[name])
            page.evaluate(LATE)
            for number in range(36):
                for key in "4344":
                    page.keyboard.press(key)
                reject = name == "bob" and number % 6 == 0
                page.evaluate("() => { window.pressed = performance.now(); }")
                press(page, "r4" if reject else "a")
                shown = page.evaluate("() => performance.getEntriesByName('shown').pop().startTime - window.pressed")
                times.append(float(shown))
            settled(page)
            page.context.close()
        page = joined(browser, server, secrets["eve"])
        while open_item(page):
            press(page, "3333a")
        settled(page)
        page.context.close()
    assert statistics.median(times) < 100
    with ReviewDatabase(tmp_path / DATABASE_NAME) as database:
        state = ReviewState(database)
        states = [state.settled(item) for item in state.kinds]
    assert {found.value for found in states} == {"accept"}
    assert sum(found.state == "adjudicated" for found in states) == 6


@pytest.mark.long
def test_no_decision_is_lost_or_doubled_by_a_server_that_is_killed(browser: Browser, tmp_path: Path) -> None:
    secrets = make_review(tmp_path, [made_item(number) for number in range(60)], PEOPLE)
    randomness = random.Random(3)  # noqa: S311  # moments of a test
    with running_server(tmp_path) as server:
        pages = [joined(browser, server, secrets[name]) for name in ("ann", "bob")]
        made = 0
        for _ in range(20):
            for page in pages:
                for _ in range(randomness.randrange(1, 3)):
                    if open_item(page):
                        press(page, "3333a")
                        made += 1
            pages[0].wait_for_timeout(randomness.randrange(60))
            server.stop(signal.SIGKILL)
            server.start()
        for page in pages:
            page.evaluate("() => dispatchEvent(new Event('online'))")
            settled(page)
        events = stored(tmp_path)
        assert len(events) == made
        assert len({(event.person, event.item) for event in events}) == made
        for page in pages:
            page.context.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_several_values_and_words_are_given(browser: Browser, tmp_path: Path, scripts: bool) -> None:
    with ReviewDatabase.create(tmp_path, SEVERAL, [made_item(1)], seed=1) as database:
        secret = database.invite("ann", "reviewer")
    with running_server(tmp_path) as server:
        if scripts:
            page = joined(browser, server, secret)
            for key in ("3", "2", "1", "3", "Enter", "1"):  # Z, Y, X, not Z; Enter goes on; keep
                page.keyboard.press(key)
            page.wait_for_selector("textarea[name=q-why]:focus")
            page.keyboard.type("2 of 3")
            page.keyboard.press("Control+Enter")
            page.wait_for_selector(".done")
            settled(page)
            page.keyboard.press("u")
            page.wait_for_selector("form.answers")
            assert checked(page) == ["x", "y", "yes"]
            assert page.input_value("textarea[name=q-why]") == "2 of 3"
            press(page, ["Control+Enter"])
            settled(page)
            assert page.faults == []  # type: ignore[attr-defined]
        else:
            page = browser.new_context(java_script_enabled=False).new_page()
            page.goto(f"{server.address}/join/{secret}")
            page.click("button")
            for value in ("y", "x"):
                page.check(f"input[value={value}]")
            page.fill("textarea[name=q-why]", "2 of 3")
            page.check("input[value=yes]")
            page.click("button[value=decide]")
            page.wait_for_selector(".done")
        page.context.close()
    event = stored(tmp_path)[-1]
    assert event.answers == {"topics": "x+y", "why": "2 of 3", "keep": "yes"}
