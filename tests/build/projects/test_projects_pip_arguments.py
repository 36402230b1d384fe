"""What literal installation commands name, and which are not used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.build.projects.setup.python.need_names import PythonNeeds
from caretbench.build.projects.setup.python.test_environments import installer_needs, pip_arguments


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("pip install pytest 'hypothesis>=6' -U", PythonNeeds(("pytest", "hypothesis>=6"))),
        ("python -m pip install --upgrade pip && pip3 install -q mock; echo x", PythonNeeds(("pip", "mock"))),
        ("pip install -r requirements/ci.txt -rmore.txt --requirement=last.txt",
         PythonNeeds(("-r requirements/ci.txt", "-r more.txt", "-r last.txt"))),
        ("pip install -e .[test,more]", PythonNeeds(extras=("test", "more"))),
        ('pip install "x ; python_version < \'4\'" .', PythonNeeds(("x ; python_version < '4'",))),
        ("pip install --group test --group=more -c constraints.txt x", PythonNeeds(("x",), groups=("test", "more"))),
        ("uv pip install --system 'pkg[a, b]~=1.0, !=1.2.*'  # why", PythonNeeds(("pkg[a, b]~=1.0, !=1.2.*",))),
        ("uv sync --extra test --group=more --frozen", PythonNeeds(extras=("test",), groups=("more",))),
        ('poetry install --with test,dev -E "a b"', PythonNeeds(extras=("a", "b"), groups=("test", "dev"))),
        ("pip install dist/x.whl ./folder y", PythonNeeds(("y",))),
        ("pip install x --index-url https://evil.test/simple", PythonNeeds()),
        ("pip install --extra-index-url=https://evil.test/simple x", PythonNeeds()),
        ("pip install -f https://evil.test x", PythonNeeds()),
        ("pip install x git+https://evil.test/x", PythonNeeds()),
        ("pip install x @git.test/x", PythonNeeds()),
        ("pip install 'x @ https://evil.test/x.whl'", PythonNeeds()),
        ("pip install x==$VERSION y", PythonNeeds()),
        ("pip install `cat names` y", PythonNeeds()),
        ("pip install x==${{ matrix.x }} y", PythonNeeds()),
        ("pip install dist/*.whl", PythonNeeds()),
        ("pip install --target /usr/lib x", PythonNeeds()),
        ("pip install 'open", PythonNeeds()),
        ("pipx install x; pip download y; make", PythonNeeds()),
    ],
)  # fmt: skip
def test_a_command_names_what_is_literal_and_from_the_index(line: str, found: PythonNeeds) -> None:
    assert installer_needs(line) == found


@given(st.lists(st.text("abc-.[]<>=!~;@ $*/,0'\"\\", max_size=12), max_size=5))
def test_no_argument_is_an_option_or_an_address(words: list[str]) -> None:
    for one in pip_arguments(words).packages:
        package = one.removeprefix("-r ")
        assert not package.startswith("-") or one.startswith("-r ")
        if not one.startswith("-r "):
            assert "@" not in package.partition(";")[0]
            assert "://" not in package
