"""What tox's environments for tests need, in all its files."""

from pathlib import Path

import pytest

from caretbench.build.projects.setup.python.need_names import PythonNeeds
from caretbench.build.projects.setup.python.test_environments import tox_needs
from caretbench.execution.bundles.pip import sandbox_version
from tests.support.project_files import snapshot

HERE = "py{}{}".format(*(sandbox_version() or (3, 11)))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"tox.ini": "[testenv]\ndeps =\n  a>=1\n  -r{toxinidir}/tests/needs.txt\n  -cx.txt\nextras = one, two\n"
                     "dependency_groups =\n  test\n"},
         PythonNeeds(("a>=1", "-r tests/needs.txt"), ("one", "two"), ("test",))),
        ({"tox.ini": "[base]\ndeps =\n  a\n  {[more]deps}\n[more]\ndeps = b\n  {[base]deps}\n"
                     "[testenv]\ndeps =\n  {[base]deps}\n  c  # why\n"},
         PythonNeeds(("a", "b", "c"))),
        ({"tox.ini": f"[testenv]\ndeps =\n  {HERE}: a\n  py27,!{HERE}: b\n  {{py27,{HERE}}}-test: c\n"
                     "  tests,lint: d\n  lint: e\n  django42: f\n"},
         PythonNeeds(("a", "c", "d"))),
        ({"tox.ini": "[testenv]\ndeps = a\n[testenv:unit]\ndeps = b\n[testenv:lint]\ndeps = c\n"
                     "[testenv:bench]\ndeps = d\ncommands = pytest bench\n"},
         PythonNeeds(("a", "b"))),
        ({"tox.ini": "[testenv:full]\ndeps = a\ncommands = python -m pytest\n[testenv:style]\ndeps = b\n"
                     "commands = pytest --flake8\n[testenv:go]\ndeps = c\ncommands = make\n"},
         PythonNeeds(("a",))),
        ({"tox.ini": "[testenv]\ncommands_pre =\n  pip install a \\\n    b {env:MORE}\n  pip install c\n"},
         PythonNeeds(("c",))),
        ({"tox.ini": "[testenv]\ndeps =\n  .[test]\n  {env:DEPS:x}\n  https://evil.test/x.whl\nextras = {env:E:}\n"},
         PythonNeeds(extras=("test",))),
        ({"setup.cfg": "[tox:tox]\nenvlist = py\n[testenv]\ndeps = a\n"}, PythonNeeds(("a",))),
        ({"pyproject.toml": '[tool.tox]\nlegacy_tox_ini = """\n[testenv]\ndeps =\n    a\n"""\n'}, PythonNeeds(("a",))),
        ({"pyproject.toml": '[tool.tox.env_run_base]\ndeps = ["a", "-r needs.txt", {replace = "ref"}]\n'
                            'extras = ["e"]\n[tool.tox.env.test]\ndependency_groups = ["g"]\n'
                            '[tool.tox.env.docs]\ndeps = ["no"]\n'},
         PythonNeeds(("a", "-r needs.txt"), ("e",), ("g",))),
        ({"tox.toml": '[env_run_base]\ndeps = ["a"]\n'}, PythonNeeds(("a",))),
        ({"tox.ini": "[testenv\ndeps = a", "tox.toml": "= ="}, PythonNeeds()),
        ({}, PythonNeeds()),
    ],
)  # fmt: skip
def test_environments_for_tests_name_their_needs(files: dict[str, str], found: PythonNeeds, tmp_path: Path) -> None:
    assert tox_needs(snapshot(tmp_path, {"a.py": "", **files})) == found
