"""Warm start of pytest: forks of an interpreter that has imported pytest and the packages of a project.

No module of the project itself is imported beforehand, and none of a name that occurs in it: tests and answers may
change these, or import theirs in place of a package's. A command that this does not suit starts its own interpreter.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.execution.bundles import Bundle
from caretbench.execution.execution_types import WarmSettings
from caretbench.execution.sandbox.bubblewrap import DEFAULT_ENVIRONMENT, WORK, launcher_interpreter
from caretbench.execution.sandbox.invocation import Invocation
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest

PACKAGES_FOLDER: Final = ".deps"
"""Folder of the project into which a setup installs Python packages; it is on the import path and never mined."""
_COMMAND: Final = ("python3", "-m", "pytest")
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
_PYTEST_PACKAGES: Final = frozenset({"_pytest", "pytest", "pluggy", "iniconfig", "packaging", "pygments"})
_NEVER: Final = frozenset({
    "__main__", "antigravity", "caretbench_tests", "idlelib", "lib2to3", "site", "sitecustomize", "test", "this",
    "tkinter", "turtle", "turtledemo", "usercustomize",
})  # fmt: skip
_START_FILES: Final = frozenset({"sitecustomize.py", "usercustomize.py"})
"""Files that Python imports as it starts, which a fork does not do again."""
_START_VARIABLES: Final = frozenset({"PYTHONSAFEPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONNOUSERSITE"})
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables without which numeric packages start threads as they are imported, and could not be shared."""
_IMPORT: Final = re.compile(
    rb"^[ \t]*(?:from[ \t]+([A-Za-z_][\w.]*)[ \t]+import\b([\w, \t(]*)|import[ \t]+([A-Za-z_][\w., \t]*))", re.MULTILINE
)
_PLUGINS: Final = re.compile(r"^\[pytest11\]", re.MULTILINE)
_PROJECTS: Final = 64


class _Preload(NamedTuple):
    """Modules to import beforehand, and the names of files and folders that hide none of them."""

    modules: tuple[str, ...]
    names: frozenset[str]


class WarmPytest:
    """Settings of the warm sandboxes in which pytest starts. Threads may share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], _Preload | None] = OrderedDict()
        self._lock = threading.Lock()

    def settings(
        self, request: WorkspaceRequest, invocation: Invocation, snapshot: Snapshot, bundle: Bundle | None
    ) -> WarmSettings | None:
        """Return the settings for a command, or None if it starts an interpreter of its own.

        Repeated runs do that too: tests that depend on the seed of hashes, or on the start, show it there.
        """
        environment = {**DEFAULT_ENVIRONMENT, **(invocation.environment or {})}
        if not _starts_as_usual(request, environment):
            return None
        preload = self._preload(snapshot, bundle)
        if preload is None or any(_names_of(path) & preload.names for path in request.patch):
            return None
        bound = (f"{WORK}/{PACKAGES_FOLDER}", *(bundle.read_only if bundle is not None else ()))
        packages = [place for place in _import_path(environment) if place.startswith(bound)]
        shared = {name: value for name, value in environment.items() if not _is_of_one_run(name)}
        kept = {**dict.fromkeys(_THREADS, "1"), **shared}
        if packages:
            kept["PYTHONPATH"] = ":".join(packages)
        return WarmSettings(_harness(), preload.modules, "project", kept)

    def _preload(self, snapshot: Snapshot, bundle: Bundle | None) -> _Preload | None:
        key = (snapshot.id, bundle.lock_hash if bundle is not None else "")
        with self._lock:
            if key not in self._known:
                self._known[key] = _find_preload(snapshot, bundle)
                if len(self._known) > _PROJECTS:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return self._known[key]


def _starts_as_usual(request: WorkspaceRequest, environment: Mapping[str, str]) -> bool:
    """Return whether a command starts pytest directly, without files or variables that change how Python starts."""
    return (
        request.command[:3] == _COMMAND
        and not (request.repeat or request.needs or _START_VARIABLES & environment.keys())
        and not any(path.startswith(f"{PACKAGES_FOLDER}/") or _name(path) in _START_FILES for path in request.patch)
        and ("PYTHONPATH" not in environment or all(_import_path(environment)))
        and _is_launcher(environment["PATH"])
    )


def _import_path(environment: Mapping[str, str]) -> list[str]:
    return environment.get("PYTHONPATH", "").split(":")


@cache
def _is_launcher(path: str) -> bool:
    """Return whether the first ``python3`` of the system on a path is the interpreter of warm sandboxes."""
    system = ":".join(place for place in path.split(":") if not place.startswith(WORK))
    found = shutil.which(_COMMAND[0], path=system)
    return found is not None and os.path.realpath(found) == os.path.realpath(launcher_interpreter()[0])


def _find_preload(snapshot: Snapshot, bundle: Bundle | None) -> _Preload | None:
    """Return what a project's tests can have imported beforehand; None if that is not even pytest."""
    own = [path for path in snapshot.entries if not path.startswith(f"{PACKAGES_FOLDER}/")]
    taken: set[str] = set(_NEVER)
    for path in own:
        taken |= _names_of(path)
    hidden = [path for path in own if _name(path) in _START_FILES] or _PYTEST_PACKAGES & taken
    scripts = f"{PACKAGES_FOLDER}/bin/python"
    if hidden or any(path.startswith(scripts) for path in snapshot.entries):
        return None
    packages = _package_files(snapshot, bundle)
    allowed = (_top_level(packages) | sys.stdlib_module_names) - taken - _rewritten(packages)
    texts = (snapshot.read(path) for path in own if path.endswith(".py") and snapshot.entries[path].kind == "file")
    imported = sorted({name for text in texts for name in _imports(text) if name.partition(".")[0] in allowed})
    library = [name for name in _LIBRARY if name.partition(".")[0] not in taken]
    modules = (*library, "pluggy", "iniconfig", "pytest", *(f"_pytest.{name}" for name in _PYTEST), *imported)
    chosen = tuple(dict.fromkeys(modules))
    return _Preload(chosen, frozenset({name.partition(".")[0] for name in chosen} | _PYTEST_PACKAGES))


