"""A user's project: what is taken of it into the snapshot, which files are mined, and why others are not.

The folder is only read.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import IGNORED, Snapshot, SnapshotStore
from caretbench.languages import language as language_named
from caretbench.projects.language_tables import project_tables
from caretbench.projects.rules import project_rules
from caretbench.projects.setup.settings import SETTINGS_FILE
from caretbench.syntax import ProjectAnalysis, SourceFile, analyse, is_test_path, language_of

_LEAST_LONG: Final = 5
"""A file with fewer very long lines than this has long strings; one with more was written by a tool."""


@dataclass(frozen=True)
class Taken:
    """A project in the store: its snapshot, the files that belong to it, and what was left out with reasons."""

    snapshot: Snapshot
    files: frozenset[str]
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Readable:
    """The files of some languages, analysed together: those to mine, and why others are not mined."""

    analysis: ProjectAnalysis
    mined: Mapping[str, tuple[str, ...]]
    """By language: the paths, sorted."""
    passed_over: Mapping[str, str]
    lines: Mapping[str, int]
    """Lines of the mined files, by language."""


def take(root: Path, store: SnapshotStore, ignore: Collection[str] = ()) -> Taken:
    """Take a project into the store.

    Links that lead outside, sockets and the like are left out, each with its reason.

    Raises:
        DataError: no folder, empty, too large.
    """
    if not root.exists():
        raise DataError(f"{root}: no such folder")
    if not root.is_dir():
        raise DataError(f"{root}: a file; give the folder of a project")
    patterns = (*IGNORED, SETTINGS_FILE, *project_rules().snapshot.ignored, *ignore)
    left_out = dict(_unfit(root, patterns))
    exact = tuple("/" + glob.escape(path) for path in left_out)
    snapshot = store.add(root, ignore=(*patterns, *exact))
    files = frozenset(path for path, entry in snapshot.entries.items() if entry.kind == "file")
    if not files:
        raise DataError(f"{root}: an empty folder; give the folder of a project")
    return Taken(snapshot, files, left_out)


def _unfit(root: Path, patterns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What no snapshot can hold, with reasons."""
    real = os.path.realpath(root)
    for folder, folders, files in os.walk(root, followlinks=False):
        above = Path(folder).relative_to(root).as_posix()
        prefix = "" if above == "." else f"{above}/"
        folders[:] = [name for name in folders if not _matches(prefix + name, name, patterns)]
        for name in (*folders, *files):
            if _matches(prefix + name, name, patterns):
                continue
            place = Path(folder) / name
            mode = place.lstat().st_mode
            if stat.S_ISLNK(mode):
                target = os.path.realpath(place)
                if place.readlink().is_absolute() or not (target == real or target.startswith(real + "/")):
                    yield prefix + name, "a link that leads out of the project"
            elif not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                yield prefix + name, "neither file, link nor folder"
            elif not _is_utf8(name):
                yield prefix + name, "its name is not UTF-8"


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _matches(path: str, name: str, patterns: Iterable[str]) -> bool:
    places = ((path if "/" in pattern else name, pattern.strip("/")) for pattern in patterns)
    return any(fnmatch.fnmatchcase(place, pattern) for place, pattern in places)


def languages_in(taken: Taken) -> tuple[str, ...]:
    """Return the languages of a project that can be mined, the one with the most files first."""
    counts = dict.fromkeys(project_tables(), 0)
    for path in taken.files:
        name = language_of(path)
        if name in counts and _place_fault(path, ()) is None:
            counts[name] += 1
    return tuple(name for name in sorted(counts, key=lambda name: -counts[name]) if counts[name])


def chosen_languages(taken: Taken, chosen: Collection[str]) -> tuple[str, ...]:
    """Return the languages to mine: the chosen ones, all of the project by default.

    Raises:
        DataError: one is not mined, or the project has none.
    """
    known = project_tables()
    names = tuple(dict.fromkeys(language_named(name).name for name in chosen)) or languages_in(taken)
    for name in names:
        if name not in known:
            raise DataError(f"{name} is not mined; known: {', '.join(known)}")
    if not names:
        raise DataError(f"no file in the project of a language that is mined ({', '.join(known)})")
    return names


