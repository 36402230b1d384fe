"""Settings of pytest in a project's files, and the options that CaretBench adds to them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

from caretbench.build.projects.setup.project_tables import read_ini, read_toml, strings, sub_table
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.warm.warm_python import PACKAGES_FOLDER
from caretbench.projects.runner_options import OPTIONS_PLUGIN, runs_pytest

_OWN_FILES: Final = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
"""Files that are pytest's alone, and so count even if they are empty, in pytest's order."""
_SHARED_FILES: Final = (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
_INSTALLED: Final = re.compile(r"(?:(.*)/)?[^/]+\.dist-info/(?:RECORD|METADATA)")
_OLD_PYTEST: Final = re.compile(rf"{re.escape(PACKAGES_FOLDER)}/pytest-[0-6]\.[^/]*\.dist-info/METADATA")
"""Installed pytest that cannot rewrite assertions of the Python of today; everything else of it runs."""


def pytest_settings(snapshot: Snapshot) -> Mapping[str, object]:
    """Return the settings that pytest reads: those of the first file that has some; empty if none has."""
    for path in _OWN_FILES:
        if path in snapshot.entries:
            by_toml = path.endswith(".toml")
            return sub_table(read_toml(snapshot, path), "pytest") if by_toml else _section(snapshot, path, "pytest")
    tool = sub_table(sub_table(read_toml(snapshot, "pyproject.toml"), "tool"), "pytest")
    settings = sub_table(tool, "ini_options") or tool
    for path, section in _SHARED_FILES:
        settings = settings or _section(snapshot, path, section)
    return settings


def _section(snapshot: Snapshot, path: str, section: str) -> Mapping[str, object]:
    parser = read_ini(snapshot, path)
    return dict(parser[section]) if parser.has_section(section) else {}


def pytest_options(snapshot: Snapshot) -> str:
    """Return options that make up for missing plugins of the project's settings, coverage and parallel runs; or "".

    A version before 7 also does not rewrite assertions.
    """
    settings = pytest_settings(snapshot)
    options = " --assert=plain" if any(map(_OLD_PYTEST.fullmatch, snapshot.entries)) else ""
    options += " -o required_plugins=" if settings.get("required_plugins") else ""
    options += " -o strict_config=false" if settings.get("strict") or settings.get("strict_config") else ""
    return f" -p {OPTIONS_PLUGIN} --no-cov -n0{options}" if settings.get("addopts") else options


def missing_test_folders(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the folders of pytest's setting ``testpaths`` that a project does not have."""
    stated = pytest_settings(snapshot).get("testpaths")
    named = strings(stated) if isinstance(stated, list) else str(stated or "").split()
    paths = (path.strip("/").removeprefix("./") for path in named if not set("*?[") & set(path))
    entries = [f"{path}/" for path in snapshot.entries]
    return tuple(path for path in paths if path != "." and not any(name.startswith(f"{path}/") for name in entries))


def without_installed_tests(snapshot: Snapshot, command: str, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment of a pytest command that collects no tests of installed packages.

    By default pytest skips folders such as ``.deps``, but a project's ``norecursedirs`` replaces that default.
    """
    folders = installation_folders(snapshot) if runs_pytest([command]) else ()
    ignored = " ".join(f"--ignore={shlex.quote(f'{WORK}/{folder}')}" for folder in folders)
    options = environment.get("PYTEST_ADDOPTS", "")
    return {**environment, "PYTEST_ADDOPTS": f"{options} {ignored}".strip()} if ignored else environment


def installation_folders(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the folders of a project in which packages are installed: by a setup, or as a part of the project."""
    folders = {match[1] or "" for match in map(_INSTALLED.fullmatch, snapshot.entries) if match}
    if any(path.startswith(f"{PACKAGES_FOLDER}/") for path in snapshot.entries):
        folders.add(PACKAGES_FOLDER)
    return tuple(sorted(folders - {""}))
