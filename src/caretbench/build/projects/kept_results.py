"""Results of test commands and set-ups that are kept from one build of a project to the next, by what they depend on.

A commit changes the snapshot, and with it the key of every step. What a command depends on changes rarely: the files
that its tests execute, their own files and what stands around both.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from caretbench.build.projects.build_steps import BuildSteps
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.warm.warm_python import PACKAGES_FOLDER
from caretbench.execution.workspaces.workspace_request import WORKSPACE_LIMITS, WorkspaceRequest
from caretbench.file_locks import temporary_folder
from caretbench.files import sha256_text
from caretbench.projects.runner_options import SELECTED_TESTS
from caretbench.syntax import language_of

_DEPENDENCIES: Final = (f"{PACKAGES_FOLDER}/", "node_modules/")
# Commits to these are frequent, and no test reads them: one that replaced .travis.yml repeated all 33 commands.
_FOR_PEOPLE: Final = re.compile(
    r".*\.(?:md|rst|adoc)|(?:.*/)?(?:\.(?:circleci|github|gitlab)/.*"
    r"|\.(?:git|cirrus|codecov|editorconfig|mergify|pre-commit|readthedocs|travis)[^/]*"
    r"|(?:\.?appveyor|azure-pipelines|codecov|renovate)[^/]*|(?:AUTHORS|CHANGE|COPYING|LICEN[CS]E|NOTICE)[^/]*)"
)
"""Paths of texts for people, and of settings of services that build and check a repository."""
_SETUP_FILES: Final = frozenset({"setup.py", "noxfile.py", "conftest.py"})
"""Source files that a set-up may read."""
_INSTALLS_ITSELF: Final = "--no-deps ."


class ContentKeys:
    """Keys of commands in a prepared project, by the content that they depend on.

    That is: the patch, the command and its environment; the files in which the selected tests execute a statement, and
    the files of these tests (of all tests where none are selected, or single ones are not known); and all other files
    of the project but mined sources, other tests, and texts for people. A constant of a module of which the tests
    execute no function is not seen; the tests on the unchanged project run anew in any case.
    """

    def __init__(self, snapshot: Snapshot, reach: StatementReach) -> None:
        self._entries = snapshot.entries
        self._reach = reach
        self._tests = {name: name.partition("::")[0] for name in reach.all_tests}
        files = self._entries.keys() & set(self._tests.values())
        # Names that are no paths (`suite.Class.test`): the tests may be in any file.
        self._test_files = files if len(files) == len(set(self._tests.values())) else set()
        sources = reach.statements.keys() - reach.unknown_files.keys()
        apart = {*sources, *self._test_files, *filter(is_for_people, self._entries)}
        self._around = sha256_text(*self._contents(self._entries.keys() - apart))

    def _contents(self, paths: Collection[str]) -> Iterator[str]:
        return (f"{path}\0{self._entries[path].model_dump_json()}" for path in sorted(paths) if path in self._entries)

    @cached_property
    def _executed(self) -> dict[str, set[str]]:
        """Files by the test that executes a statement in them."""
        files: dict[str, set[str]] = defaultdict(set)
        for (path, _), tests in self._reach.tests_by_statement.items():
            for name in tests:
                files[name].add(path)
        return files

    def key(self, request: WorkspaceRequest) -> str:
        """Return the key of a command."""
        selected = request.patch.get(SELECTED_TESTS)
        tests = json.loads(selected) if selected else []
        files: set[str] = set()
        if tests and self._test_files and self._executed and self._tests.keys() >= set(tests):
            for name in tests:
                files |= {self._tests[name], *self._executed[name]}
        else:
            executed = (path for path, spans in self._reach.statements.items() if any(hit for _, hit in spans))
            files = {*executed, *self._test_files}
        # Limits follow from the time of this build's own test runs, which is never the same.
        plain = request.model_copy(
            update={"id": "", "snapshot": "", "limits": WORKSPACE_LIMITS, "reference_cpu_s": None}
        )
        return sha256_text(self._around, repr(plain), *self._contents(files - request.patch.keys()))


def is_for_people(path: str) -> bool:
    """Return whether a file is a text for people, or settings of a service that builds or checks a repository."""
    return not language_of(path) and _FOR_PEOPLE.fullmatch(path) is not None


def kept_setup(
    kept: BuildSteps, store: SnapshotStore, project: Snapshot, command: str, run: Callable[[], Snapshot]
) -> Snapshot:
    """Return the snapshot of a project after its set-up, with the packages of an earlier one that read the same files.

    Sources and tests may differ. A set-up that builds the project itself, or writes outside of the folders of packages,
    runs anew.
    """
    read = (
        f"{path}\0{entry.model_dump_json()}"
        for path, entry in sorted(project.entries.items())
        if PurePosixPath(path).name in _SETUP_FILES or not (language_of(path) or is_for_people(path))
    )
    key = ("packages", command, sha256_text(*read))
    # One file for all suites: a bench installed the same packages of npm once for each, a minute of CPU.
    shared = BuildSteps(kept.path and kept.path.with_name("setups.jsonl"))
    identity = shared.get("setup", *key)
    if identity is not None:
        try:
            earlier = store.get(identity)
        except DataError:  # removed since
            pass
        else:
            kept.counts["setup kept"] += 1
            return _with_packages(project, earlier, store)
    finished = run()
    kept.counts["setup"] += 1
    added = finished.entries.keys() - project.entries.keys()
    if _INSTALLS_ITSELF not in command and all(f"{path}/".startswith(_DEPENDENCIES) for path in added):
        shared.store(finished.id, "setup", *key)
    return finished


def _with_packages(snapshot: Snapshot, earlier: Snapshot, store: SnapshotStore) -> Snapshot:
    """Return a snapshot with the installed packages of an earlier one."""
    with temporary_folder("packages") as folder:
        root = folder / "project"
        shutil.copytree(snapshot.tree, root, symlinks=True)
        for name in _DEPENDENCIES:
            if (earlier.tree / name).is_dir() and not (root / name).exists():
                shutil.copytree(earlier.tree / name, root / name, symlinks=True)
        return store.add(root, ignore=(".git", "__pycache__"))


def kept_results(folder: Path, suite: str, project: str) -> BuildSteps:
    """Return the results that earlier builds of a project for a suite kept in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return BuildSteps(folder / f"{suite}-{project}.jsonl")
