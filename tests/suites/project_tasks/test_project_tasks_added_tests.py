"""Tests of the user next to a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.suites.project_tasks.added_tests import project_with_tests
from tests.support.shop_project import FILES, written


def test_a_copy_has_both_and_the_project_stays(tmp_path: Path) -> None:
    root = written(tmp_path / "shop", FILES)
    more = written(tmp_path / "more_tests", {"test_more.py": "import shop\n"})
    with project_with_tests(root, more) as place:
        assert place.name == "shop"
        assert {path.relative_to(place).as_posix() for path in place.rglob("*.py")} == {
            *FILES, "more_tests/test_more.py"
        }  # fmt: skip
        (place / "shop.py").write_text("")
    assert not place.exists()
    assert {path.name: path.read_text() for path in root.iterdir()} == FILES


def test_without_tests_it_is_the_project_itself(tmp_path: Path) -> None:
    with project_with_tests(tmp_path, None) as place:
        assert place == tmp_path


def test_mistakes_are_named(tmp_path: Path) -> None:
    root = written(tmp_path / "shop", {**FILES, "extra/a.py": ""})
    with pytest.raises(DataError, match="no such folder"), project_with_tests(root, tmp_path / "none"):
        pass
    more = written(tmp_path / "extra", {"test_more.py": ""})
    with pytest.raises(DataError, match="the project has extra/ already"), project_with_tests(root, more):
        pass
