"""What all tests share: the real data, where they are, and small problems of our own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caretbench.execution.workspaces.snapshots import SnapshotStore
from caretbench.problem import Caret, InlineSplice, Problem, ProgramCheck, Provenance
from tests.project_files import open_folder

pytest_plugins = ["tests.required"]
MakeProblem = Callable[..., Problem]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first: with several workers, none is left alone with a long one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real data; the test is skipped where it is absent."""
    folder = Path(os.environ.get("CARETBENCH_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set CARETBENCH_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def devbench_data(test_data: Path) -> Path:
    """The released DevBench data."""
    return test_data / "devbench"


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that everybody can reach, as the cache is; the same for all tests of a file."""
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def store(place: Path) -> SnapshotStore:
    """Snapshots of projects that sandboxes can read."""
    return SnapshotStore(place / "store")


@pytest.fixture
def make_problem() -> MakeProblem:
    """A function that makes a small problem."""

    def make(
        identity: str = "python/low_context/one",
        *,
        prefix: str = "def double(x):\n",
        reference: str = "    return 2 * x\n",
        suffix: str = "",
        hidden: str = "\nassert double(2) == 4\n",
        language: str = "python",
    ) -> Problem:
        return Problem(
            id=identity,
            suite="devbench",
            shown=Caret(language=language, prefix=prefix, suffix=suffix),
            splice=InlineSplice(before=prefix, after=suffix + hidden),
            reference=reference,
            checks=(ProgramCheck(),),
            labels={"language": language, "category": "low_context", "mode": "no_suffix"},
            cluster=identity,
            provenance=Provenance(source="a test"),
        )

    return make
