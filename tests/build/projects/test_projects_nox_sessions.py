"""What sessions of nox install, without running them."""

from pathlib import Path

import pytest

from caretbench.build.projects.setup.python.need_names import PythonNeeds
from caretbench.build.projects.setup.python.test_environments import nox_needs
from tests.support.project_files import snapshot

START = "import nox\nopen('ran', 'w')\nDEPS = ['a', 'b>=1']\nMORE = (*DEPS, 'c') + ('d',)\nLOOP = LOOP2\nLOOP2 = LOOP\n"


@pytest.mark.parametrize(
    ("sessions", "found"),
    [
        ("@nox.session\ndef tests(session):\n    session.install('-e', '.[test]', 'x', *MORE)\n"
         "@nox.session\ndef lint(session):\n    session.install('ruff2')\n    session.run('pytest')\n",
         PythonNeeds(("x", "a", "b>=1", "c", "d"), ("test",))),
        ("@nox.session(python=['3.11'], name='tests-3')\ndef go(s):\n    s.install('-r', 'needs.txt', compute())\n",
         PythonNeeds(("-r needs.txt",))),
        ("@session\ndef check(session):\n    session.install('x')\n    session.run('python', '-m', 'pytest')\n"
         "@session\ndef other(session):\n    session.install('y')\n    session.run('make')\n",
         PythonNeeds(("x",))),
        ("@nox.session\ndef tests(session):\n    session.run('pip', 'install', 'x y', 'z')\n"
         "    session.install(*nox.project.dependency_groups(TABLE, 'test'))\n",
         PythonNeeds(("z",), groups=("test",))),
        ("@nox.session\ndef tests(session):\n    session.install(*LOOP, f'x{1}')\n"
         "    session.install('y', '--index-url', 'https://evil.test')\n",
         PythonNeeds()),
        ("def tests(session):\n    session.install('x')\n", PythonNeeds()),
        ("@nox.session\ndef tests(:", PythonNeeds()),
    ],
)  # fmt: skip
def test_test_sessions_name_what_they_install(sessions: str, found: PythonNeeds, tmp_path: Path) -> None:
    assert nox_needs(snapshot(tmp_path, {"noxfile.py": START + sessions})) == found
    assert not list(tmp_path.rglob("ran")), "nothing of it is executed"
