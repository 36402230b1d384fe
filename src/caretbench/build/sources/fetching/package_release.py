"""Source distributions of a package index: file, address and hash of ``NAME==VERSION``."""

from __future__ import annotations

import re
from typing import Final

from caretbench.build.sources.fetching.unpacking import archive_suffix
from caretbench.errors import DataError
from caretbench.local.package_index import IndexFile, package_files

_PHASES: Final = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_PHASE: Final = re.compile(r"\.?(alpha|beta|preview|pre|rc|a|b|c)\.?(?=\d)")
_NAMED: Final = 5


def find_source_distribution(name: str, version: str, *, index: str | None = None) -> IndexFile:
    """Return the source distribution of a release.

    Raises:
        DataError: the index cannot be reached, or has no source distribution of the release with a SHA-256.
    """
    remedy = "without a network give the archive's path"
    files = package_files(_normalized(name), index=index, remedy=remedy)
    releases = {found: file for file in files if (found := _version_of(name, file.name))}
    wanted = comparable_version(version)
    file = next((one for found, one in releases.items() if comparable_version(found) == wanted), None)
    if file is not None and file.sha256:
        return file
    release = f"{name}=={version}"
    if file is not None:
        raise DataError(f"{release}: the package index states no SHA-256 of {file.name}; give the archive's path")
    if any(comparable_version(one.name.split("-")[1]) == wanted for one in files if one.name.endswith(".whl")):
        raise DataError(f"{release}: only wheels, which have no tests; give its git address, or another version")
    known = ", ".join(list(releases)[-_NAMED:]) or "none"
    raise DataError(f"{release}: no source distribution; the last versions that have one: {known}")


def comparable_version(version: str) -> str:
    """Return a version so that different spellings of the same release are equal (``1.0-RC1``, ``1.0rc1``)."""
    text = version.strip().lower().removeprefix("v").replace("-", ".").replace("_", ".")
    release, plus, local = text.partition("+")
    numbers = re.match(r"[\d.]*\d", release)
    first = numbers[0] if numbers else ""
    phase = _PHASE.sub(lambda found: _PHASES.get(found[1], found[1]), release.removeprefix(first))
    return re.sub(r"(?:\.0+)+$", "", first) + phase + plus + local


def _version_of(name: str, file: str) -> str:
    """Return the version in the name of a source distribution; empty for another file."""
    suffix = archive_suffix(file)
    stem = file[: -len(suffix)] if suffix else ""
    for position, letter in enumerate(stem):
        if letter == "-" and _normalized(stem[:position]) == _normalized(name):
            return stem[position + 1 :]
    return ""


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
