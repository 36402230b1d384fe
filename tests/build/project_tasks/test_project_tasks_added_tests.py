"""Tests of the user next to a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.project_tasks.project_preparation import added_tests_fault, project_with_tests
from caretbench.errors import DataError
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
    with pytest.raises(DataError, match="/none: no such"), project_with_tests(root, tmp_path / "none"):
        pass
    more = written(tmp_path / "extra", {"test_more.py": ""})
    with pytest.raises(DataError, match=r"--tests .*/extra: .*extra/ already"), project_with_tests(root, more):
        pass


@pytest.mark.parametrize(
    ("command", "has_package", "tests", "runs"),
    [
        ("python3 -m unittest discover -f -s tests", True, (), False),
        ("python3 -m unittest discover -s mine", False, (), True),
        ("python3 -m unittest discover -f", True, (), True),
        ("python3 -m unittest discover -f", False, (), False),
        ("python3 -m pytest -q tests", False, ("tests/test_a.py::test_b",), False),
        ("python3 -m pytest -q", False, ("mine/test_a.py::test_b", "tests/test_a.py::test_b"), True),
        ("make test", False, (), True),
    ],
)
def test_a_command_that_does_not_run_them_is_refused(
    command: str, has_package: bool, tests: tuple[str, ...], runs: bool
) -> None:
    fault = added_tests_fault("mine", ("/bin/sh", "-c", command), has_package, tests)
    assert (fault == "") is runs
    assert runs or "--test-command" in fault
