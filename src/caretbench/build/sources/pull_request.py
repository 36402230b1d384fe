"""Data model of a merged change, for git histories and GitHub.

A change is one JSON line. Names and e-mail addresses of people are not stored: titles and descriptions are redacted
whenever a record is made, and lists of people (``AUTHORS``) have no patch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from caretbench.build.sources.changes.descriptions import redact_emails
from caretbench.build.sources.changes.generated_files import generated_kind
from caretbench.build.sources.changes.name_redaction import redact_names
from caretbench.files import DataError, read_rows
from caretbench.problem import Row, StoredRow

FileStatus = Literal["added", "modified", "removed", "renamed", "copied", "changed"]
"""GitHub's names; ``changed``: only the mode or the type."""

ChangeKind = Literal["merge", "squash", "commit", "pull"]
"""A merge commit; a commit that names its pull request; one that names none (rebased or pushed); a pull request from
GitHub's API, which does not state how it was merged."""


def to_utc(text: str) -> str:
    """Return an ISO 8601 time in UTC, ``2026-08-21T18:36:59Z``, so that texts sort by time.

    Raises:
        ValueError: the text is no time with an offset.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset from UTC")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


UtcTime = Annotated[str, AfterValidator(to_utc)]

PROSE_SUFFIXES = ("", ".adoc", ".markdown", ".md", ".org", ".rdoc", ".rst", ".txt")
"""Suffixes of prose. ``@somebody`` is a person there; elsewhere it may be an annotation."""

_ANNOTATION_SUFFIXES = frozenset((
    ".java", ".kt", ".kts", ".scala", ".groovy", ".gradle", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".vue", ".py",
    ".pyi", ".swift", ".php", ".dart", ".css", ".scss", ".less", ".m", ".ex", ".exs", ".jl",
))  # fmt: skip
"""Suffixes of languages in which ``@Word`` is code."""


class FileChange(Row):
    """The change of one file.

    ``patch`` contains the hunks, from the first ``@@`` on; it is empty for a binary file and a pure rename.
    ``truncated``: ``patch`` is only the start of a long patch.
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
    def _drop_people_list(cls, value: JsonValue) -> JsonValue:
        """Remove the patch of a list of people."""
        # AUTHORS and the like: their hunks are names and addresses, which no file of ours stores.
        if isinstance(value, dict) and value.get("patch") and generated_kind(str(value.get("path"))) == "people":
            return value | {"patch": ""}
        return value


class PullRequest(StoredRow):
    """One merged change: its texts, and its patch against the branch that it was merged into.

    ``description`` has no trailers, ``trailers_removed`` is their number. ``is_bot`` comes from the author's name,
    which is not stored. Only GitHub has ``labels`` and ``created_at``.
    """

    repo: str = Field(min_length=1)
    number: int | None = Field(default=None, ge=1)
    kind: ChangeKind
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
    created_at: UtcTime | None = None
    merged_at: UtcTime
    authored_at: UtcTime | None = None
    url: str | None = None
    license: str | None = None
    language_stats: Mapping[str, float] = Field(default_factory=dict)
    files: tuple[FileChange, ...] = ()
    patch_lines: int | None = Field(default=None, ge=0)
    patch_chars: int | None = Field(default=None, ge=0)
    reject_reasons: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: JsonValue) -> JsonValue:
        """Remove fields that are null in foreign records."""
        if not isinstance(value, dict):
            return value
        return {name: entry for name, entry in value.items() if entry is not None}

    @model_validator(mode="after")
    def _redact_people(self) -> PullRequest:
        for name in ("title", "description"):
            text: str = getattr(self, name)
            # Here, not in the miners: records of other tools are read by this class, too.
            bare = redact_names(redact_emails(text), self._is_code, has_annotations=self._has_annotations)
            if bare != text:
                object.__setattr__(self, name, bare)  # the row is frozen outside of its validators
        return self

    @property
    def _has_annotations(self) -> bool:
        """Return whether a language of the change has annotations or decorators; true without files."""
        return not self.files or any(
            PurePosixPath(file.path).suffix.lower() in _ANNOTATION_SUFFIXES for file in self.files
        )

    def _is_code(self, word: str) -> bool:
        """Return whether an ``@word`` is in the patch, or the word is defined in it."""
        # `@cached` in a title is a person's account only if the change does not define such a name.
        made = re.compile(rf"\b(?:class|interface|def|fun|func|function|macro|enum) {re.escape(word[1:])}\b")
        return any(
            word in file.patch or made.search(file.patch)
            for file in self.files
            if PurePosixPath(file.path).suffix.lower() not in PROSE_SUFFIXES
        )

    @property
    def key(self) -> tuple[str, str]:
        """Unique key of the record."""
        return (self.repo, self.merge_sha)

    @property
    def merge_order(self) -> tuple[str, str]:
        """Sort key by time of the merge; newest first with ``reverse=True``."""
        return (self.merged_at, self.merge_sha)


def read_pull_requests(paths: list[Path]) -> Iterator[PullRequest]:
    """Yield the records of JSONL files (``.gz`` too), each change once.

    Raises:
        DataError: a line is invalid, or a change has two records that differ.
    """
    seen: dict[tuple[str, str], PullRequest] = {}
    for path in paths:
        for row in read_rows(path, PullRequest):
            if row.key not in seen:
                seen[row.key] = row
                yield row
            # Which of the two is right cannot be known; to drop one silently would change the data.
            elif seen[row.key] != row:
                raise DataError(f"{path}: {row.repo} {row.merge_sha} occurs twice, with differences")
