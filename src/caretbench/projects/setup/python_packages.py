"""Import path and packages of a Python project's tests, from its files; nothing of the project is executed."""

from __future__ import annotations

import ast
import configparser
import re
import shlex
import subprocess
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.bundles.bundle_model import INSIDE
from caretbench.execution.bundles.pip import sandbox_python
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.snapshot_store import Snapshot

PACKAGES_FOLDER: Final = ".deps"
"""Folder of the project into which a setup installs Python packages; it is on the import path and never mined."""
_GROUPS: Final[tuple[str, ...]] = ("test", "tests", "testing", "pytest", "unittest")
_ELSE_GROUPS: Final[tuple[str, ...]] = ("dev", "develop", "development")
"""Names of dependency groups that are used if no group is named after tests."""
_FILES: Final = re.compile(
    r"(?:requirements/)?(?:requirements|(?:requirements[-_.])?(?:tests?|testing)(?:[-_.]requirements)?)\.(?:txt|in)"
)
_NO_NEED: Final = re.compile(
    r"tox(?:[-_].*)?|nox|ruff|black|isort|flake8.*|mypy|pyright|pylint|pre[-_]commit|twine|build|wheel|sphinx.*|furo|"
    r"coverage|coveralls|codecov|pytest[-_]cov|mkdocs.*|bump.*|towncrier|virtualenv|uv|hatch",
    re.IGNORECASE,
)
"""Packages for style, publishing or coverage, which no test imports."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ASKS: Final = re.compile(r"\b(?:importlib[._]metadata|pkg_resources)\b")
_UNWANTED: Final = re.compile(r"--cov\b|--cov[-=]|--no-cov|--numprocesses|--dist\b|-n(?:\d|auto|=|$)")
"""Pytest options of coverage and parallel plugins; pytest fails on them if the plugin is missing."""
_TAKES_VALUE: Final = frozenset({"-n", "--numprocesses", "--dist", "--cov-report", "--cov-config"})


def import_folders(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the folders of a project for ``PYTHONPATH``: ``src``, and the one with installed packages.

    With installed packages, the root is included if there is no ``src``, so that it precedes an installed copy.
    """
    own = any(re.fullmatch(r"src/(?:[^/]*/)?[^/]*\.py", path) for path in snapshot.entries)
    found = ["src"] if own and "src/__init__.py" not in snapshot.entries else []
    if any(path.startswith(f"{PACKAGES_FOLDER}/") for path in snapshot.entries):
        found = [*(found or ["."]), PACKAGES_FOLDER]  # the mined files precede an installed copy
    return tuple(found)


def is_importable(snapshot: Snapshot, module: str) -> bool:
    """Return whether a project's tests can import a module without a bundle."""
    places = (f"{folder}/{module}/__init__.py".removeprefix("./") for folder in import_folders(snapshot))
    return any(place in snapshot.entries for place in places) or _has(sandbox_python(), module)


