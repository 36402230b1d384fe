"""Options and targets of a CMake project that concern tests, from its files; nothing of the project is executed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from caretbench.build.projects.setup.debian_packages import installed_sources, unpacked_sources
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.settings import project_rules

_CALL: Final = re.compile(
    r"^[ \t]*(option|cmake_dependent_option|add_executable|add_custom_target)[ \t]*"
    r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)",
    re.MULTILINE | re.IGNORECASE,
)
_COMMENT: Final = re.compile(r"#[^\n]*")
_SETTING: Final = re.compile(r"^[ \t]*(path|url)[ \t]*=[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_WORD: Final = re.compile(r'"([^"]*)"|([^\s"]+)')
_ABOUT_TESTS: Final = re.compile(
    r"(?:^|[^a-z])(?:unit|self)?_?(?:tests?|testing|checks?|specs?)(?![a-z])", re.IGNORECASE
)
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FETCHED: Final = re.compile(r"\bFetchContent_Declare\s*\(\s*([\w.-]+)", re.IGNORECASE)
_KINDS: Final = {
    "option": ("option", 2),
    "cmake_dependent_option": ("option", 2),
    "add_executable": ("program", None),
    "add_custom_target": ("target", 1),
}
"""Kind of what a command declares, and the number of its words that may say that it concerns tests."""
_NAMED: Final = 5
_BUILD: Final = ".caretbench-build"


class CMakeTests(NamedTuple):
    """Options that concern tests, test programs, and custom targets that run tests, by name."""

    options: tuple[str, ...]
    programs: tuple[str, ...]
    targets: tuple[str, ...]


def cmake_tests(snapshot: Snapshot) -> CMakeTests:
    """Return what the CMake files of a project say about its tests; files of other projects in it do not count."""
    by_kind: dict[str, dict[str, None]] = {"option": {}, "program": {}, "target": {}}
    for text in _files(snapshot):
        for match in _CALL.finditer(text):
            words = [quoted or plain for quoted, plain in _WORD.findall(match[2])]
            kind, about = _KINDS[match[1].lower()]
            if not words or "$" in words[0] or {"IMPORTED", "ALIAS"} & set(words):
                continue
            if any(_ABOUT_TESTS.search(_CAMEL.sub("_", word)) for word in words[:about]):
                by_kind[kind][words[0]] = None
    return CMakeTests(*(tuple(names) for names in by_kind.values()))


def _files(snapshot: Snapshot) -> Iterator[str]:
    """Yield the texts of a project's own CMake files without comments, those of outer folders first."""
    foreign = project_rules().files.folders
    for path in sorted(snapshot.entries, key=lambda path: (path.count("/"), path)):
        name = PurePosixPath(path)
        named = name.name == "CMakeLists.txt" or name.suffix == ".cmake"
        if named and snapshot.entries[path].kind == "file" and not foreign & set(name.parts):
            yield _COMMENT.sub("", snapshot.read(path).decode("utf-8", "replace"))


def fetched_libraries_options(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the options by which a build takes the libraries of ``FetchContent`` from this machine, if it has any."""
    names = dict.fromkeys(name for text in _files(snapshot) for name in _FETCHED.findall(text))
    if not names:
        return ()
    sources = ((name.upper(), installed_sources(name) or unpacked_sources(name, snapshot)) for name in names)
    local = (f"-DFETCHCONTENT_SOURCE_DIR_{name}={folder}" for name, folder in sources if folder is not None)
    return ("-DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=ALWAYS", *local)


def empty_submodules(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the folders of git submodules that have no file, with the last part of their addresses."""
    if ".gitmodules" not in snapshot.entries:
        return {}
    text = snapshot.read(".gitmodules").decode("utf-8", "replace")
    named = [dict(_SETTING.findall(part)) for part in text.split("[submodule")[1:]]
    filled = {"/".join(path.split("/")[:n]) for path in snapshot.entries for n in range(1, path.count("/") + 1)}
    urls = {row["path"].strip("/"): row["url"].rstrip("/") for row in named if {"path", "url"} <= row.keys()}
    return {
        path: url.rpartition("/")[2].removesuffix(".git") for path, url in urls.items() if path and path not in filled
    }


def submodules_command(snapshot: Snapshot) -> str | None:
    """Return the command that fills empty submodules with libraries' sources of this machine; None if it has none."""
    sources = ((path, installed_sources(name)) for path, name in empty_submodules(snapshot).items())
    copies = [
        f"mkdir -p {shlex.quote(path)} && cp -r {folder}/. {shlex.quote(path)}" for path, folder in sources if folder
    ]
    return " && ".join(copies) or None


def offered_tests(snapshot: Snapshot) -> str:
    """Return the options and targets that may run a project's tests, and a command to name one; empty if none does."""
    tests = cmake_tests(snapshot)
    parts = [f"the {kind} {', '.join(names[:_NAMED])}" for kind, names in tests._asdict().items() if names]
    if not parts:
        return ""
    switches = "".join(f" -D{name}=ON" for name in tests.options[:_NAMED])
    build = f"cmake -S . -B {_BUILD}{switches} && cmake --build {_BUILD}"
    if tests.programs:
        program = tests.programs[0]
        run = f'{build} --target {program} && "$(find {_BUILD} -type f -name {program} -perm -u+x | head -n 1)"'
    elif tests.targets:
        run = f"{build} --target {tests.targets[0]}"
    else:
        run = f"{build} && ctest --test-dir {_BUILD} --no-tests=error"
    return f"CMake knows {' and '.join(parts)}: --test-command '{run}'"
