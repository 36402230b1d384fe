"""One merged change of a repository: the data model that git histories and GitHub share.

One change is one JSON line. Neither names nor e-mail addresses of people are stored: whoever makes a record, titles and
descriptions come without them, and lists of people (``AUTHORS``) without their patches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from caretbench.files import DataError, read_rows
from caretbench.problem import Row
from caretbench.sources.changes.descriptions import without_emails
from caretbench.sources.changes.generated import generated_kind
from caretbench.sources.changes.people import without_people

FileStatus = Literal["added", "modified", "removed", "renamed", "copied", "changed"]
"""As GitHub says them; ``changed``: the mode or the type alone."""

Kind = Literal["merge", "squash", "commit", "pull"]
"""A merge commit; one commit that names its pull request; one that names none (rebased, or pushed); a pull request
of GitHub, which does not say how it was merged."""


def in_utc(text: str) -> str:
    """Return an ISO 8601 moment in UTC, ``2026-08-21T18:36:59Z``, so that texts sort as moments do.

    Raises:
        ValueError: it is no moment with an offset.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} says no offset from UTC")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Moment = Annotated[str, AfterValidator(in_utc)]

PROSE = ("", ".adoc", ".markdown", ".md", ".org", ".rdoc", ".rst", ".txt")
"""Suffixes of prose. Where it speaks of @somebody it means people; elsewhere that may be an annotation."""

_ANNOTATED = frozenset((
    ".java", ".kt", ".kts", ".scala", ".groovy", ".gradle", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".vue", ".py",
    ".pyi", ".swift", ".php", ".dart", ".css", ".scss", ".less", ".m", ".ex", ".exs", ".jl",
))  # fmt: skip
"""Suffixes of languages in which ``@Word`` is code."""


class FileChange(Row):
    """What happened to one file.

    ``patch`` holds the hunks, from the first ``@@`` on, without the lines that name the file; empty for a binary file
    and a pure rename. ``truncated``: the patch was too long to keep whole, and what is there is its beginning.
    """

    path: str
    old_path: str | None = None
    status: FileStatus = "modified"
    binary: bool = False
    generated: bool = False
    truncated: bool = False
    additions: int = Field(default=0, ge=0)
    deletions: int = Field(default=0, ge=0)
    patch: str = ""

    @model_validator(mode="before")
    @classmethod
    def _without_people(cls, value: JsonValue) -> JsonValue:
        """A list of people tells nothing else."""
        if (
            isinstance(value, dict)
            and value.get("patch")
            and generated_kind(str(value.get("path"))) == "people"
        ):
            return value | {"patch": ""}
        return value


class PullRequest(Row):
    """One merged change: what it says, and what it does against the branch it was merged into.

    ``description`` comes without trailers, ``trailers_removed`` counts them. ``is_bot`` is what the author's name said
    where it was seen; the name itself is not kept. ``labels`` and ``created_at`` are known to GitHub alone.
    """

    schema_version: Literal[1] = 1
    repo: str = Field(min_length=1)
    number: int | None = Field(default=None, ge=1)
    kind: Kind
    source: Literal["git", "api"]
    title: str
    description: str = ""
    description_raw_sha256: str | None = None
    trailers_removed: int = Field(default=0, ge=0)
    labels: tuple[str, ...] = ()
    is_bot: bool = False
    base_sha: str
    merge_sha: str
    head_sha: str | None = None
    created_at: Moment | None = None
    merged_at: Moment
    authored_at: Moment | None = None
    url: str | None = None
    license: str | None = None
    language_stats: Mapping[str, float] = Field(default_factory=dict)
    files: tuple[FileChange, ...] = ()
    patch_lines: int | None = Field(default=None, ge=0)
    patch_chars: int | None = Field(default=None, ge=0)
    reject_reasons: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: JsonValue) -> JsonValue:
        """A field of a foreign record that is null is a field that is not there."""
        if not isinstance(value, dict):
            return value
        return {name: entry for name, entry in value.items() if entry is not None}

    @model_validator(mode="after")
    def _without_people(self) -> PullRequest:
        for name in ("title", "description"):
            text: str = getattr(self, name)
            bare = without_people(without_emails(text), self._in_code, annotated=self._annotated)
            if bare != text:
                object.__setattr__(self, name, bare)  # the row is frozen for everybody else
        return self

    @property
    def _annotated(self) -> bool:
        """Whether a language of the change has annotations or decorators; of a change without files nobody knows."""
        return not self.files or any(
            PurePosixPath(file.path).suffix.lower() in _ANNOTATED for file in self.files
        )

    def _in_code(self, word: str) -> bool:
        """Return whether an ``@word`` stands there, or what it is written for is made there."""
        made = re.compile(rf"\b(?:class|interface|def|fun|func|function|macro|enum) {re.escape(word[1:])}\b")
        return any(
            word in file.patch or made.search(file.patch)
            for file in self.files
            if PurePosixPath(file.path).suffix.lower() not in PROSE
        )

    @property
    def key(self) -> tuple[str, str]:
        """What makes the record unique."""
        return (self.repo, self.merge_sha)

    @property
    def newest_first(self) -> tuple[str, str]:
        """Sorts by the moment of the merge; use it with ``reverse=True``."""
        return (self.merged_at, self.merge_sha)


def read_pull_requests(paths: list[Path]) -> Iterator[PullRequest]:
    """Yield the records of JSONL files (``.gz`` too), each change once.

    Raises:
        DataError: with file and line; or the same change stands in two records that differ.
    """
    seen: dict[tuple[str, str], PullRequest] = {}
    for path in paths:
        for row in read_rows(path, PullRequest):
            known = seen.get(row.key)
            if known is None:
                seen[row.key] = row
                yield row
            elif known != row:
                raise DataError(f"{path}: {row.repo} {row.merge_sha} stands there twice, and differs")