@cache
def _has(python: Path, module: str) -> bool:
    try:
        done = subprocess.run([python, "-I", "-c", f"import {module}"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def with_python_path(
    snapshot: Snapshot, environment: Mapping[str, str], bundle: str | None = None
) -> Mapping[str, str]:
    """Return environment variables with ``PYTHONPATH`` for the project's folders, unless it is already set."""
    found = import_folders(snapshot)
    if not found or "PYTHONPATH" in environment:
        return environment
    places = [f"{WORK}/{folder}" for folder in found]
    if bundle is not None:  # this variable replaces the bundle's
        places.append(f"{INSIDE}/site-packages")
    return {**environment, "PYTHONPATH": ":".join(places)}


def requirements(snapshot: Snapshot, runner: str | None = None) -> tuple[str, ...]:
    """Return the arguments of ``pip install`` for a project's tests: packages, and ``-r FILE``.

    ``runner`` is a package that the test command needs.
    """
    project = _toml(snapshot, "pyproject.toml")
    config = _config(snapshot, "setup.cfg")
    about = _table(project, "project")
    found = [*_strings(about.get("dependencies")), *_poetry(project), *_set_up(snapshot)]
    found += _lines(config, "options", "install_requires")
    groups: dict[str, list[str]] = {}
    included = _table(project, "dependency-groups")
    for name in included:
        groups.setdefault(name, []).extend(_group(included, name, frozenset()))
    for name, listed in _table(about, "optional-dependencies").items():
        groups.setdefault(name, []).extend(_strings(listed))
    if config.has_section("options.extras_require"):
        for name in config["options.extras_require"]:
            groups.setdefault(name, []).extend(_lines(config, "options.extras_require", name))
    chosen = [name for name in _GROUPS if name in groups] or [name for name in _ELSE_GROUPS if name in groups]
    found += [one for name in chosen for one in groups[name]]
    found += _lines(_config(snapshot, "tox.ini"), "testenv", "deps")
    own = _plain(str(about.get("name", "")))
    kept = [one for one in found if _is_needed(one, own)]
    listed = [path for path in sorted(snapshot.entries) if _FILES.fullmatch(path)]
    kept += [f"-r {path}" for path in listed if snapshot.entries[path].kind == "file"]
    if runner and not any(_plain(one) == runner for one in kept):
        kept.append(runner)
    return tuple(dict.fromkeys(kept))


def install_command(snapshot: Snapshot, runner: str | None = None) -> str | None:
    """Return the command that installs the :func:`requirements`; None if there are none."""
    needed = requirements(snapshot, runner)
    if not needed:
        return None
    words = [part for one in needed for part in (one.split(" ", 1) if one.startswith("-r ") else [one])]
    pip = f"python3 -m pip install --no-compile --target {PACKAGES_FOLDER}"
    asks = any(_ASKS.search(_text(snapshot, path) or "") for path in snapshot.entries if path.endswith(".py"))
    built = any(path in snapshot.entries for path in ("pyproject.toml", "setup.py"))
    # A project that queries its own version must be installed; snapshots have no git history to derive the version.
    itself = f" && {{ SETUPTOOLS_SCM_PRETEND_VERSION=0.1 {pip} --no-deps . || true; }}" if asks and built else ""
    return f"{pip} {shlex.join(words)}{itself}"


def pytest_options(snapshot: Snapshot) -> str:
    """Return a pytest option that removes options of missing plugins from the project's ``addopts``; "" if none."""
    said: object = None
    for path, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        config = _config(snapshot, path)
        if config.has_option(section, "addopts"):
            said = config.get(section, "addopts")
            break
    else:
        tool = _table(_table(_toml(snapshot, "pyproject.toml"), "tool"), "pytest")
        said = _table(tool, "ini_options").get("addopts")
    try:
        words = _strings(said) if isinstance(said, list) else shlex.split(str(said or ""))
    except ValueError:
        return ""
    kept = list(_without_plugins(words))
    return "" if kept == words else f" -o {shlex.quote(f'addopts={shlex.join(kept)}')}"


def _without_plugins(words: list[str]) -> Iterator[str]:
    passing = False
    for word in words:
        if passing and not word.startswith("-"):
            passing = False
            continue
        passing = word in _TAKES_VALUE
        if not _UNWANTED.match(word):
            yield word


def _is_needed(requirement: str, own: str) -> bool:
    if requirement.startswith("-r "):
        return True
    name = _plain(requirement)
    return bool(name) and name != own and _NO_NEED.fullmatch(name) is None and ":" not in requirement


def _plain(requirement: str) -> str:
    """Return the normalised name of a package (PEP 503)."""
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def _group(groups: Mapping[str, object], name: str, above: Collection[str]) -> Iterator[str]:
    listed = groups.get(name)
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            inner = str(entry.get("include-group", ""))
            if inner not in {*above, name}:
                yield from _group(groups, inner, {*above, name})


def _poetry(project: Mapping[str, object]) -> list[str]:
    """Return the packages in Poetry's tables, without versions, whose syntax differs from pip's."""
    poetry = _table(_table(project, "tool"), "poetry")
    tables = [_table(poetry, "dependencies"), _table(poetry, "dev-dependencies")]
    tables += [_table(_table(_table(poetry, "group"), name), "dependencies") for name in (*_GROUPS, "dev")]
    return [name for table in tables for name in table if name != "python"]


def _set_up(snapshot: Snapshot) -> list[str]:
    """Return the requirements in ``setup.py``, if they are literal lists."""
    text = _text(snapshot, "setup.py")
    try:
        tree = ast.parse(text or "")
    except (SyntaxError, ValueError):
        return []
    arguments = ("install_requires", "tests_require")
    values = [
        keyword.value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in arguments and isinstance(keyword.value, ast.List | ast.Tuple)
    ]
    return [
        one.value
        for value in values
        for one in value.elts
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def _text(snapshot: Snapshot, path: str) -> str | None:
    try:
        return snapshot.read(path).decode("utf-8", "replace") if path in snapshot.entries else None
    except DataError:
        return None


def _toml(snapshot: Snapshot, path: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(_text(snapshot, path) or "")
    except tomllib.TOMLDecodeError:
        return {}


def _config(snapshot: Snapshot, path: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(snapshot, path) or "")
    except configparser.Error:
        return configparser.ConfigParser()
    return parser


def _table(table: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = table.get(name)
    return found if isinstance(found, dict) else {}


def _strings(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _lines(config: configparser.ConfigParser, section: str, option: str) -> list[str]:
    if not config.has_option(section, option):
        return []
    lines = (line.split("#")[0].strip() for line in config.get(section, option).splitlines())
    return [re.sub(r"^-r\s*", "-r ", line) for line in lines if line]
