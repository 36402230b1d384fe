"""Import path and packages of a Python project's tests, from its files; nothing of the project is executed."""

from __future__ import annotations

import ast
import configparser
import re
import shlex
import subprocess
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from caretbench.execution.bundles.bundle_model import INSIDE
from caretbench.execution.bundles.pip import sandbox_python
from caretbench.execution.sandbox.bubblewrap import PATH
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.setup.project_tables import (
    expanded_requirements,
    read_ini,
    read_text,
    read_toml,
    requirement_files,
    strings,
    sub_table,
)

PACKAGES_FOLDER: Final = ".deps"
"""Folder of the project into which a setup installs Python packages; it is on the import path and never mined."""
INSTALLATION: Final = f"python3 -m pip install --no-compile --target {PACKAGES_FOLDER}"
"""Command that installs the packages that follow."""
_GROUPS: Final[tuple[str, ...]] = ("test", "tests", "testing", "pytest", "unittest")
_ELSE_GROUPS: Final[tuple[str, ...]] = ("dev", "develop", "development")
"""Names of dependency groups that are used if no group is named after tests."""
_NO_NEED: Final = re.compile(
    r"tox(?:[-_].*)?|nox|ruff|black|isort|flake8.*|mypy|pyright|pylint|pre[-_]commit|twine|build|wheel|sphinx.*|furo|"
    r"coverage|coveralls|codecov|pytest[-_]cov|mkdocs.*|bump.*|towncrier|virtualenv|uv|hatch",
    re.IGNORECASE,
)
"""Packages for style, publishing or coverage, which no test imports."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ASKS: Final = re.compile(r"\b(?:importlib[._]metadata|pkg_resources)\b")
_ENTRY_POINTS: Final = re.compile(r"\bscripts\b|entry[-_]points", re.IGNORECASE)
_BUILT_FILES: Final = re.compile(
    r"ext[-_]modules|\bExtension\(|cythonize|cffi_modules|mypycify|maturin|meson|scikit[-_]build|write_to|version[-_]file"
)
"""Build settings of compiled modules, and of files that the build writes."""
_OLD_HOOKS: Final = re.compile(
    r"\bdef pytest_(?:collect_file|ignore_collect|pycollect_makemodule|report_header|report_collectionfinish)"
    r"\([^)]*\b(?:path|startdir)\b"
)
"""Hooks in conftest.py with arguments that pytest 9 refuses."""
_BUILD_FILES: Final = ("pyproject.toml", "setup.py", "setup.cfg")


def import_folders(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the folders of a project for ``PYTHONPATH``: ``src``, and the one with installed packages.

    With installed packages, the root is included if there is no ``src``, so that it precedes an installed copy.
    """
    own = any(re.fullmatch(r"src/.*\.py", path) for path in snapshot.entries)
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
    """Return environment variables with ``PYTHONPATH`` and ``PATH`` for the project's folders, unless they are set."""
    found = import_folders(snapshot)
    added = {}
    if found and "PYTHONPATH" not in environment:
        places = [f"{WORK}/{folder}" for folder in found]
        if bundle is not None:  # this variable replaces the bundle's
            places.append(f"{INSIDE}/site-packages")
        added["PYTHONPATH"] = ":".join(places)
    scripts = f"{PACKAGES_FOLDER}/bin"
    if "PATH" not in environment and any(path.startswith(f"{scripts}/") for path in snapshot.entries):
        added["PATH"] = f"{WORK}/{scripts}:{PATH}"
    return {**environment, **added}


def requirements(snapshot: Snapshot, runner: str | None = None) -> tuple[str, ...]:
    """Return the arguments of ``pip install`` for a project's tests: packages, and ``-r FILE``.

    ``runner`` is a package that the test command needs.
    """
    project = read_toml(snapshot, "pyproject.toml")
    config = read_ini(snapshot, "setup.cfg")
    about = sub_table(project, "project")
    found = [*strings(about.get("dependencies")), *_poetry(project), *_set_up(snapshot)]
    found += _lines(config, "options", "install_requires")
    groups = _named_groups(project, config)
    chosen = [name for name in _GROUPS if name in groups] or [name for name in _ELSE_GROUPS if name in groups]
    found += [one for name in chosen for one in groups[name]]
    found += _lines(read_ini(snapshot, "tox.ini"), "testenv", "deps")
    own = _plain(str(about.get("name", "")))
    found += [f"-r {path}" for path in requirement_files(snapshot)]
    kept = [one for one in expanded_requirements(snapshot, found) if _is_needed(one, own)]
    if runner and not any(_plain(one) == runner for one in kept):
        kept.append(runner)
    if any(_plain(one) == "pytest" for one in kept) and _has_old_hooks(snapshot):
        kept.append("pytest<9")
    return tuple(dict.fromkeys(kept))


