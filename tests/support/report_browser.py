"""Reports open in a real Chromium without a network, at the widths and in the colour schemes that tests look at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; apt install chromium")

WIDE = (1300, "light")
PHONE = (400, "dark")
PAPER = (720, "light")
"""Width of an A4 page between its margins, in pixels of a screen."""

# Heads of tables are hidden on a phone, where each field has its own.
_CUT = """(paper) => [...document.querySelectorAll("main *, footer *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .filter((one) => paper || !one.closest(".scroll")).filter((one) => !one.closest("pre, .unseen"))
    .filter((one) => !one.closest("thead") || getComputedStyle(one.closest("thead")).position !== "absolute")
    .map((one) => `${one.tagName} ${one.className}: ${(one.textContent || "").slice(0, 60)}`)"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Provide the browser."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, report: Path, look: tuple[int, str]) -> Iterator[tuple[Page, list[str]]]:
    """Provide an open report with its charts drawn, and the messages that it writes to the console."""
    width, scheme = look
    context = browser.new_context(
        offline=True, viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    said: list[str] = []
    try:
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(report.as_uri())
        page.wait_for_function(
            "[...document.querySelectorAll('.chart')].every((one) => one.querySelector('svg'))", timeout=60_000
        )
        yield page, said
    finally:
        context.close()


def open_all_parts(page: Page) -> None:
    """Open everything that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def cut_elements(page: Page, *, paper: bool = False) -> list[str]:
    """Return the elements that reach over the right edge; on paper also those in tables, which cannot scroll there."""
    return [str(found) for found in page.evaluate(_CUT, paper)]
