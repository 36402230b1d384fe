"""Debian's packages: those that apt knows, of jars, of gems, and of C++ libraries that a build says it lacks."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.execution.execution_types import FrozenModel
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.files import read_packaged_toml

_FOLDER: Final = re.compile(rf'add_subdirectory given source "(?:{WORK}/)?([^"]+)" which is not an? existing directory')
_FETCHED: Final = re.compile(
    r"(?:repository: |downloading |unable to access )'?https?://[^/'\s]+/(?:[^/'\s]+/)*?"
    r"([^/'\s]+?)(?:\.git)?(?:/(?:archive|releases|zipball|tarball)/[^'\s]*|/?)(?='|\s|$)"
)
"""Project that a build wants to fetch: the last part of its address, or the one before a release's archive."""
_LACKS: Final = (
    re.compile(r"Could NOT find (\w[\w+-]*)"),
    re.compile(r'package configuration file provided by "([\w+-]+)"'),
    re.compile(r"(?:No package '|Package ')([\w.+-]+)' (?:found|,? ?required by)|Package ([\w.+-]+) was not found"),
    re.compile(r"cannot find -l([\w+-]+)"),
    re.compile(r"fatal error: <?([\w/.+-]+)"),
)
_HEADERS: Final = re.compile(r"missing_dependency: ([\w/., +-]+?) (?:is|are) not installed")
_HEADER: Final = re.compile(r"/.*|\.(?:h|hh|hpp|hxx|H)$")


class CppLibrary(FrozenModel):
    """Row of ``debian_cpp.toml``."""

    names: str
    package: str
    sources_package: str = ""
    sources: str = ""
    """Folder of the sources that ``sources_package`` installs."""


@cache
def available_packages() -> frozenset[str]:
    """Return the names of Debian's packages as apt knows them on this machine; empty where there is no apt."""
    return frozenset(_printed("apt-cache", "pkgnames").split())


def _printed(program: str, *arguments: str) -> str:
    """Return what a program of apt prints; "" where there is none."""
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


class DebianArchive(NamedTuple):
    """Archive of one of Debian's packages: address and SHA-256."""

    url: str
    sha256: str


LIBRARIES: Final = ".deps/debian"
"""Folder of a project into which packages are unpacked."""
_MAX_ARCHIVES: Final = 30
"""libgtest-dev needs 2 and all of Boost 120, which every run would carry along."""
_FILE_OF_PACKAGE: Final = re.compile(r"^'[^']+' ([^_\s]+)_", re.MULTILINE)
_ARCHIVE: Final = re.compile(r"^'([^']+)' \S+ \d+ SHA256:([0-9a-f]{64})$", re.MULTILINE)
_DEPENDENCY: Final = re.compile(r"^ +\|?Depends: ([\w.+-]+)$", re.MULTILINE)
_LIBRARY: Final = re.compile(r"(?!lib(?:hamcrest|.*-parent)|junit).*-java")
"""Package with jars; JUnit's come from its bundle."""


@cache
def java_archives(packages: tuple[str, ...]) -> tuple[DebianArchive, ...]:
    """Return the archives of packages with jars and of what they depend on, as apt knows them on this machine.

    Two steps of dependencies: mockito's third brings the whole of Maven.
    """
    needed = dict.fromkeys(packages)
    for _ in range(2 if needed else 0):
        named = _DEPENDENCY.findall(_printed("apt-cache", "depends", *needed))
        needed |= dict.fromkeys(name for name in named if _LIBRARY.fullmatch(name))
    return _archives(needed)


def _archives(packages: Collection[str]) -> tuple[DebianArchive, ...]:
    printed = _printed("apt-get", "download", "--print-uris", *packages) if packages else ""
    return tuple(DebianArchive(*parts) for parts in sorted(_ARCHIVE.findall(printed)))


@cache
def library_archives(packages: tuple[str, ...], maximum: int = _MAX_ARCHIVES) -> tuple[DebianArchive, ...]:
    """Return the archives of packages, and of those that they need and this machine lacks; empty above the maximum."""
    # apt names no address of an archive that it keeps: googletest's was in its cache, and none was taken.
    simulated = ("-o", "Debug::NoLocking=true", "-o", "Dir::Cache::archives=/nonexistent", "-qq", "--print-uris")
    printed = _printed("apt-get", *simulated, "--no-install-recommends", "install", *packages) if packages else ""
    needed = _FILE_OF_PACKAGE.findall(printed)
    return _archives(needed) if len(needed) <= maximum else ()


