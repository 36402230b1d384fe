"""Descriptions of conventional benchmarks: files with hashes, fields of rows, checks, and the released metric.

One TOML file in ``benchmarks/`` describes a benchmark; the suite of its name is made of it. Values of rows are named by
templates: ``{metadata.task_id}`` is the field ``task_id`` of the field ``metadata``, ``{list.0}`` the first entry of a
list. Of several templates the first counts whose fields are all there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from caretbench.conventional import conventional_names
from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.errors import UsageError
from caretbench.files import DataError, cache_folder, read_packaged_toml
from caretbench.problem import Provenance, Row

Template = str | tuple[str, ...]
"""A template, or several of which the first counts whose fields are there."""


class DataFile(Row):
    """One released file: its path, pinned by size and hash, and fields that all of its rows get."""

    path: str
    size: int = 0
    sha256: str = ""
    url: str = ""
    """Address of the file; by default its path below the benchmark's."""
    values: Mapping[str, str] = {}
    cluster: Template = ()
    """Cluster of its rows, in place of that of all rows."""

    @property
    def pinned(self) -> PinnedFile:
        """File with its hash, under its name alone: downloads by hand lie next to each other."""
        return PinnedFile(Path(self.path).name, self.size, self.sha256)


class ContextFields(Row):
    """Other files of the project in a row: the list, and its entries' path and text."""

    entries: str
    path: str
    text: str
    best_first: bool = False
    """The entries are ranked; the best is shown last, so that a budget cuts it last."""


class Hole(Row):
    """Whole program with a mark in place of the missing text; exactly one of the marks must occur, once."""

    program: str
    marks: tuple[str, ...] = Field(min_length=1)


class Rewrite(Row):
    """Replacement in a part of the program, for rows with these labels; what is shown stays as it is."""

    part: Literal["before", "after"]
    labels: Mapping[str, str] = {}
    suffix: str = ""
    """Pattern that the shown suffix must match."""
    pattern: str
    text: str = ""


class Flag(Row):
    """Known fault of problems: its name, a text of the row, and the pattern that finds it."""

    name: str
    labels: Mapping[str, str] = {}
    text: Template
    pattern: str


class Fields(Row):
    """Templates of a problem's parts. ``hole`` stands in place of ``prefix`` and ``suffix``."""

    id: Template
    language: Template
    prefix: Template = ""
    suffix: Template = ""
    hole: Hole | None = None
    statement: Hole | None = None
    """Shown text with a mark: what stands in it before the program is the statement."""
    reference: Template
    cluster: Template
    cluster_pattern: str = ""
    """Pattern whose first match in the cluster's text is its name; without one a long text is named by its hash."""
    overlap_group: Template = ()
    path: Template = ()
    repository: Template = ()
    context: ContextFields | None = None
    labels: Mapping[str, Template] = {}
    tests: Template = ""
    """Hidden text behind the shown suffix."""
    cases: str = ""
    """Field with the input and output cases: a list of objects ``input``, ``output``."""


class RepositoryCheck(Row):
    """Command that checks an answer in a repository of the archive; ``folder`` holds the repositories."""

    command: tuple[str, ...]
    folder: str
    wall_s: float


class Description(Row):
    """One conventional benchmark."""

    title: str
    about: str
    source: str
    revision: str
    licence: str
    date: str
    notice: str = ""
    """Notice that the licence or the origin of the data asks for."""
    url: str = ""
    """Address below which :attr:`files` lie; empty: the data are not fetched, :attr:`archive` says how to get them."""
    archive: str = ""
    files: tuple[DataFile, ...] = ()
    layout: str = r"(?P<name>[^/]+)\.(?:jsonl|jsonl\.gz|parquet)$"
    """Pattern of paths of data files below a folder; its named groups are fields of their rows."""
    languages: Mapping[str, str] = {}
    other_languages: Literal["refuse", "pass over"] = "refuse"
    """Treatment of rows in a language that CaretBench does not have."""
    fields: Fields
    rewrites: tuple[Rewrite, ...] = ()
    flags: tuple[Flag, ...] = ()
    check: Literal["program", "cases", "text", "project"]
    text_values: Mapping[str, str] = {}
    """Fields of the problems whose answers are compared as text, in a benchmark that runs the others."""
    project: RepositoryCheck | None = None
    cpu_s: float = 15.0
    """CPU seconds that a program may use, under both profiles."""
    exec_under_paper: bool = False
    """Under ``paper`` a Python program is executed as a text in which ``exit`` and ``quit`` are None."""
    paper_policy: str = "raw"
    match: str = "lines"
    """Released rule by which an answer equals its reference under ``paper``; ``lines`` is ours, of ``default``."""
    metrics: tuple[str, ...] = ()
    """Released metrics that are computed as columns."""

    @property
    def provenance(self) -> Provenance:
        """Origin of the problems."""
        return Provenance(source=self.source, revision=self.revision, licence=self.licence, date=self.date)


HUMANEVAL_INFILLING: Final = "humaneval-infilling"
SAFIM: Final = "safim"
"""Names of the benchmarks that are sources of builds, too."""


@cache
def description(name: str) -> Description:
    """Return the description of a benchmark, or raise UsageError where there is none of this name."""
    if name not in conventional_names():
        raise UsageError(f"no benchmark {name!r}; known: {', '.join(conventional_names())}")
    return Description.model_validate(read_packaged_toml("caretbench.conventional", f"benchmarks/{name}.toml"))


def released_folder(name: str) -> Path:
    """Return the folder of a benchmark's files in the cache; they may be missing."""
    return cache_folder() / "data" / f"{name}-{description(name).revision}"


def released_file(name: str, file: DataFile) -> Path:
    """Return a fetched file.

    Raises:
        DataError: it is missing; the message says what to type.
    """
    path = released_folder(name) / file.pinned.path
    if not path.is_file():
        raise DataError(f"{name}: {path.name} is missing; run: caretbench pull {name}")
    return path


def source_file(name: str) -> Path:
    """Return the file of a benchmark that builds read: with all 164 functions, with SAFIM's programs with blocks.

    Raises:
        DataError: it is missing.
    """
    files = description(name).files
    return released_file(name, next(file for file in files if file.values.get("split") in ("multi-line", "block")))


def pull_files(name: str, source: Path | None, progress: Callable[[int, int], None], url: str | None = None) -> Path:
    """Fetch a benchmark's files into the cache and return their folder; files that are there are not fetched again.

    Args:
        name: The benchmark.
        source: Clone of its repository, or a folder with the files; None: the network.
        progress: Called with the number of newly fetched files and the total.
        url: Address of the files; by default the described one.

    Raises:
        DataError: a file cannot be fetched, or differs from its hash.
        UsageError: the data are not fetched; the message says how to get them.
    """
    about = description(name)
    address = url or about.url
    if not address:
        raise UsageError(f"{name}: its data are not fetched. {about.archive} Then: --data PATH")
    folder = released_folder(name)
    progress(0, len(about.files))
    for file in about.files:
        pinned = file.pinned
        if not is_complete(pinned, folder):
            if source is None:
                download_file(pinned, address, folder, url=file.url or f"{address}/{file.path}")
            else:
                flat = source / pinned.path
                copy_file(pinned, flat.parent if flat.is_file() else (source / file.path).parent, folder)
        progress(1, len(about.files))
    return folder
