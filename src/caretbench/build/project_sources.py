"""Options and names of the sources of a build that takes projects: arguments and a file of sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from caretbench.build.sources.fetching.source_spec import SOURCE_ABOUT, SourceSpec, parse_source, read_source_file
from caretbench.build.sources.fetching.unpacking import SourceLimits, archive_suffix
from caretbench.errors import UsageError
from caretbench.options import Option
from caretbench.suites.stored_tasks import SOURCES_FILE

_SOURCES: Final = "Sources"
_MAX_NAME: Final = 80

SOURCE_OPTIONS: Final = (
    Option("source_file", Path, "File of further sources, one a line, or TOML with hashes.", "build",
           flags=("--sources",), metavar="FILE", help_group=_SOURCES),
    Option("source_minutes", float, "Maximum time of each of several sources, in minutes.", "build", default=30.0,
           minimum=0.0, metavar="N", help_group=_SOURCES),
    Option("source_mb", int, "Maximum size of each fetched source, in MB.", "build", default=512, minimum=1,
           metavar="N", help_group=_SOURCES),
)  # fmt: skip
"""Options of a suite whose build takes projects."""


class NamedSources(NamedTuple):
    """Sources of a build by the name of their folder; ``several`` is True if each is built into its own folder."""

    specs: Mapping[str, SourceSpec]
    several: bool


def find_sources(sources: Sequence[str], options: Mapping[str, Any]) -> NamedSources:
    """Return the sources of arguments and of the file in the values of :data:`SOURCE_OPTIONS`.

    Raises:
        UsageError: there is no source, or an option is wrong.
        DataError: a source is none of the forms.
    """
    specs = [parse_source(source) for source in sources]
    if options["source_file"] is not None:
        specs += read_source_file(options["source_file"])
    elif not specs:
        raise UsageError(f"no project; name {SOURCE_ABOUT}")
    # A list of one source today may have two tomorrow: the folder's layout must not depend on it.
    return NamedSources(folder_names(specs), len(specs) != 1 or options["source_file"] is not None)


def source_limits(options: Mapping[str, Any]) -> SourceLimits:
    """Return the bounds of a source that is fetched."""
    return SourceLimits(unpacked_bytes=options["source_mb"] << 20)


def folder_names(specs: Sequence[SourceSpec]) -> dict[str, SourceSpec]:
    """Return sources by names for their folders, each source once; a name that is taken gets a number."""
    sources: dict[str, SourceSpec] = {}
    taken = {SOURCES_FILE}
    for spec in specs:
        # Not the text: `name==1.0` in a file and as an argument is one source.
        same = {"location", "revision", "folder"}
        if any(spec.model_dump(include=same) == other.model_dump(include=same) for other in sources.values()):
            continue
        base, number = _folder_name(spec), 1
        name = base
        # File systems of macOS and Windows take `Click` and `click` for one folder.
        while name.casefold() in taken:
            number += 1
            name = f"{base}-{number}"
        taken.add(name.casefold())
        sources[name] = spec
    return sources


def _folder_name(spec: SourceSpec) -> str:
    if spec.kind == "folder":
        name = Path(spec.location).resolve().name
    elif spec.kind == "distribution":
        name = f"{spec.location}-{spec.revision}"
    elif spec.kind == "github":
        name = spec.location.replace("/", "+")
    else:
        path = spec.folder or unquote(urlsplit(spec.location).path if "://" in spec.location else spec.location)
        name = PurePosixPath(path.rpartition(":")[2]).name.removesuffix(".git")
        name = name[: len(name) - len(archive_suffix(name))]
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", name)[:_MAX_NAME].lstrip("._+-") or "project"
