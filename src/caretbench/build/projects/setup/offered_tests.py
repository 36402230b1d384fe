"""Advice for a project without a known test command in its root: folders that have one, and scripts that test."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import Final

from caretbench.build.projects.setup.command_detection import detect_command, known_commands
from caretbench.build.projects.setup.project_tables import read_text
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.rules import project_rules

_SCRIPT: Final = re.compile(r"(?:^|[-_.])(?:run)?[-_]?(?:unit|all|self)?[-_]?(?:tests?|checks?)\.(?:sh|bash)$")
"""Name of a shell script that runs tests."""
_NEEDS_ARGUMENTS: Final = re.compile(rb"(?<!\\)\$\{?[12]\}?(?![\w:-])")
"""First arguments of a script, used without a default value."""
_PROJECT_URL: Final = re.compile(r"^(?:Project-URL: *([^,\n]+), *|(Home)-page: *)(\S+)$", re.MULTILINE)
_REPOSITORY: Final = re.compile(
    r"https?://(?:www\.)?(?P<host>(?:github|gitlab)\.com|codeberg\.org)/(?P<path>[\w.-]+/[\w.-]+?)(?:\.git)?(?:[/#?]|$)"
)
_REPOSITORY_LABELS: Final = ("repository", "source", "source code", "code", "github", "homepage", "home")
_MOST_FOLDERS: Final = 200
_DEPTH: Final = 3
_NAMED: Final = 3


def offered_folders(snapshot: Snapshot, languages: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return folders of a project that have a known test command, with its name; none of them is in another."""
    found: list[tuple[str, str]] = []
    for folder in list(_folders(snapshot))[:_MOST_FOLDERS]:
        if any(folder.startswith(f"{above}/") for above, _ in found):
            continue
        command, _ = detect_command(_part(snapshot, folder), languages)
        if command is not None:
            found.append((folder, command.name))
    return tuple(found)


def offered_scripts(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the paths of shell scripts that run tests by their names, without arguments; outer folders come first."""
    paths = (path for path, entry in snapshot.entries.items() if entry.kind == "file" and not _is_foreign(path))
    named = (path for path in paths if _SCRIPT.search(PurePosixPath(path).name.lower()))
    found = (path for path in named if not _NEEDS_ARGUMENTS.search(snapshot.read(path)))
    return tuple(sorted(found, key=lambda path: (path.count("/"), path)))


def offered_tests(snapshot: Snapshot, languages: Collection[str]) -> str:
    """Return the options that may run a project's tests, in one sentence; empty if its files show none."""
    parts = []
    folders = offered_folders(snapshot, languages)[:_NAMED]
    if folders:
        named = ", ".join(f"{folder} ({name})" for folder, name in folders)
        parts.append(f"a folder of it has tests: {named}: give this folder in place of the project's")
    scripts = offered_scripts(snapshot)[:_NAMED]
    if scripts:
        command = f"bash {shlex.quote(PurePosixPath(scripts[0]).name)}"
        above = PurePosixPath(scripts[0]).parent.as_posix()
        directory = "" if above == "." else f" --directory {shlex.quote(above)}"
        parts.append(
            f"scripts that may test it: {', '.join(scripts)}: --test-command {shlex.quote(command)}{directory}"
        )
    return "; ".join(parts)


def offered_repository(snapshot: Snapshot) -> str:
    """Return the source that has the tests which a source distribution lacks, as a message; "" if none is named."""
    head = (read_text(snapshot, "PKG-INFO") or "").partition("\n\n")[0]
    labelled = {
        label.strip().lower(): url
        for url_label, home, url in _PROJECT_URL.findall(head)
        for label in (url_label or home,)
    }
    urls = [labelled[label] for label in _REPOSITORY_LABELS if label in labelled] + list(labelled.values())
    found = next((match for url in urls if (match := _REPOSITORY.match(url))), None)
    if found is None:
        return ""
    source = found["path"] if found["host"] == "github.com" else f"https://{found['host']}/{found['path']}"
    return f"this source distribution may lack the tests of its repository: build from {source}"


def _folders(snapshot: Snapshot) -> Iterator[str]:
    """Yield the folders that contain a file which known commands look for in a project's root, the outer ones first."""
    names = {
        PurePosixPath(name).name
        for row in known_commands()
        for name in (*row.required_files, *row.any_file, *row.any_text)
        if "*" not in name
    }
    names |= {"package.json", "pyproject.toml", "setup.py"}
    places = {PurePosixPath(path).parent.as_posix() for path in snapshot.entries if PurePosixPath(path).name in names}
    near = (
        folder for folder in places if folder != "." and folder.count("/") < _DEPTH and not _is_foreign(f"{folder}/")
    )
    yield from sorted(near, key=lambda folder: (folder.count("/"), folder))


def _is_foreign(path: str) -> bool:
    return not project_rules().files.folders.isdisjoint(path.split("/")[:-1])


def _part(snapshot: Snapshot, folder: str) -> Snapshot:
    """Return the part of a snapshot in one folder, as a project of its own."""
    start = f"{folder}/"
    entries = {path.removeprefix(start): entry for path, entry in snapshot.entries.items() if path.startswith(start)}
    return snapshot.model_copy(update={"tree": snapshot.tree / folder, "entries": entries})
