"""Versions of Python that projects require."""

from pathlib import Path

import pytest

from caretbench.build.projects.setup.project_setup import with_setup_hint
from caretbench.build.projects.setup.python import declared_packages
from caretbench.build.projects.setup.python.declared_packages import python_fault
from tests.support.project_files import snapshot


@pytest.mark.parametrize(
    ("required", "accepts"),
    [
        (">=3.11.5", False), (">=3.11", True), (">=3.11.2,<4", True), (">3.11.2", False), ("<3.11", False),
        ("<=3.11.2", True), ("==3.11.*", True), ("==3.10.*", False), ("!=3.11.*,>=3", False), ("!=3.10.*", True),
        ("~=3.8", True), ("~=3.11.5", False), ("~=3.10.0", False), ("==3.11.2", True), (">=2.7, !=3.0.*", True),
        ("===odd", True), ("", True), (">=3.11.*", True), ("<3.11.0a1", False), ("<3.11.*", False),
    ],
)  # fmt: skip
def test_the_sandboxs_python_is_compared(
    required: str, accepts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared_packages, "sandbox_release", lambda: (3, 11, 2))
    found = python_fault(snapshot(tmp_path, {"pyproject.toml": f'[project]\nrequires-python = "{required}"\n'}))
    assert (found == "") is accepts
    assert accepts or (f"Python {required}, " in found and "3.11.2" in found)


@pytest.mark.parametrize(
    "files",
    [
        {"setup.cfg": "[options]\npython_requires = >=9\n"},
        {"setup.py": "setup(python_requires='>=9')\n"},
        {"PKG-INFO": "Name: a\nRequires-Python: >=9\n\nRequires-Python: >=1\n"},
    ],
)
def test_it_is_named_with_every_fault_of_the_tests(files: dict[str, str], tmp_path: Path) -> None:
    said = with_setup_hint({"pytest": "tests_fail: a"}, snapshot(tmp_path, {"a.py": "", **files}), ["python"], (), None)
    assert "; the project requires Python >=9, and the sandbox has 3." in said


def test_a_source_distribution_without_tests_names_its_repository(tmp_path: Path) -> None:
    fault = {"": "no tests found (none): give one"}
    head = "Name: a\nProject-URL: Changelog, https://github.com/o/n/blob/x\nProject-URL: Source, {}\n\ntext\n"
    for number, (url, source) in enumerate({
        "https://github.com/owner/name.git": "owner/name", "https://gitlab.com/owner/name/": "https://gitlab.com/owner/name",
        "https://docs.test/x": "o/n",
    }.items()):  # fmt: skip
        project = snapshot(tmp_path / str(number), {"a.py": "", "PKG-INFO": head.format(url)})
        assert with_setup_hint(fault, project, ["python"], (), None).endswith(f"build from {source}")
    project = snapshot(tmp_path / "none", {"a.py": "", "PKG-INFO": "Name: a\n"})
    assert with_setup_hint(fault, project, ["python"], (), None) == fault[""]
