"""Published numbers for tests: of a folder, or DevBench's as if they were about fewer problems and samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import pytest

from caretbench.reports.results.published_numbers import published_names, published_numbers
from caretbench.suites import load_suite


@contextmanager
def published_folder(suite: str, folder: Path) -> Iterator[None]:
    """Let a suite take its published numbers from a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(load_suite(suite)), "published_folder", folder)
        try:
            published_names.cache_clear()
            published_numbers.cache_clear()
            yield
        finally:
            published_names.cache_clear()
            published_numbers.cache_clear()


@contextmanager
def small_paper(folder: Path, *, per_cell: int, samples: int) -> Iterator[None]:
    """Let DevBench's published numbers be about this many problems of each of 36 cells, and samples of each."""
    package = resources.files("caretbench.reports").joinpath("published")
    names = package.joinpath("names.toml").read_text("utf-8")
    sizes = {
        "all = 1800": f"all = {36 * per_cell}",
        "= 300": f"= {6 * per_cell}",
        "samples = 5": f"samples = {samples}",
    }
    for size, smaller in sizes.items():
        assert size in names
        names = names.replace(size, smaller)
    (folder / "names.toml").write_text(names, encoding="utf-8")
    (folder / "devbench.csv").write_bytes(package.joinpath("devbench.csv").read_bytes())
    with published_folder("devbench", folder):
        yield
