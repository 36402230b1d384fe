"""Options of absent plugins of pytest: they are ignored with their values, those of conftest.py are not."""

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path


def run_pytest(folder: Path, addopts: str, files: dict[str, str]) -> str:
    inside = {"tools/flake8.py": "raise ValueError('a linter is loaded')\n"}
    listed = {"tests/test_a.py": "def test_a():\n    pass\n", "pack/__init__.py": "", **inside, **files}
    for path, text in {**listed, "pytest.ini": f"[pytest]\ntestpaths = tests\naddopts = {addopts}\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    plugin = resources.files("caretbench.projects").joinpath("inside/caretbench_options.py").read_text("utf-8")
    (folder / "tools" / "caretbench_options.py").write_text(plugin)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "caretbench_options", "--no-cov", "-n0"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder / "tools"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_an_unknown_option_goes_with_its_value(tmp_path: Path) -> None:
    # tinydb's: with the value `pack` left, pytest looks for tests in the package.
    printed = run_pytest(tmp_path, "--strict-config --cov-append --cov-report term --cov pack -nauto --flake8 -ra", {})
    assert "1 passed" in printed


def test_options_of_conftest_are_known(tmp_path: Path) -> None:
    files = {
        "tests/conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--level')\n",
        "tests/test_a.py": "def test_a(request):\n    assert request.config.getoption('--level') == 'pack'\n",
    }
    assert "1 passed" in run_pytest(tmp_path, "--cov pack --level pack", files)
