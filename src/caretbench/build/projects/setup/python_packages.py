"""Python packages that a message says are missing, and the setup command that adds them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from caretbench.build.projects.setup.project_tables import (
    expanded_requirements,
    plain_requirements,
    read_text,
    requirement_files,
)
from caretbench.build.projects.setup.python.declared_packages import (
    declared_packages,
    named_groups,
    own_name,
    packages_of,
)
from caretbench.build.projects.setup.python.need_names import (
    has_test_package,
    is_unneeded,
    joined_needs,
    names_of_tests,
    package_name,
)
from caretbench.build.projects.setup.python.test_environments import nox_needs, tox_needs, workflow_needs
from caretbench.execution.bundles.bundle_model import INSIDE
from caretbench.execution.bundles.bundle_store import sandbox_python
from caretbench.execution.sandbox.bubblewrap import PATH
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.warm.warm_python import PACKAGES_FOLDER
from caretbench.files import read_packaged_toml

INSTALLATION: Final = f"python3 -m pip install --no-compile --target {PACKAGES_FOLDER}"
"""Command that installs the packages that follow."""
_INSTALLED: Final = re.compile(rf"{re.escape(PACKAGES_FOLDER)}/([^/]+)-([^/-]+)\.dist-info/METADATA")
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
    has_source = any(re.fullmatch(r"src/.*\.py", path) for path in snapshot.entries)
    folders = ["src"] if has_source and "src/__init__.py" not in snapshot.entries else []
    if any(path.startswith(f"{PACKAGES_FOLDER}/") for path in snapshot.entries):
        folders = [*(folders or ["."]), PACKAGES_FOLDER]  # the mined files precede an installed copy
    return tuple(folders)


def installed_packages(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the packages that a setup installed, sorted, each as ``NAME==VERSION``."""
    matches = (_INSTALLED.fullmatch(path) for path in snapshot.entries)
    return tuple(sorted(f"{match[1]}=={match[2]}" for match in matches if match))


def is_importable(snapshot: Snapshot, module: str) -> bool:
    """Return whether a project's tests can import a module without a bundle."""
    paths = (f"{folder}/{module}/__init__.py".removeprefix("./") for folder in import_folders(snapshot))
    return any(path in snapshot.entries for path in paths) or _has(sandbox_python(), module)


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
    folders = import_folders(snapshot)
    added = {}
    if folders and "PYTHONPATH" not in environment:
        paths = [f"{WORK}/{folder}" for folder in folders]
        if bundle is not None:  # this variable replaces the bundle's
            paths.append(f"{INSIDE}/site-packages")
        added["PYTHONPATH"] = ":".join(paths)
    scripts = f"{PACKAGES_FOLDER}/bin"
    if "PATH" not in environment and any(path.startswith(f"{scripts}/") for path in snapshot.entries):
        added["PATH"] = f"{WORK}/{scripts}:{PATH}"
    return {**environment, **added}


def requirements(snapshot: Snapshot, runner: str | None = None) -> tuple[str, ...]:
    """Return the arguments of ``pip install`` for a project's tests: packages, and ``-r FILE``.

    ``runner`` is a package that the test command needs.
    """
    named, further = _needed(snapshot, runner)
    return (*named, *further)


