"""Packages that metadata declare, and groups by name; and which of all are installed for tests."""

from pathlib import Path

import pytest

from caretbench.build.projects.setup.python.declared_packages import declared_packages, named_groups, own_name
from caretbench.build.projects.setup.python.need_names import names_of_tests
from caretbench.build.projects.setup.python_packages import install_command, requirements
from tests.support.project_files import snapshot

PIP = "python3 -m pip install --no-compile --target .deps"


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("pyproject.toml", '[project]\nname = "Own.Name"\n[project.optional-dependencies]\na = ["x"]\n'
                           'test = ["own-name[A, b]", "y"]\nb = ["own_name[test]", "z"]\n',
         {"a": ["x"], "test": ["x", "z", "y"], "b": ["x", "y", "z"]}),
        ("pyproject.toml", '[dependency-groups]\ntest = ["x", {include-group = "Other.One"}]\nother-one = ["y"]\n',
         {"test": ["x", "y"], "other-one": ["y"]}),
        ("pyproject.toml", '[tool.setuptools.dynamic.optional-dependencies]\ntest = {file = ["a.txt", "b.txt"]}\n',
         {"test": ["-r a.txt", "-r b.txt"]}),
        ("pyproject.toml", '[tool.poetry.group.test.dependencies]\nx = "^1"\n[tool.poetry.dev-dependencies]\ny = "*"\n',
         {"dev": ["y"], "test": ["x"]}),
        ("pyproject.toml", '[tool.pdm.dev-dependencies]\ntest = ["x"]\n', {"test": ["x"]}),
        ("pyproject.toml", '[tool.uv]\ndev-dependencies = ["x"]\n', {"dev": ["x"]}),
        ("pyproject.toml", '[tool.hatch.envs.test]\nextra-dependencies = ["x"]\n', {"test": ["x"]}),
        ("pyproject.toml", '[tool.flit.metadata.requires-extra]\ntest = ["x"]\n', {"test": ["x"]}),
        ("setup.cfg", "[options.extras_require]\ntest =\n    x\n    y  # why\n", {"test": ["x", "y"]}),
        ("setup.py", "T = ['x']\nE = dict(test=T + ['y'], more=[f()])\nsetup(extras_require=E)\n",
         {"test": ["x", "y"], "more": []}),
        ("setup.py", "setup(extras_require={'test': ['x'], **more, key: ['y']})\n", {"test": ["x"]}),
    ],
)  # fmt: skip
def test_groups_are_read_by_name(path: str, text: str, found: dict[str, list[str]], tmp_path: Path) -> None:
    groups = named_groups(snapshot(tmp_path, {path: text}))
    assert {name: listed for name, listed in groups.items() if listed or name in found} == found


def test_the_projects_own_needs_are_read(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[tool.setuptools.dynamic]\ndependencies = {file = "base.txt"}\n',
        "setup.py": "NEEDS = ['x']\nsetup(name='A_b', install_requires=NEEDS, ext_modules=[Extension(name='other')])\n",
        "setup.cfg": "[options]\ntests_require = y\n",
    }
    project = snapshot(tmp_path, files)
    assert declared_packages(project) == ["-r base.txt", "x", "y"]
    assert own_name(project) == "a-b"


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["docs", "Test", "dev"], ["Test"]),
        (["unit_tests", "dev"], ["unit_tests"]),
        (["tests-cov", "dev"], ["tests-cov"]),
        (["dev", "ci"], ["dev"]),
        (["ci", "docs"], ["ci"]),
        (["latest", "contest", "devices"], []),
    ],
)
def test_the_first_tier_of_names_is_used(names: list[str], chosen: list[str]) -> None:
    assert names_of_tests(names) == chosen


def test_what_may_be_for_something_else_is_installed_if_it_can_be(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nname = "own"\n[project.optional-dependencies]\nall = ["ruff", "hypothesis>=6"]\n'
        'fast = ["numpy"]\nplot = ["plotter"]\n',
        "tox.ini": "[testenv]\ndeps = x<2\nextras = fast\n",
        "noxfile.py": "@nox.session\ndef tests(s):\n    s.install('x', 'own', 'y', '.[plot]', '-rno.txt')\n",
    }
    project = snapshot(tmp_path, files)
    assert requirements(project) == ("x<2", "numpy", "hypothesis>=6", "plotter", "y"), "one of each package"
    assert install_command(project) == (f"{{ {PIP} 'x<2' numpy 'hypothesis>=6' plotter y || {PIP} 'x<2' numpy; }}")
    del files["tox.ini"], files["noxfile.py"]
    assert install_command(snapshot(tmp_path / "alone", files)) == f"{{ {PIP} 'hypothesis>=6' || true; }}"


def test_requirements_files_in_the_usual_places_are_read(tmp_path: Path) -> None:
    for number, (path, read) in enumerate({
        "requirements-test.txt": True, "requirements_tests.txt": True, "requirements/test.in": True,
        "test_requirements.txt": True, "tests/requirements.txt": True, "testrequirements.txt": True,
        "dev-requirements.txt": True, "requirements-ci.txt": True, "requirements/development.txt": True,
        "reqs/unittest.txt": True, "tests/test.txt": False, "docs/requirements.txt": False, "latest.txt": False,
    }.items()):  # fmt: skip
        found = requirements(snapshot(tmp_path / str(number), {path: "x\n", "requirements/docs.txt": "no\n"}))
        assert found == (("x",) if read else ()), path


def test_files_and_groups_that_refer_to_each_other_end(tmp_path: Path) -> None:
    chain = "".join(
        f'g{n} = [{{include-group = "g{n + 1}"}}, {{include-group = "g{n + 2}"}}, "p{n}"]\n' for n in range(300)
    )
    extras = "".join(f'e{n} = ["own[e{n + 1}]", "own[e{n + 2}]"]\n' for n in range(200))
    files = {
        "requirements-test.txt": "-r more.txt\nx\n",
        "more.txt": "-r requirements-test.txt\n-r more.txt\ny\n",
        "pyproject.toml": (
            f'[project]\nname = "own"\n[project.optional-dependencies]\n{extras}[dependency-groups]\n{chain}'
        ),
    }
    project = snapshot(tmp_path, files)
    assert requirements(project) == ("y", "x")
    assert named_groups(project)["g299"] == ["p299"]


@pytest.mark.parametrize(
    "text",
    [
        "project = 1\n", "tool = []\n", "[project]\nname = 5\ndependencies = 3\noptional-dependencies = [1]\n",
        "[tool]\npoetry = 1\npdm = []\nhatch = {envs = {test = 5}}\nuv = {dev-dependencies = {}}\ntox = 'x'\n",
        "[dependency-groups]\ntest = [{include-group = 3}, {}, 5, ['x']]\n", "[tool.tox]\nenv = {test = 1}\ndeps = 4\n",
        "[tool.setuptools.dynamic]\ndependencies = {file = [1]}\n", "[tool.poetry]\ngroup = {test = 1, dev = {}}\n",
    ],
)  # fmt: skip
def test_values_of_another_type_name_nothing(text: str, tmp_path: Path) -> None:
    assert requirements(snapshot(tmp_path, {"pyproject.toml": text})) == ()
