"""Installation of the packages in ``package.json`` with npm, and npm's own message if that fails."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Final

from caretbench.build.projects.setup.package_scripts import (
    DEPENDENCY_FIELDS,
    PACKAGE_JSON,
    listed_texts,
    read_package_json,
    test_script,
)
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.rules import project_rules
from caretbench.projects.script_runners import script_rules

_FETCH: Final = "npm install --no-save --ignore-scripts --no-audit --no-fund --legacy-peer-deps"
_RANGE: Final = re.compile(r"(?:workspace:|catalog:|patch:)(?P<range>[\^~]?\d+\.\S*)?")
"""Version in the syntax of pnpm or yarn, with the range that npm understands, if it has one."""
_ERROR: Final = re.compile(r"^npm (?:error|ERR!) ?(.*)$")
_NOISE: Final = re.compile(
    r"(?:code \w+|\d{3}|A complete log of this run .*|Note that you can also .*|tarball, folder, http url.*"
    r"|In most cases you or one of your .*|a package version that .*)?"
)
"""Lines of npm that say nothing about the cause."""
_TAG: Final = re.compile(r"^(?:\d{3}|notarget|notsup|network|syscall|errno|enoent|\w*resolve)\s+", re.IGNORECASE)
_MISSING: Final = re.compile(
    r"'(@?[^'@\s]+)@[^']*' (?:is not in this registry|could not be found)|No matching version found for (@?[^@\s]+)@"
)
_REPOSITORY: Final = re.compile(r"\bls-remote \S*?[:/]([\w.-]+/[\w.-]+?)(?:\.git)?$")
_MOST_LINES: Final = 3
_PACKAGE_WORD: Final = re.compile(r"(?:@[\w.-]+/)?[\w.-]*\w")
_OF_COMPILERS: Final = re.compile(r"typescript|tslib|@types/.*|@babel/.*|core-js")
_SOURCES: Final = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"})


def install_command(snapshot: Snapshot, excluded: Collection[str] = ()) -> str | None:
    """Return the command that installs the packages of a project's tests without ``excluded``; None if there are none.

    Packages that no test needs would take most of the space: they are removed from ``package.json`` for the
    installation, and the file is restored afterwards. Packages of the same repository come from the index.
    """
    deleted: list[str] = []
    changed: list[str] = []
    kept = 0
    for field, name, version in _dependencies(snapshot):
        foreign = _RANGE.match(version)
        if name in excluded or _is_unneeded(field, name, version):
            deleted.append(f"{field}[{name}]")
            continue
        kept += 1
        if foreign:
            changed.append(f"{field}[{name}]={foreign['range'] or '*'}")
    if not kept:
        return None
    steps = [f"npm pkg delete {shlex.join(deleted)}"] if deleted else []
    steps += [f"npm pkg set {shlex.join(changed)}"] if changed else []
    if not steps:
        return _FETCH
    return " && ".join([f"cp {PACKAGE_JSON} /tmp/", *steps, _FETCH, f"cp /tmp/{PACKAGE_JSON} ."])


def smaller_install_command(snapshot: Snapshot) -> str | None:
    """Return the command without development packages that neither tests nor sources name; None if all are named.

    Packages of TypeScript and Babel are kept: compilers find them without a name.
    """
    script = test_script(snapshot)
    texts = [script.line] if script is not None else []
    texts += [
        snapshot.read(path).decode("utf-8", "replace") for path in snapshot.entries if _names_packages(path, snapshot)
    ]
    words = {word for text in texts for word in _PACKAGE_WORD.findall(text)}
    unnamed = [
        name
        for field, name, version in _dependencies(snapshot)
        if field == "devDependencies"
        and not _is_unneeded(field, name, version)
        and not _OF_COMPILERS.fullmatch(name)
        and name not in words
    ]
    return install_command(snapshot, unnamed) if unnamed else None


def _names_packages(path: str, snapshot: Snapshot) -> bool:
    """Return whether a file names the packages that it needs: a source or a tool's settings, not ``package.json``."""
    place = PurePosixPath(path)
    if snapshot.entries[path].kind != "file" or not project_rules().files.folders.isdisjoint(place.parts[:-1]):
        return False
    return place.suffix in _SOURCES or (len(place.parts) == 1 and place.name.startswith("."))


def _dependencies(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    """Return the required packages: field, name, version."""
    package = read_package_json(snapshot)
    return [(field, name, version) for field in DEPENDENCY_FIELDS for name, version in listed_texts(package, field)]


def _is_unneeded(field: str, name: str, version: str) -> bool:
    """Return whether tests run without a package, or it is a folder of the same repository."""
    if version.startswith(("link:", "portal:")):
        return True
    rules = script_rules()
    patterns = rules.unneeded_packages if field == "devDependencies" else ()
    if version.startswith("workspace:") and field == "devDependencies":
        patterns = (*patterns, *rules.unpublished_packages)
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def npm_failure(output: str, snapshot: Snapshot) -> str:
    """Return npm's message in the output of a set-up, with a remedy if a package is missing; "" if npm printed none.

    A package that the index lacks may be one that no test needs, so the remedy installs the others.
    """
    said = [_TAG.sub("", match[1].strip()) for match in map(_ERROR.match, output.splitlines()) if match]
    told = list(dict.fromkeys(line for line in said if not _NOISE.fullmatch(line)))
    if not told:
        return ""
    text = " / ".join(told[:_MOST_LINES])
    required = {name: version for _, name, version in _dependencies(snapshot)}
    missing = sorted(_missing(told, required))
    if not missing:
        return text
    command = install_command(snapshot, missing)
    remedy = f"--setup {shlex.quote(command)}" if command else "the same command without --setup"
    return f"{text}; where no test needs {', '.join(missing)}: {remedy}"


def _missing(lines: Collection[str], required: Mapping[str, str]) -> set[str]:
    """Return the required packages that npm's message names as missing, or whose git repository it cannot reach."""
    named = {match[1] or match[2] for line in lines for match in _MISSING.finditer(line)}
    places = {match[1].lower() for match in map(_REPOSITORY.search, lines) if match}
    return {
        name for name, version in required.items() if name in named or any(place in version.lower() for place in places)
    }
