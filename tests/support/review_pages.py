"""Pages of reviewers in a real browser, used by keyboard."""

from __future__ import annotations

from collections.abc import Iterable

from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.review_server import ReviewServer


def joined(browser: Browser | BrowserContext, server: ReviewServer, secret: str, **options: object) -> Page:
    """A page of a person who has used the link by keyboard; console messages and errors of the page fail the test."""
    context = browser.new_context(**options) if isinstance(browser, Browser) else browser  # type: ignore[arg-type]
    page = context.new_page()
    page.faults = []  # type: ignore[attr-defined]
    page.on("console", lambda message: page.faults.append(message.text))  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.faults.append(str(error)))  # type: ignore[attr-defined]
    page.goto(f"{server.address}/join/{secret}")
    page.wait_for_selector("button:focus")
    page.keyboard.press("Enter")
    ready(page)
    return page


def ready(page: Page) -> None:
    page.wait_for_selector("html[data-ready]", timeout=60_000)


def open_item(page: Page) -> str | None:
    form = page.query_selector("form.answers")
    return None if form is None else f"{form.get_attribute('data-item')}:{form.get_attribute('data-repeat')}"


def press(page: Page, keys: Iterable[str]) -> None:
    """Press keys, and wait until another entry stands, or the queue is at its end."""
    before = open_item(page)
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_function(
        "(before) => { const form = document.querySelector('form.answers');"
        " return !form ? document.querySelector('.done') : `${form.dataset.item}:${form.dataset.repeat}` !== before; }",
        arg=before,
    )


def settled(page: Page) -> None:
    """Wait until no decision waits for the server."""
    page.wait_for_function(
        "() => document.getElementById('waiting').hidden && !document.documentElement.hasAttribute('data-sending')",
        timeout=60_000,
    )
