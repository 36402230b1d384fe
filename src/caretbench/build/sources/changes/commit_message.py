"""Parser of merge commit messages: pull request number, title and description.

Hosts and bots each have their own message format: :data:`MERGE_MESSAGE_FORMATS`. Names of people (trailers,
``from user/branch``, addresses) are removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from caretbench.build.sources.changes.descriptions import redact_emails, remove_trailers
from caretbench.build.sources.pull_request import ChangeKind

TitleLocation = Literal["body", "subject"]

_MAX_TITLE_CHARACTERS = 300
_MAX_SUBJECT_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class MergeMessageFormat:
    """The format of merge messages of one host or tool.

    ``subject_pattern`` matches the first line: its group ``number`` is the pull request, its group ``title`` or
    ``branch`` is used for the title if ``title_location`` is not the body. ``body_pattern`` must match in the body,
    too; it may contain the number.
    """

    name: str
    subject_pattern: str
    title_location: TitleLocation
    body_pattern: str = ""


MERGE_MESSAGE_FORMATS: Sequence[MergeMessageFormat] = (
    MergeMessageFormat(
        "github-merge", r"Merge pull request #(?P<number>\d+) from (?:[^\s/]+/)?(?P<branch>\S+)", "body"
    ),
    # Merge of a private fork that fixes a vulnerability.
    MergeMessageFormat("github-advisory", r"Merge (?:pull request from GHSA(?:-\w{4}){3}|commit from fork)", "body"),
    MergeMessageFormat(
        "bitbucket-server",
        r"Merge pull request #(?P<number>\d+) in \S+ from (?:[^\s/]+/)?(?P<branch>\S+)(?: to \S+)?",
        "body",
    ),
    MergeMessageFormat("bitbucket-cloud", r"Merged in (?P<branch>\S+) \(pull request #(?P<number>\d+)\)", "body"),
    MergeMessageFormat("azure", r"Merged PR (?P<number>\d+): (?P<title>.+)", "subject"),
    MergeMessageFormat("bors", r"(?:Auto|Rollup) merge of #(?P<number>\d+) - [^\s:]+:(?P<branch>[^\s,]+).*", "body"),
    MergeMessageFormat("bors-ng", r"Merge #(?P<number>\d+)(?: #\d+)*: (?P<title>.+)", "subject"),
    MergeMessageFormat("bors-ng-many", r"Merge #(?P<number>\d+)(?: #\d+)*", "body"),
    MergeMessageFormat(
        "gitlab-merge",
        r"Merge branch '(?P<branch>[^']+)' into '[^']+'",
        "body",
        r"(?m)^See merge request \S*!(?P<number>\d+)\s*$",
    ),
    MergeMessageFormat("number-suffix", r"(?P<title>.+?)\s*\((?:#|!|GH-|PR #?)(?P<number>\d+)\)", "subject"),
    MergeMessageFormat(
        "number-in-trailer",
        r"(?P<title>.+)",
        "subject",
        r"(?im)^(?:PR-URL|Pull[- ]Request(?:[- ]resolved)?|Reviewed-on): ?"
        r"\S*?(?:/pull/|/pulls/|/merge_requests/|#)(?P<number>\d+)\s*$"
        r"|^[Cc]loses #(?P<closes>\d+) from \S+\s*$",
    ),
)

# Lines that merge messages have before their list of commits.
_LISTED = re.compile(r"\* commit '[0-9a-f]+':?|Approved-by:.*|See merge request .*", re.IGNORECASE)
_REVIEWED = re.compile(r"^\d+: (.+?) r=\S+(?: a=\S+)?$")
_FROM_SOMEBODY = re.compile(r"^[Cc]loses (#\d+) from \S+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """The parsed message of a commit, as :class:`~caretbench.build.sources.pull_request.PullRequest` stores it."""

    kind: ChangeKind
    number: int | None
    title: str
    description: str
    trailers_removed: int
    format_name: str | None


def parse_commit_message(text: str, parent_count: int) -> CommitMessage:
    """Parse the message of a commit with this number of parents; more than one is a merge."""
    subject, body = _split_message(text.replace("\r\n", "\n").strip())
    style, number, title = _match_format(subject, body)
    body, removed = remove_trailers(body)
    body = _FROM_SOMEBODY.sub(r"Closes \1", body)
    if not title:
        title, body = _title_from_body(body)
        title = title or _branch_name(style, subject) or subject
    kind: ChangeKind = "merge" if parent_count > 1 else "commit" if number is None else "squash"
    return CommitMessage(
        kind=kind,
        number=number,
        title=redact_emails(title.strip()[:_MAX_TITLE_CHARACTERS]),
        description=redact_emails(body.strip()),
        trailers_removed=removed,
        format_name=style.name if style else None,
    )


def _split_message(text: str) -> tuple[str, str]:
    """Return subject and body; a subject of several lines is joined, as git does."""
    paragraph, _, body = text.partition("\n\n")
    lines = [line.strip() for line in paragraph.split("\n")]
    # A list right below the first line is no wrapped subject.
    if len(lines) > 1 and (
        len(paragraph) > _MAX_SUBJECT_CHARACTERS or not all(line[:1].isalnum() for line in lines[1:])
    ):
        first, _, rest = text.partition("\n")
        return first.strip(), rest.strip("\n")
    subject, body = " ".join(lines), body.strip("\n")
    if subject.endswith("…") and body.startswith("…"):  # the host splits a long title
        rest, _, body = body.partition("\n")
        subject = subject[:-1] + rest[1:]
    return subject, body.strip("\n")


def _match_format(subject: str, body: str) -> tuple[MergeMessageFormat | None, int | None, str]:
    """Return the message format, the number, and the title if the subject contains it."""
    for style in MERGE_MESSAGE_FORMATS:
        match = re.fullmatch(style.subject_pattern, subject)
        below = match and re.search(style.body_pattern, body)
        if match is None or below is None:
            continue
        groups = match.groupdict() | below.groupdict()
        digits = groups.get("number") or groups.get("closes") or "0"
        # Text in the place of a number, such as a time stamp, is none; int() refuses more than 4,300 digits with an
        # error.
        number = int(digits) if len(digits) < 12 else 0
        return style, number or None, groups.get("title", "") if style.title_location == "subject" else ""
    return None, None, subject


def _title_from_body(body: str) -> tuple[str, str]:
    """Return the first line with a title, and the text after it."""
    lines = body.split("\n")
    for index, line in enumerate(lines):
        words = line.strip()
        if words and not _LISTED.fullmatch(words):
            return _REVIEWED.sub(r"\1", words), "\n".join(lines[index + 1 :]).strip("\n")
    return "", ""


def _branch_name(style: MergeMessageFormat | None, subject: str) -> str:
    match = re.fullmatch(style.subject_pattern, subject) if style else None
    return match.groupdict().get("branch") or "" if match else ""