def _has_old_hooks(snapshot: Snapshot) -> bool:
    own = (path for path in snapshot.entries if path.rpartition("/")[2] == "conftest.py")
    return any(_OLD_HOOKS.search(read_text(snapshot, path) or "") for path in own)


def _named_groups(project: Mapping[str, object], config: configparser.ConfigParser) -> Mapping[str, list[str]]:
    """Return the packages of dependency groups and extras, by name."""
    groups: dict[str, list[str]] = {}
    included = sub_table(project, "dependency-groups")
    for name in included:
        groups.setdefault(name, []).extend(_group(included, name, frozenset()))
    for name, listed in sub_table(sub_table(project, "project"), "optional-dependencies").items():
        groups.setdefault(name, []).extend(strings(listed))
    if config.has_section("options.extras_require"):
        for name in config["options.extras_require"]:
            groups.setdefault(name, []).extend(_lines(config, "options.extras_require", name))
    return groups


def install_command(snapshot: Snapshot, runner: str | None = None) -> str | None:
    """Return the command that installs the :func:`requirements`, and the project if need be; None if nothing is."""
    needed = requirements(snapshot, runner)
    words = [part for one in needed for part in (one.split(" ", 1) if one.startswith("-r ") else [one])]
    packages = f"{INSTALLATION} {shlex.join(words)}" if words else ""
    return " && ".join(filter(None, (packages, _own_installation(snapshot)))) or None


def added_installation(arguments: str) -> str:
    """Return a command that installs packages next to those that are there.

    pip itself leaves out each folder that exists: a namespace of several distributions, or that of scripts.
    """
    place = "/tmp/caretbench-packages"  # noqa: S108  a path inside the sandbox
    merge = f"mkdir -p {PACKAGES_FOLDER} && cp -r {place}/. {PACKAGES_FOLDER}/"
    return f"{INSTALLATION.replace(PACKAGES_FOLDER, place)} {arguments} && {merge}"


def _own_installation(snapshot: Snapshot) -> str:
    """Return the command that installs the project itself, if its tests may need that; "" if not.

    They do if it queries its own version, or has scripts or entry points. Compiled modules, and other files that its
    build writes, are placed next to its sources, which precede the installed copy.
    """
    settings = "\n".join(read_text(snapshot, path) or "" for path in _BUILD_FILES)
    asks = any(_ASKS.search(read_text(snapshot, path) or "") for path in snapshot.entries if path.endswith(".py"))
    written = _BUILT_FILES.search(settings) is not None
    if "pyproject.toml" not in snapshot.entries and "setup.py" not in snapshot.entries:
        return ""
    if not (asks or written or _ENTRY_POINTS.search(settings)):
        return ""
    copies = [
        f"if [ -d {PACKAGES_FOLDER}/{name} ]; then cp -rn {PACKAGES_FOLDER}/{name}/. {folder} || true; fi"
        for folder, name in (_package_folders(snapshot) if written else ())
    ]
    # Snapshots have no git history to derive the version from. A project that cannot be built is tested as it is.
    built = f"SETUPTOOLS_SCM_PRETEND_VERSION=0.1 {added_installation('--no-deps .')} || true"
    steps = "; ".join([built, *copies])
    return f"{{ {steps}; }}"


def _package_folders(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the folders of the project's packages, with their paths below the import folder.

    Of a namespace, which other distributions are part of, only the project's own packages count.
    """
    root = "src/" if "src" in import_folders(snapshot) else ""
    found = (re.match(rf"{root}((?:\w+/)+)[^/]+\.py$", path) for path in sorted(snapshot.entries))
    folders = dict.fromkeys(match[1] for match in found if match)
    for folder in dict.fromkeys(_outermost_package(name, root, snapshot) for name in folders):
        if not {"test", "tests"} & {*folder.split("/")}:
            yield f"{root}{folder}", folder


def _outermost_package(folder: str, root: str, snapshot: Snapshot) -> str:
    """Return the first of the folders on the way to one with modules that is a package, else that folder."""
    parts = folder.strip("/").split("/")
    paths = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    return next((path for path in paths if f"{root}{path}/__init__.py" in snapshot.entries), paths[-1])


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
    poetry = sub_table(sub_table(project, "tool"), "poetry")
    tables = [sub_table(poetry, "dependencies"), sub_table(poetry, "dev-dependencies")]
    tables += [sub_table(sub_table(sub_table(poetry, "group"), name), "dependencies") for name in (*_GROUPS, "dev")]
    return [name for table in tables for name in table if name != "python"]


def _set_up(snapshot: Snapshot) -> list[str]:
    """Return the requirements in ``setup.py``, if they are literal lists."""
    text = read_text(snapshot, "setup.py")
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


def _lines(config: configparser.ConfigParser, section: str, option: str) -> list[str]:
    if not config.has_option(section, option):
        return []
    lines = (line.split("#")[0].strip() for line in config.get(section, option).splitlines())
    return [re.sub(r"^-r\s*", "-r ", line) for line in lines if line]
