"""Warm start of Python commands: forks of an interpreter that has imported the usual modules of the standard library.

For ``python3 -m pytest`` it has imported pytest, too, and nothing else of a project; ``python3 -m unittest`` and
``python3 SCRIPT.py`` need no more. A command that this does not suit starts its own interpreter: where a module of the
project, or another of its packages, has a name that a fork has imported from elsewhere, or where files or variables
change how Python starts.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Final

from caretbench.execution.bundles.bundle_model import Bundle
from caretbench.execution.execution_types import WarmSettings
from caretbench.execution.sandbox.bubblewrap import DEFAULT_ENVIRONMENT, WORK, launcher_interpreter
from caretbench.execution.sandbox.invocation import Invocation
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest
from caretbench.files import read_packaged_toml, sha256_text

TABLE: Final = "pytest_releases.toml"
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "pytest": ("_pytest", "pytest", "py"), "pluggy": ("pluggy",), "iniconfig": ("iniconfig",),
    "packaging": ("packaging",), "pygments": ("pygments",),
}  # fmt: skip
"""Modules by distribution."""
PYTEST_MODULES: Final = tuple(module for modules in MODULES.values() for module in modules)


def content_hash(files: Mapping[str, str], module: str) -> str | None:
    """Return the hash of all files of a module or package; None if it has none.

    ``files`` are hashes of contents by path, relative to the folder on the import path.
    """
    module_files = sorted(path for path in files if path.startswith((f"{module}/", f"{module}.")))
    return sha256_text(*(f"{path} {files[path]}" for path in module_files)) if module_files else None


@cache
def _known_modules() -> Mapping[str, frozenset[str]]:
    table = read_packaged_toml(__package__, TABLE)
    return {module: frozenset(versions.values()) for module, versions in table.items()}


def is_known(files: Mapping[str, str], module: str) -> bool:
    """Return whether the files of a module or package are those of a known release, or it has none."""
    content = content_hash(files, module)
    return content is None or content in _known_modules()[module]


PACKAGES_FOLDER: Final = ".deps"
"""Folder of the project into which a setup installs Python packages; it is on the import path and never mined."""
_PYTEST_COMMAND: Final = ("python3", "-m", "pytest")
_UNITTEST_COMMAND: Final = ("python3", "-m", "unittest")
_PYTEST: Final = (
    "assertion", "assertion.rewrite", "assertion.truncate", "assertion.util", "cacheprovider", "capture", "compat",
    "config", "config.argparsing", "config.exceptions", "config.findpaths", "debugging", "deprecated", "doctest",
    "faulthandler", "fixtures", "freeze_support", "helpconfig", "junitxml", "legacypath", "logging", "main", "mark",
    "mark.expression", "mark.structures", "monkeypatch", "nodes", "nose", "outcomes", "pastebin", "pathlib", "python",
    "python_api", "python_path", "raises", "recwarn", "reports", "runner", "scope", "setuponly", "setupplan",
    "skipping", "stash", "stepwise", "subtests", "terminal", "terminalprogress", "threadexception", "timing", "tmpdir",
    "tracemalloc", "unittest", "unraisableexception", "warning_types", "warnings",
)  # fmt: skip
"""Modules of pytest that it loads at every start, in some version; plugins that it rewrites are not among them."""
_LIBRARY: Final = (
    "argparse", "ast", "bdb", "cmd", "code", "contextlib", "copy", "dataclasses", "decimal", "difflib", "doctest",
    "enum", "fnmatch", "fractions", "functools", "getpass", "glob", "hashlib", "inspect", "io", "itertools", "json",
    "logging", "math", "operator", "os", "pathlib", "pdb", "platform", "pprint", "random", "re", "runpy", "shutil",
    "string", "subprocess", "tempfile", "textwrap", "threading", "traceback", "types", "typing", "unittest",
    "unittest.mock", "uuid", "xml.etree.ElementTree",
)  # fmt: skip
# No package of a project but pytest: preloading them was 40 times cheaper and unsafe, as programs shared descriptors,
# and a copy of the project hid answers. With pytest an answer takes 0.200 s instead of 0.710.
_MODULES: Final = (
    *_LIBRARY,
    "packaging.version",
    "py",
    "pluggy",
    "iniconfig",
    "pytest",
    *(f"_pytest.{name}" for name in _PYTEST),
)
_OTHER_LIBRARY: Final = frozenset(
    {"antigravity", "distutils", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo", "venv"}
)
"""Modules of the standard library that nothing imports here: projects have folders of these names."""
_START_FILES: Final = frozenset({"sitecustomize", "usercustomize"})
"""Modules that Python imports as it starts, which a fork does not do again."""
_LIBRARY_NAMES: Final = (sys.stdlib_module_names - _OTHER_LIBRARY) | _START_FILES | {"__pycache__"}
"""Names that a fork may have imported; byte code of a single module lies outside of its files."""
_NAMES: Final = _LIBRARY_NAMES | set(PYTEST_MODULES)
_START_VARIABLES: Final = ("PYTHON", "LD_", "GLIBC_", "MALLOC_", "LC_", "LANG", "HOME", "TZ", "XDG_")
"""Beginnings of variables that change how an interpreter starts, or what code it runs then."""
_FREE_VARIABLES: Final = frozenset({"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"})
_ENVIRONMENT: Final[Mapping[str, str]] = {**DEFAULT_ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"}
"""Variables of the warm interpreter: none of a project's, which could make it run other code."""
_PROJECTS: Final = 64