def read(
    taken: Taken, languages: Collection[str], exclude: Collection[str] = (), *, most_lines: int | None = None
) -> Readable:
    """Read and analyse the files of these languages; test files too, for what they tell about names.

    Files that match ``exclude`` or have more than ``most_lines`` are not mined.

    Raises:
        DataError: there is no file of these languages.
    """
    passed_over = {path: reason for path, reason in taken.left_out.items() if language_of(path) in languages}
    sources = []
    for path in sorted(taken.files):
        language = language_of(path)
        if language not in languages:
            continue
        reason = _place_fault(path, exclude)
        source = None
        if reason is None:
            source, reason = _source(taken.snapshot, path, most_lines or project_rules().files.most_lines)
        if source is None:
            passed_over[path] = reason or "cannot be read"
        else:
            sources.append(source)
    if not sources and not passed_over:
        raise DataError(f"no file of {' or '.join(sorted(languages))} in the project")
    analysis = analyse(sources)
    mined: dict[str, list[str]] = {language: [] for language in languages}
    lines = dict.fromkeys(languages, 0)
    for source in sources:
        if is_test_path(source.path, source.language):
            continue
        faults = analysis[source.path].faults
        if faults and not language_named(source.language).preprocessed:
            passed_over[source.path] = f"does not parse: line {faults[0].line}"
            continue
        mined[source.language].append(source.path)
        lines[source.language] += line_count(source)
    by_language = {name: tuple(paths) for name, paths in mined.items()}
    return Readable(analysis, by_language, dict(sorted(passed_over.items())), lines)


def line_count(source: SourceFile) -> int:
    """Return how many lines a file has; what follows the last line feed counts where it is something."""
    return len(source.line_starts) - (source.line_starts[-1] == len(source.data))


def _place_fault(path: str, exclude: Collection[str]) -> str | None:
    rules = project_rules().files
    parts = PurePosixPath(path).parts
    folder = next((part for part in parts[:-1] if part in rules.folders), None)
    if folder is not None:
        return f"in {folder}/, which is not mined"
    if _matches(path, parts[-1], rules.patterns):
        return "written by a tool"
    pattern = next((one for one in exclude if fnmatch.fnmatchcase(path, one)), None)
    return f"excluded by {pattern}" if pattern is not None else None


def _source(snapshot: Snapshot, path: str, most_lines: int) -> tuple[SourceFile | None, str]:
    rules = project_rules().files
    try:
        source = SourceFile(path, snapshot.read(path))
    except DataError as error:
        return None, str(error).removeprefix(f"{path}: ")
    count = line_count(source)
    if count > most_lines:
        return None, (
            f"{count:,} lines; files of more than {most_lines:,} are not mined "
            f"(`most_lines = {count}` in {SETTINGS_FILE} lets this one in)"
        )
    long = sum(b - a > rules.longest_line for a, b in pairwise(source.line_starts))
    if long >= _LEAST_LONG or (count < _LEAST_LONG and len(source.data) > rules.longest_line * _LEAST_LONG):
        return None, f"{long} lines of more than {rules.longest_line} bytes: written by a tool"
    return source, ""


def lay_down(snapshot: Snapshot, place: Path) -> None:
    """The snapshot as plain files at ``place``, whole or not at all; nothing happens where it is there already."""
    if place.is_dir():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    for left in place.parent.glob(f".{place.name}.*"):  # by a build that was killed here
        shutil.rmtree(left, ignore_errors=True)
    aside = place.with_name(f".{place.name}.{os.getpid()}")
    shutil.copytree(snapshot.tree, aside, symlinks=True)
    try:
        aside.rename(place)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        if not place.is_dir():
            raise
