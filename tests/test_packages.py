"""The packages that strangers install: the same bytes from any clone, light, and whole without the repository."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.interpreters import find_interpreter
from tests.support.tracked_copy import copy_tracked_files

pytestmark = pytest.mark.long

_ROOT = Path(__file__).parents[1]
_MAX_PACKAGES = 55
_MAX_MEGABYTES = 60
"""More than :data:`_LARGE` take together."""
_LARGE = ("polars", "_polars_runtime*", "scipy", "scipy.libs", "numpy", "numpy.libs", "vl_convert")
_MINORS = range(11, 16)
_PROBLEMS = sorted(
    f"python/low_context/{path.stem}"
    for path in (_ROOT / "src/caretbench/suites/devbench/starter/python/low_context").glob("*.py")
)


def _uv() -> str:
    found = shutil.which("uv") or shutil.which("uv", path=str(_ROOT / ".venv-tools" / "bin"))
    if found is None:
        pytest.skip("uv is not on the path")
    return found


def _run(*command: str | Path, cwd: Path, expected: int = 0) -> str:
    # nothing of this environment decides: no path to the sources, no cache of verdicts
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_"))}
    environment |= {"CARETBENCH_CACHE": str(cwd / "cache"), "NO_COLOR": "1"}
    environment.pop("OPENAI_API_KEY", None)
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the source distribution and the wheel, built from a clone; a second clone gives the same bytes."""
    place = tmp_path_factory.mktemp("packages")
    built = []
    for name, mode in (("one", 0o644), ("two", 0o640)):
        copy_tracked_files(place / name)
        for file in (place / name).glob("src/**/*.py"):
            file.chmod(mode)
            os.utime(file, (1_000_000_000 + mode, 1_000_000_000 + mode))
        _run(_uv(), "build", "--quiet", "-o", place / f"built-{name}", place / name, cwd=place)
        (source,) = (place / f"built-{name}").glob("*.tar.gz")
        (wheel,) = (place / f"built-{name}").glob("*.whl")
        built.append((source, wheel))
    for first, second in zip(*built, strict=True):
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes(), f"{first.name} differs between two clones"
    return built[0]


def _interpreters() -> list[str]:
    """Return the interpreters of this machine that the package supports, one of each version."""
    return [path for minor in _MINORS if (path := find_interpreter(minor)) is not None]


def test_the_source_distribution_holds_what_the_wheel_is_built_from(packages: tuple[Path, Path]) -> None:
    source, wheel = packages
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        modules = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {f"src/{name}" for name in modules} <= names
    assert {"README.md", "LICENSE", "CHANGELOG.md", "tests/test_packages.py"} <= names
    assert {"caretbench/py.typed", "caretbench/reports/templates/report.css"} <= modules
    assert not any(name.startswith("tests") for name in modules)


def test_an_empty_environment_of_every_interpreter_scores_and_compares(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    for number, interpreter in enumerate(_interpreters()):
        place = tmp_path / str(number)
        place.mkdir()
        _run(_uv(), "venv", "--quiet", "--python", interpreter, "env", cwd=place)
        python = place / "env" / "bin" / "python"
        _run(_uv(), "pip", "install", "--quiet", "--python", python, packages[1], cwd=place)
        _use(place, place / "env" / "bin" / "caretbench")
        listed = json.loads(
            _run(_uv(), "pip", "list", "--python", python, "--format", "json", cwd=place).split("\n")[0]
        )
        assert len(listed) <= _MAX_PACKAGES, [row["name"] for row in listed]
        (libraries,) = (place / "env" / "lib").glob("python*/site-packages")
        large = sum(_bytes(folder) for name in _LARGE for folder in libraries.glob(name))
        assert (_bytes(libraries) - large) / 1e6 <= _MAX_MEGABYTES


def test_the_first_command_of_the_readme_runs_from_the_wheel(packages: tuple[Path, Path], tmp_path: Path) -> None:
    """As after a release, but for the place of the package: nothing is installed before."""
    first = (_ROOT / "README.md").read_text("utf-8").partition("```\n")[2].partition("#")[0]
    uvx, flag, package, *command = shlex.split(first)
    assert (uvx, flag, package) == ("uvx", "--from", "caretbench[models]")
    place = f"{packages[1]}[models]"
    said = _run(_uv(), "tool", "run", "--quiet", flag, place, *command, "--limit", "2", "--dry-run", cwd=tmp_path)
    assert "openai/gpt-4o-mini" in said


def _use(place: Path, command: Path) -> None:
    """Use what the package promises without further parts: score, report, compare, validate; name the missing part."""
    rows = [
        {"problem_id": name, "model": model, "text": text}
        for name in _PROBLEMS
        for model, text in (("a", "pass"), ("b", "return None"))
    ]
    (place / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = ("--select", "language=python,category=low_context")
    for model in ("a", "b"):
        _run(command, "score", "devbench", "--completions", "answers.jsonl", "--model", model, *chosen,
             "--output", model, cwd=place)  # fmt: skip
    assert "report" in _run(command, "report", "a", cwd=place)
    assert (place / "a" / "report.html").stat().st_size > 10_000
    assert "b" in _run(command, "compare", "a", "b", cwd=place)
    assert "1 valid" in _run(command, "validate", "devbench", *chosen, "--limit", "1", cwd=place)
    asked = _run(command, "run", "devbench", "-m", "openai/gpt-4o", cwd=place, expected=2)
    assert "pip install 'caretbench[models]'" in asked
    assert "Traceback" not in asked


def _bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