class WarmPython:
    """Settings of the warm sandboxes in which Python commands start. Threads may share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str | None], str | None] = OrderedDict()
        self._lock = threading.Lock()

    def settings(
        self, request: WorkspaceRequest, invocation: Invocation, snapshot: Snapshot, bundle: Bundle | None
    ) -> WarmSettings | None:
        """Return the settings for a command, or None if it starts an interpreter of its own.

        Repeated runs do that too: tests that depend on the seed of hashes, or on the start, show it there.
        """
        environment = {**DEFAULT_ENVIRONMENT, **(invocation.environment or {})}
        if (
            not _starts_as_usual(request, environment)
            or _brings_names(request, snapshot)
            or _has_interpreter(request, snapshot, environment["PATH"])
        ):
            return None
        runs_pytest = request.command[:3] == _PYTEST_COMMAND
        if not (runs_pytest or request.command[:3] == _UNITTEST_COMMAND or _is_script(request, snapshot)):
            return None
        path = environment.get("PYTHONPATH", "")
        with self._lock:
            key = (snapshot.id, path if runs_pytest else None)
            if key not in self._known:
                self._known[key] = (
                    _folder_of_pytest(snapshot, bundle, path.split(":")) if runs_pytest else _library_folder(snapshot)
                )
                if len(self._known) > _PROJECTS:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            folder = self._known[key]
        if folder is None:
            return None
        environment_of_worker = tuple(_ENVIRONMENT.items())
        if not runs_pytest:  # one worker for all projects
            return WarmSettings(_harness(), _LIBRARY, "system", environment_of_worker, folder)
        return WarmSettings(_harness(), _MODULES, "project", environment_of_worker, folder)


def _starts_as_usual(request: WorkspaceRequest, environment: Mapping[str, str]) -> bool:
    """Return whether a command starts Python directly, without variables that change how Python starts."""
    return (
        request.command[0] == "python3"
        and not (request.repeat or request.needs)
        and not any(_changes_start(name, value) for name, value in environment.items())
        and ("PYTHONPATH" not in environment or all(environment["PYTHONPATH"].split(":")))
        and not any(_is_imported_from(inside, environment) for inside in request.read_only)
        and _is_launcher(environment["PATH"])
    )


def _is_imported_from(bind: str, environment: Mapping[str, str]) -> bool:
    """Return whether Python may import from a folder of the host, whose names no snapshot tells."""
    folders = environment.get("PYTHONPATH", "").split(":")
    return bind.startswith(f"{WORK}/") or any(f"{folder}/".startswith(f"{bind}/") for folder in folders)


def _has_interpreter(request: WorkspaceRequest, snapshot: Snapshot, path: str) -> bool:
    """Return whether a project has a ``python3`` of its own on the PATH, where relative folders count, too."""
    for entry in path.split(":"):
        folder = posixpath.relpath(posixpath.join(WORK, request.directory, entry), WORK)
        program = posixpath.normpath(posixpath.join(folder, "python3"))
        if program in snapshot.entries or program in request.patch:
            return True
    return False


def _is_script(request: WorkspaceRequest, snapshot: Snapshot) -> bool:
    """Return whether a command starts a Python file of the project; a link's target decides the import path."""
    name = request.command[1] if len(request.command) > 1 else ""
    path = posixpath.normpath(posixpath.join(request.directory, name))
    entry = snapshot.entries.get(path)
    here = entry is not None and entry.kind == "file" and request.patch.get(path, "") is not None
    return here and name.endswith(".py") and not name.startswith(("-", "/"))


