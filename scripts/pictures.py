"""Write docs/images: the top of every suite's report, and a review, at the width of a desk and of a phone.

``python -m scripts.pictures`` scores made-up answers in the sandbox, which takes minutes; its runs are in
``runs/pictures``, and a second call continues there.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.exchange import reopen_items
from caretbench.people.review.queues import rank
from caretbench.people.review.records import OWNER
from caretbench.people.review.review_items import demo_review
from caretbench.people.review.state import ReviewState
from tests.support.made_answers import SUITES, suite_report
from tests.support.report_browser import chromium, opened
from tests.support.review_server import running_server
from tests.support.simulated_people import decide_all

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from caretbench.people.review.records import ReviewItem

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTHS = (1300, 400)
SCHEMES = ("light", "dark")
SCALES = ("usefulness", "realism", "category_alignment", "complexity_authenticity")
LARGEST = 100_000
"""Maximum size of a picture in bytes."""
QUALITIES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)

_ENCODE = """async ([png, quality]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


def encoded(page: Page, picture: bytes) -> bytes:
    """Return a PNG as WebP, in the best quality that keeps it below :data:`LARGEST`."""
    for quality in QUALITIES:
        found = base64.b64decode(page.evaluate(_ENCODE, [base64.b64encode(picture).decode(), quality]))
        if len(found) <= LARGEST:
            return found
    raise ValueError(f"the picture has {len(found)} bytes even at quality {QUALITIES[-1]}; make it smaller")


def save(page: Page, name: str) -> None:
    """Write a picture of a page; a page of its own encodes it, since others may refuse its address."""
    browser = page.context.browser
    assert browser is not None  # noqa: S101  # only a persistent context has none
    blank = browser.new_page()
    picture = encoded(blank, page.screenshot())
    blank.close()
    path = IMAGES / f"{name}.webp"
    path.write_bytes(picture)
    print(path.relative_to(ROOT), len(picture))  # noqa: T201


def report_pictures(browser: Browser, runs: Path) -> None:
    """Write pictures of the reports."""
    for suite, limit in SUITES.items():
        report = suite_report(suite, runs / suite, limit)
        # The page about reports shows one suite in every look: the others look alike in the dark and on a phone.
        looks = [(width, scheme) for width in WIDTHS for scheme in SCHEMES]
        for width, scheme in looks if suite == "devbench" else looks[:1]:
            with opened(browser, report, (width, scheme)) as (page, _):
                save(page, f"{suite}-{width}-{scheme}")


def review_pictures(browser: Browser, folder: Path) -> None:
    """Write pictures of the page for reviewers, and of the owner's page after decisions by a rule."""
    demo_review(folder)

    def rule(item: ReviewItem, name: str) -> dict[str, int | str]:
        draws = rank(1, item.id, name)
        scales = ("usefulness", "realism", "category_alignment", "complexity_authenticity")
        answers: dict[str, int | str] = {
            scale: 3 + rank(1, item.id, scale)[0] % 3 - int(draw > 200)
            for scale, draw in zip(scales, draws, strict=False)
        }
        if draws[5] < 60:
            return answers | {"decision": "reject", "reason": "too-simple"}
        return answers | {"decision": "accept"}

    decide_all(folder, ("ann", "bob"), rule)
    with ReviewDatabase(folder / DATABASE_NAME) as database:
        secrets = {width: database.invite(f"cyd-{width}", "adjudicator") for width in WIDTHS}
        owner = database.invite(OWNER, "owner")
        state = ReviewState(database)
        reopen_items(state, list(state.kinds)[:2])
        reviewer = {
            width: database.invite(name, "reviewer") for width, name in zip(WIDTHS, ("ann", "bob"), strict=True)
        }
    with running_server(folder) as server:
        for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
            for kind, secret in (("review", reviewer[width]), ("review-adjudicator", secrets[width])):
                context = browser.new_context(viewport={"width": width, "height": 760}, color_scheme=scheme)  # type: ignore[arg-type]
                page = context.new_page()
                page.goto(f"{server.address}/join/{secret}")
                page.click("button")
                page.wait_for_selector("html[data-ready]")
                page.keyboard.press("4")
                save(page, f"{kind}-{width}-{scheme}")
                context.close()
        page = browser.new_page(viewport={"width": WIDTHS[0], "height": 760})
        page.goto(f"{server.address}/join/{owner}")
        page.click("button")
        save(page, f"review-owner-{WIDTHS[0]}-light")


if __name__ == "__main__":
    runs = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "runs" / "pictures").resolve()
    IMAGES.mkdir(exist_ok=True)
    with chromium() as browser, tempfile.TemporaryDirectory() as temporary:
        review_pictures(browser, Path(temporary) / "review")
        report_pictures(browser, runs)