def libraries_command(faults: str, named: str | None) -> str | None:
    """Return the command that puts Debian's packages of C++ libraries, which faults name, into a project.

    None if Debian has none. It then does what files name; folders for sources of others get Debian's.
    """
    rows = {path: cpp_library(path.rpartition("/")[2]) for path in _FOLDER.findall(faults)}
    sources = {path: row for path, row in rows.items() if row is not None and row.sources}
    packages = [
        *(row.sources_package for row in sources.values()),
        *(name for name in _fetched_packages(faults).values() if name),
        *_library_packages(faults).values(),
    ]
    archives = library_archives(tuple(dict.fromkeys(packages)))
    if not archives:
        return None
    copies = [f"mkdir -p {path} && cp -r {LIBRARIES}{row.sources}/. {path}" for path, row in sources.items()]
    return " && ".join(part for part in (named, unpacking_command(archives), *copies) if part)


def with_libraries(snapshot: Snapshot, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return environment variables with those by which compilers and CMake look into Debian's packages of a project."""
    start = f"{LIBRARIES}/usr/lib/"
    if not any(path.startswith(f"{LIBRARIES}/usr/") for path in snapshot.entries):
        return environment
    folders = {path.removeprefix(start).partition("/")[0] for path in snapshot.entries if path.startswith(start)}
    libraries = [f"{WORK}/{start}{name}" for name in sorted(folders) if name.endswith("-linux-gnu")]
    searched = ":".join([*libraries, f"{WORK}/{start}"])
    return {
        "CMAKE_PREFIX_PATH": f"{WORK}/{LIBRARIES}/usr", "CPATH": f"{WORK}/{LIBRARIES}/usr/include",
        "LIBRARY_PATH": searched, "LD_LIBRARY_PATH": searched, **environment,
    }  # fmt: skip


def unpacking_command(archives: Sequence[DebianArchive]) -> str:
    """Return the command that fetches archives, compares their hashes, and unpacks them without root."""
    fetch = "import sys, urllib.request as r; [r.urlretrieve(u, u.rpartition(chr(47))[2]) for u in sys.argv[1:]]"
    sums = " ".join(f"'{archive.sha256}  {archive.url.rpartition('/')[2]}'" for archive in archives)
    steps = (
        f"cd {LIBRARIES}",
        f"python3 -c '{fetch}' {' '.join(archive.url for archive in archives)}",
        f"printf '%s\\n' {sums} | sha256sum -c --quiet",
        'for one in *.deb; do dpkg-deb -x "$one" .; done',
        # Files keep the times of the archive, and only new ones are taken over.
        "rm *.deb && find . -exec touch -h {} +",
    )
    return f"mkdir -p {LIBRARIES} && ( {' && '.join(steps)} )"


def jars_command(archives: Sequence[DebianArchive], folder: str) -> str:
    """Return the command that puts the jars of packages into a folder."""
    jars = f"find {LIBRARIES}/usr/share -name '*.jar' -type f -exec cp -t {folder} {{}} +"
    return f"{unpacking_command(archives)} && {jars} && rm -r {LIBRARIES}"


_ABSENT_GEMS: Final = (
    "puts ARGV.reject { |n| ($:.resolve_feature_path(n) rescue nil) || Gem::Specification.find_by_path(n) }"
)


def gems_command(names: Collection[str], folder: str) -> str | None:
    """Return the command that puts Debian's packages of gems into a folder; ``names`` are those that files require.

    None if Ruby has all of them, or apt knows no package of another. It succeeds where nothing can be fetched.
    """
    absent = _printed("ruby", "-e", _ABSENT_GEMS, *names).split() if names else []
    gems = (gem for name in absent for gem in (name, name.partition("/")[0]))
    packages = dict.fromkeys(f"ruby-{re.sub(r'[/_]', '-', gem)}" for gem in gems)
    archives = library_archives(tuple(package for package in packages if package in available_packages()))
    if not archives:
        return None
    folders = ("lib/ruby/vendor_ruby", "lib/*/ruby/vendor_ruby/*", "share/rubygems-integration/all/gems/*/lib")
    listed = " ".join(f"{LIBRARIES}/usr/{path}" for path in folders)
    copied = f'for one in {listed}; do [ ! -d "$one" ] || cp -r "$one/." {folder}; done'
    return f"{{ ( {unpacking_command(archives)} && mkdir -p {folder} && {copied} ); rm -rf {LIBRARIES}; }}"


@cache
def _libraries() -> tuple[CppLibrary, ...]:
    rows = read_packaged_toml("caretbench.build.projects.setup", "debian_cpp.toml")["libraries"]
    return tuple(CppLibrary.model_validate(row) for row in rows)


def cpp_library(name: str) -> CppLibrary | None:
    """Return the table's row of a library, by a name that builds have for it; None if there is none."""
    return next((row for row in _libraries() if re.fullmatch(row.names, name, re.IGNORECASE)), None)


def installed_sources(name: str) -> str | None:
    """Return the folder of a library's sources on this machine; None if they are not installed."""
    row = cpp_library(name)
    return row.sources if row is not None and row.sources and Path(row.sources).is_dir() else None


def unpacked_sources(name: str, snapshot: Snapshot) -> str | None:
    """Return the folder of a library's sources in a project that got them by a set-up; None if it has none."""
    row = cpp_library(name)
    folder = f"{LIBRARIES}{row.sources}" if row is not None and row.sources else ""
    is_there = folder and any(path.startswith(f"{folder}/") for path in snapshot.entries)
    return f"{WORK}/{folder}" if is_there else None


def cpp_package(name: str) -> str | None:
    """Return the Debian package with the headers of a library; None if there is none."""
    row = cpp_library(name)
    plain = name.lower()
    names = (row.package,) if row is not None else (f"lib{plain}-dev", f"{plain}-dev", f"{plain}")
    return next((package for package in names if package in available_packages() and _is_for_builds(package)), None)


def _is_for_builds(package: str) -> bool:
    return package.endswith("-dev") or any(package == row.package for row in _libraries())


def cpp_packages_message(message: str) -> str:
    """Return what Debian has of the libraries that the message of a C++ build says are missing; empty if none."""
    return "; ".join(dict.fromkeys([*_of_folders(message), *_of_fetched(message), *_of_libraries(message)]))


def _of_folders(message: str) -> Iterator[str]:
    """Yield a remedy for each folder with another project's sources that the project lacks."""
    for path in _FOLDER.findall(message):
        row = cpp_library(path.rpartition("/")[2])
        if row is None or not row.sources:
            yield f"the folder {path} is not in this copy of the project: put it there"
            continue
        apt = "" if Path(row.sources).is_dir() else f"`apt-get install {row.sources_package}`, then "
        copied = shlex.quote(f"mkdir -p {path} && cp -r {row.sources}/. {path}")
        yield f"the folder {path} is not in this copy of the project: {apt}--setup {copied} puts Debian's there"


def _of_fetched(message: str) -> Iterator[str]:
    """Yield a remedy for each library that the build wants to fetch."""
    for name, package in _fetched_packages(message).items():
        installed = f"after `apt-get install {package}` the same command uses Debian's"
        remedy = installed if package else "bring it into the project with --setup"
        yield f"its build fetches {name} over the network: {remedy}"


def _fetched_packages(message: str) -> dict[str, str | None]:
    """Return the package of each library that the build wants to fetch; None if Debian has none."""
    rows = ((name, cpp_library(name)) for name in _FETCHED.findall(message))
    return {name: (row.sources_package if row else "") or cpp_package(name) for name, row in rows}


def _library_packages(message: str) -> dict[str, str]:
    """Return the package of each library that a build says is missing, if Debian has one."""
    lacking = {name for pattern in _LACKS for match in pattern.finditer(message) for name in match.groups() if name}
    lacking |= {name for names in _HEADERS.findall(message) for name in names.split(", ")}
    named = {_HEADER.sub("", name): None for name in sorted(lacking)}
    return {name: package for name in named if (package := cpp_package(name))}


def _of_libraries(message: str) -> Iterator[str]:
    packages = _library_packages(message)
    if packages:
        install = " ".join(dict.fromkeys(packages.values()))
        yield f"Debian has {', '.join(packages)}: `apt-get install {install}`, then the same command"
