"""Findings of axe-core, the accessibility checker, on an open page. The package of npm is pinned, and not committed."""

from __future__ import annotations

import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from caretbench.download import PinnedFile, download_file, is_complete
from caretbench.errors import DataError
from caretbench.files import cache_folder

if TYPE_CHECKING:
    from playwright.sync_api import Page

PACKAGE = PinnedFile("axe-core-4.14.1.tgz", 708405, "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745")
BASE_URL = "https://registry.npmjs.org/axe-core/-"

_RUN = """async (levels) => (await axe.run()).violations.filter((found) => levels.includes(found.impact))
    .map(({ id, impact, nodes }) => `${id} (${impact}), ${nodes.length} times, first ${nodes[0].html.slice(0, 160)}`)"""


def fetch(pause: Callable[[float], None] = time.sleep) -> Path:
    """Return the package in the cache folder, downloaded if it is not there; CI does it before the tests.

    Raises:
        DataError: It cannot be downloaded.
    """
    folder = cache_folder() / "tests"
    if not is_complete(PACKAGE, folder):
        download_file(PACKAGE, BASE_URL, folder, pause=pause, remedy=f"or put it into {folder}")
    return folder / PACKAGE.path


def axe_script() -> str:
    """Return the script of axe-core; skip the test where the package cannot be had."""
    try:
        return _member(fetch(pause=lambda _seconds: None))
    except (DataError, OSError) as error:
        pytest.skip(f"no axe-core: {error}")


def _member(package: Path) -> str:
    with tarfile.open(package) as archive:
        stream = archive.extractfile("package/axe.min.js")
        assert stream is not None, f"{package} has no axe.min.js"
        return stream.read().decode()


def serious_findings(page: Page, script: str) -> list[str]:
    """Return the findings of level serious or above; the page's context bypasses its content security policy."""
    page.evaluate(script)
    return [str(found) for found in page.evaluate(_RUN, ["serious", "critical"])]


if __name__ == "__main__":
    try:
        fetch()
    except (DataError, OSError) as error:
        sys.exit(f"axe-core: {error}")
