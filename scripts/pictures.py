"""Write docs/images: the top of every suite's report at the width of a desk and of a phone, light and dark.

``python -m scripts.pictures`` scores made-up answers in the sandbox, which takes minutes; its runs are in
``runs/pictures``, and a second call continues there.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.made_answers import SUITES, suite_report
from tests.support.report_browser import chromium, opened

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTHS = (1300, 400)
SCHEMES = ("light", "dark")
LARGEST = 80_000
"""Maximum size of a picture in bytes."""
QUALITIES = (0.9, 0.8, 0.7, 0.6)

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


if __name__ == "__main__":
    runs = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "runs" / "pictures"
    IMAGES.mkdir(exist_ok=True)
    with chromium() as browser:
        for suite, limit in SUITES.items():
            report = suite_report(suite, runs / suite, limit)
            for width in WIDTHS:
                for scheme in SCHEMES:
                    with opened(browser, report, (width, scheme)) as (page, _):
                        picture = encoded(page, page.screenshot())
                    path = IMAGES / f"{suite}-{width}-{scheme}.webp"
                    path.write_bytes(picture)
                    print(path.relative_to(ROOT), len(picture))  # noqa: T201
