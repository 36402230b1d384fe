"""Options and names of the sources of a build that takes projects: arguments, a file of sources, a crawl of GitHub."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from caretbench.build.sources.fetching.source_spec import SOURCE_ABOUT, SourceSpec, parse_source, read_source_file
from caretbench.build.sources.fetching.unpacking import SourceLimits, archive_suffix
from caretbench.build.sources.github.client import GithubClient
from caretbench.build.sources.github.repository_crawl import (
    CRAWL_FILES,
    MONTHS,
    CrawledRepository,
    CrawlSettings,
    StoredCrawl,
)
from caretbench.errors import UsageError
from caretbench.languages import language as language_named
from caretbench.options import Option, StringList
from caretbench.progress import Progress
from caretbench.suites.stored_tasks import SOURCES_FILE
from caretbench.syntax.analysis import test_conventions

_SOURCES, _CRAWL = "Sources", "Crawl"
_MAX_NAME: Final = 80

_CRAWL_OPTIONS: Final = (
    Option("created_months", int, "Maximum age of a repository in months.", "build", default=MONTHS, minimum=1,
           metavar="N", help_group=_CRAWL),
    Option("more_stars_than", int, "A repository has more stars.", "build", default=50, minimum=0, metavar="N",
           help_group=_CRAWL),
    Option("untested", bool, "Also repositories without a test file.", "build", flags=("--untested",), default=False,
           help_group=_CRAWL),
    Option("unlicensed", bool, "Also repositories without a licence that GitHub recognises.", "build",
           flags=("--unlicensed",), default=False, help_group=_CRAWL),
    Option("licence", StringList, "SPDX name of an accepted licence; may be repeated. Default: any.", "build",
           metavar="NAME", help_group=_CRAWL),
    Option("heavy_needs", bool, "Also repositories with signs of heavy needs: graphics cards, services, large "
           "packages.", "build", flags=("--heavy-needs",), default=False, help_group=_CRAWL),
    Option("max_repository_mb", int, "Maximum size of a repository with its history, in MB.", "build", default=100,
           minimum=1, metavar="N", help_group=_CRAWL),
    Option("max_repositories", int, "Maximum number of accepted repositories.", "build", default=50, minimum=1,
           metavar="N", help_group=_CRAWL),
    Option("max_requests", int, "Maximum number of requests to GitHub. Default: no limit.", "build", minimum=1,
           metavar="N", help_group=_CRAWL),
    Option("crawl_only", bool, "Stop after the crawl, and build nothing.", "build", flags=("--crawl-only",),
           default=False, help_group=_CRAWL),
)  # fmt: skip

SOURCE_OPTIONS: Final = (
    Option("source_file", Path, "File of further sources, one a line, or TOML with hashes.", "build",
           flags=("--sources",), metavar="FILE", help_group=_SOURCES),
    Option("source_minutes", float, "Maximum time of each of several sources, in minutes.", "build", default=30.0,
           minimum=0.0, metavar="N", help_group=_SOURCES),
    Option("source_mb", int, "Maximum size of each fetched source, in MB.", "build", default=512, minimum=1,
           metavar="N", help_group=_SOURCES),
    Option("crawl", bool, "Search GitHub for further sources: young repositories with stars, tests, a licence and "
           "light needs. GITHUB_TOKEN raises its limits.", "build", flags=("--crawl",), default=False,
           help_group=_CRAWL),
    *_CRAWL_OPTIONS,
)  # fmt: skip
"""Options of a suite whose build takes projects."""


class NamedSources(NamedTuple):
    """Sources of a build by the name of their folder.

    ``several`` is True if each is built into its own folder; ``refused`` counts the repositories of a crawl that were
    not accepted, by reason.
    """

    specs: Mapping[str, SourceSpec]
    several: bool
    refused: Mapping[str, int]


def find_sources(
    sources: Sequence[str], output: Path, options: Mapping[str, Any], languages: Sequence[str], progress: Progress
) -> NamedSources:
    """Return the sources of arguments, file and crawl; the crawl is stored in ``output``.

    Args:
        sources: The arguments.
        output: The folder of the build.
        options: Values of :data:`SOURCE_OPTIONS`.
        languages: Languages of the crawl; empty: Python.
        progress: Receiver of steps and notes.

    Raises:
        UsageError: there is no source, or an option is wrong.
        DataError: a source is none of the forms, or the crawl fails.
    """
    if not options["crawl"]:
        # An option that has no effect is a mistake: without --crawl the user would believe that it filters.
        changed = [option for option in _CRAWL_OPTIONS if options[option.name] not in (option.default, [], None)]
        if changed:
            raise UsageError(f"--{changed[0].name.replace('_', '-')} needs --crawl")
    specs = [parse_source(source) for source in sources]
    if options["source_file"] is not None:
        specs += read_source_file(options["source_file"])
    refused: Counter[str] = Counter()
    if options["crawl"]:
        for found in _crawled(output, options, languages, progress):
            if found.reasons:
                # Without the details in brackets, so that equal reasons add up.
                refused.update(reason.partition(" (")[0] for reason in found.reasons)
            else:
                specs.append(found.source())
    elif not specs:
        raise UsageError(f"no project; name {SOURCE_ABOUT}")
    # A list of one source today may have two tomorrow: the folder's layout must not depend on it.
    several = len(specs) != 1 or bool(options["source_file"] or options["crawl"])
    return NamedSources(folder_names(specs), several, dict(refused.most_common()))


def source_limits(options: Mapping[str, Any]) -> SourceLimits:
    """Return the bounds of a source that is fetched."""
    return SourceLimits(unpacked_bytes=options["source_mb"] << 20)


def folder_names(specs: Sequence[SourceSpec]) -> dict[str, SourceSpec]:
    """Return sources by names for their folders, each source once; a name that is taken gets a number."""
    found: dict[str, SourceSpec] = {}
    taken = {SOURCES_FILE, *CRAWL_FILES}
    for spec in specs:
        # Not the text: `name==1.0` in a file and as an argument is one source.
        same = {"location", "revision", "folder"}
        if any(spec.model_dump(include=same) == one.model_dump(include=same) for one in found.values()):
            continue
        base, number = _folder_name(spec), 1
        name = base
        # File systems of macOS and Windows take `Click` and `click` for one folder.
        while name.casefold() in taken:
            number += 1
            name = f"{base}-{number}"
        taken.add(name.casefold())
        found[name] = spec
    return found


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
        name = name.removesuffix(name[len(name) - len(archive_suffix(name)) :]) if archive_suffix(name) else name
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", name)[:_MAX_NAME].lstrip("._+-") or "project"


def _crawled(
    output: Path, options: Mapping[str, Any], languages: Sequence[str], progress: Progress
) -> list[CrawledRepository]:
    settings = CrawlSettings(
        months=options["created_months"],
        languages=_crawl_languages(languages),
        more_stars_than=options["more_stars_than"],
        max_size_kb=1000 * options["max_repository_mb"],
        limit=options["max_repositories"],
        with_tests=not options["untested"],
        with_licence=not options["unlicensed"],
        licences=tuple(options["licence"] or ()),
        light_needs=not options["heavy_needs"],
    )
    found = []
    client = partial(GithubClient, max_requests=options["max_requests"], notify=progress.note)
    for one in StoredCrawl(output, settings).repositories(client, progress.note):
        progress("repositories", 1, None)
        found.append(one)
    return found


def _crawl_languages(names: Sequence[str]) -> tuple[str, ...]:
    found = []
    for name in names or ("python",):
        try:
            test_conventions(name)
        except UsageError:
            raise UsageError(f"--language {name}: no language of a crawl") from None
        found.append(language_named(name).name)
    return tuple(dict.fromkeys(found))