def _needed(snapshot: Snapshot, runner: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the packages that a project's files name for tests, and further ones, each once.

    Metadata, tox and requirements files are meant for tests. What sessions of nox, jobs of CI and other groups with a
    test runner install is further: it may be for something else, and is not needed where it cannot be installed.
    """
    groups, own = named_groups(snapshot), own_name(snapshot)
    tox, nox, jobs = tox_needs(snapshot), nox_needs(snapshot), workflow_needs(snapshot)
    chosen = names_of_tests(groups)
    named = [*declared_packages(snapshot), *(package for name in chosen for package in groups[name])]
    named += [*tox.packages, *packages_of(groups, (*tox.extras, *tox.groups))]
    named += [f"-r {path}" for path in requirement_files(snapshot)]
    first = [package for package in expanded_requirements(snapshot, named) if _is_needed(package, own)]
    others = joined_needs((nox, jobs))
    further = [package for listed in groups.values() if has_test_package(listed) for package in listed]
    further += [*packages_of(groups, (*others.extras, *others.groups)), *others.packages]
    names = set(map(package_name, first))
    added = {
        package_name(package): package
        for package in reversed(expanded_requirements(snapshot, further))
        if _is_needed(package, own) and not package.startswith("-r ") and package_name(package) not in names
    }
    if runner and runner not in {*names, *added}:
        first.append(runner)
    # pytest 9 refuses hooks with the argument `path`, and the project's tests would not start.
    if "pytest" in {*map(package_name, first), *added} and _has_old_hooks(snapshot):
        first.append("pytest<9")
    return tuple(dict.fromkeys(first)), tuple(reversed(added.values()))


def _has_old_hooks(snapshot: Snapshot) -> bool:
    conftests = (path for path in snapshot.entries if path.rpartition("/")[2] == "conftest.py")
    return any(_OLD_HOOKS.search(read_text(snapshot, path) or "") for path in conftests)


def install_command(snapshot: Snapshot, runner: str | None = None) -> str | None:
    """Return the command that installs the :func:`requirements`, and the project if need be; None if nothing is.

    If they cannot be installed together, those that are named for tests are installed alone.
    """
    named, further = _needed(snapshot, runner)
    packages = _installation((*named, *further))
    if further:
        # One package that cannot be built would take those with it that tests need.
        packages = f"{{ {packages} || {_installation(named) or 'true'}; }}"
    return " && ".join(filter(None, (packages, _own_installation(snapshot)))) or None


def plain_install_command(snapshot: Snapshot, runner: str | None = None) -> str | None:
    """Return the command that installs packages of the index alone, without git addresses and lines pip cannot read."""
    plain = plain_requirements(snapshot, requirements(snapshot, runner))
    return " && ".join(filter(None, (_installation(plain), _own_installation(snapshot)))) or None


def _installation(needed: Sequence[str]) -> str:
    words = [word for need in needed for word in (need.split(" ", 1) if need.startswith("-r ") else [need])]
    return f"{INSTALLATION} {shlex.join(words)}" if words else ""


def added_installation(arguments: str) -> str:
    """Return a command that installs packages next to those that are there.

    pip itself leaves out each folder that exists: a namespace of several distributions, or that of scripts.
    """
    # Next to its dependencies: the project's scripts, and its part of a namespace, were missing where another had some.
    aside = "/tmp/caretbench-packages"  # noqa: S108  a path inside the sandbox
    merge = f"mkdir -p {PACKAGES_FOLDER} && cp -r {aside}/. {PACKAGES_FOLDER}/"
    return f"{INSTALLATION.replace(PACKAGES_FOLDER, aside)} {arguments} && {merge}"


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
    # Of all: packages of other distributions were copied into zope.interface's src/zope, and searched for tests.
    root = "src/" if "src" in import_folders(snapshot) else ""
    matches = (re.match(rf"{root}((?:\w+/)+)[^/]+\.py$", path) for path in sorted(snapshot.entries))
    folders = dict.fromkeys(match[1] for match in matches if match)
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
    name = package_name(requirement)
    return bool(name) and name != own and not is_unneeded(name) and ":" not in requirement


_MISSING: Final = re.compile(r"(?:No module named '?|missing_dependency: )([\w.]+)")


def added_packages_command(setup: str | None, modules: Iterable[str]) -> str:
    """Return a setup command that also installs the packages of missing modules.

    They join the packages of a command that begins with an installation, since pip leaves out folders that exist.
    """
    names = shlex.join(sorted({distribution_of(module) for module in modules}))
    if setup is None or setup.startswith(f"{INSTALLATION} "):
        return f"{INSTALLATION} {names}{(setup or INSTALLATION).removeprefix(INSTALLATION)}"
    return f"{setup} && {INSTALLATION} {names}"


def missing_modules(message: str) -> tuple[str, ...]:
    """Return the top-level modules that a message says are missing."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in _MISSING.findall(message)))


@cache
def _distributions() -> Mapping[str, str]:
    return {str(name): str(value) for name, value in read_packaged_toml(__package__, "distributions.toml").items()}


def distribution_of(module: str) -> str:
    """Return the name of the package that contains a module."""
    return _distributions().get(module, module)