def _package_files(snapshot: Snapshot, bundle: Bundle | None) -> dict[str, Path]:
    """Return the files of packages: path relative to the folder on the import path -> path on this machine.

    Of a bundle, whose packages are many, only the first two levels are listed.
    """
    start = f"{PACKAGES_FOLDER}/"
    found = {path.removeprefix(start): snapshot.tree / path for path in snapshot.entries if path.startswith(start)}
    if bundle is None:
        return found
    for inside, place in bundle.read_only.items():
        for part in _import_path(bundle.environment):
            if part == inside or part.startswith(f"{inside}/"):
                folder = Path(place + part.removeprefix(inside))
                listed = (path for pattern in ("*", "*/*") for path in folder.glob(pattern))
                found |= {path.relative_to(folder).as_posix(): path for path in listed}
    return found


def _top_level(files: Iterable[str]) -> set[str]:
    """Return the names of modules and packages by their files."""
    names = (path.split("/", 1) for path in files)
    return {parts[0].partition(".")[0] for parts in names if len(parts) > 1 or parts[0].endswith((".py", ".so"))}


def _rewritten(files: Mapping[str, Path]) -> set[str]:
    """Return the modules of distributions with plugins: pytest rewrites these, and warns if they are imported."""
    found: set[str] = set()
    for path, place in files.items():
        if path.endswith(".dist-info/entry_points.txt") and _PLUGINS.search(place.read_text("utf-8", "replace")):
            record = files.get(path.replace("/entry_points.txt", "/RECORD"))
            lines = record.read_text("utf-8", "replace").splitlines() if record is not None else ()
            found |= _top_level(line.partition(",")[0] for line in lines)
    return found


def _imports(text: bytes) -> Iterator[str]:
    """Yield the dotted names of modules that a text imports, relative ones excluded; some may be no modules."""
    for match in _IMPORT.finditer(text):
        package, members, modules = (group.decode() if group else "" for group in match.groups())
        if package:
            yield package
        for part in (members or modules).replace("(", "").split(","):
            name = part.split()
            if name and not name[0].endswith("."):
                yield f"{package}.{name[0]}" if package else name[0]


def _names_of(path: str) -> set[str]:
    """Return the names by which the parts of a path could be imported."""
    return {part.partition(".")[0] for part in path.split("/")}


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_of_one_run(variable: str) -> bool:
    """Return whether a variable differs between runs, and no package reads it as it is imported."""
    return variable in ("PYTHONPATH", "PYTEST_ADDOPTS") or variable.startswith("CARETBENCH_")


@cache
def _harness() -> str:
    return resources.files(__package__).joinpath("pytest_harness.py").read_text("utf-8")