def _brings_names(request: WorkspaceRequest, snapshot: Snapshot) -> bool:
    """Return whether a patch changes packages, or adds a file by whose name something else could be imported."""
    for path in request.patch:
        new = path not in snapshot.entries
        if path.startswith(f"{PACKAGES_FOLDER}/") or (new and _names(path) & _NAMES):
            return True
    return False


@cache
def _is_launcher(path: str) -> bool:
    """Return whether the first ``python3`` of the system on a path is the interpreter of warm sandboxes."""
    system = ":".join(folder for folder in path.split(":") if not folder.startswith(WORK))
    program = shutil.which("python3", path=system)
    return program is not None and os.path.realpath(program) == os.path.realpath(launcher_interpreter()[0])


def _library_folder(snapshot: Snapshot) -> str | None:
    """Return "", or None where any folder of a project has a module that a fork has imported from elsewhere.

    A script's folder and those that ``unittest`` is given come first on the import path, packages or not.
    """
    own, packages = _files(snapshot)
    names = {name for path in own if path.endswith((".py", ".so", ".pyc")) for name in _names(path)}
    installed = {path.split("/")[0].partition(".")[0] for path in packages}
    return None if (names | installed) & _LIBRARY_NAMES or any(map(_is_interpreter, packages)) else ""


def _folder_of_pytest(snapshot: Snapshot, bundle: Bundle | None, folders: Iterable[str]) -> str | None:
    """Return the folder of pytest as a program sees it, "" for the system's; None if no fork may import it.

    A bundle's files are locked by hashes, and those of the system are trusted.
    """
    own, packages = _files(snapshot)
    installed = {path.split("/")[0].partition(".")[0] for path in packages if not path.startswith("bin/")}
    of_pytest = installed & set(PYTEST_MODULES)
    if _top_level(own) & _NAMES or (installed & _NAMES) - of_pytest or any(map(_is_interpreter, packages)):
        return None
    if "pytest" in installed:
        return f"{WORK}/{PACKAGES_FOLDER}" if all(is_known(packages, module) for module in of_pytest) else None
    bundled = [folder for folder in folders if bundle is not None and folder.startswith(tuple(bundle.read_only))]
    return None if of_pytest else (bundled or [""])[0]


def _files(snapshot: Snapshot) -> tuple[list[str], dict[str, str]]:
    """Return the project's own files, and the hashes of those of its packages by path in their folder."""
    start = f"{PACKAGES_FOLDER}/"
    own, packages = [], {}
    for path, entry in snapshot.entries.items():
        if entry.kind != "folder" and path.startswith(start):
            packages[path.removeprefix(start)] = entry.content if entry.kind == "file" else "link"
        elif entry.kind == "link":  # to a module, or to the folder of a package
            own.append(f"{path}.py")
        elif entry.kind == "file":
            own.append(path)
    return own, packages


def _is_interpreter(path: str) -> bool:
    return path.startswith("bin/python")


def _top_level(files: Iterable[str]) -> set[str]:
    """Return the names by which files may be imported first: those that are in no folder of a regular package."""
    paths = list(files)
    regular = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2].startswith("__init__.")} - {""}
    names = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name.startswith("__init__.") and folder:
            above, _, package = folder.rpartition("/")
            names |= {package} if above not in regular else set()
        elif folder not in regular and name.endswith((".py", ".so", ".pyc")):
            names.add(name.partition(".")[0])
    return names


def _names(path: str) -> set[str]:
    """Return the names by which the parts of a path could be imported."""
    return {name.partition(".")[0] for name in path.split("/")}


def _changes_start(variable: str, value: str) -> bool:
    """Return whether a variable makes an interpreter start otherwise than the warm one did."""
    listed = variable.startswith(_START_VARIABLES) and variable not in _FREE_VARIABLES
    return listed and _ENVIRONMENT.get(variable) != value


@cache
def _harness() -> str:
    return resources.files(__package__).joinpath("command_harness.py").read_text("utf-8")
