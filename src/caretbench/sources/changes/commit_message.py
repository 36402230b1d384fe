"""Pull request number, title and description from the message of a merged commit.

Hosts and bots each write merges in their own way; :data:`STYLES` is the table of them. What names people (trailers,
``from user/branch``, addresses) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from caretbench.sources.changes.descriptions import without_emails, without_trailers
from caretbench.sources.pull_request import Kind

Where = Literal["body", "subject"]

_TITLE = 300
_FIRST_PARAGRAPH = 200


@dataclass(frozen=True, slots=True)
class Style:
    """How one kind of tool writes the message of a merge.

    ``subject`` is a pattern for the first line: its group ``number`` is the pull request, its group ``title`` or
    ``branch`` what there is of a title when ``title`` is not in the body. ``needs``: a pattern that the body holds
    besides; it may give the number.
    """

    name: str
    subject: re.Pattern[str]
    title: Where
    needs: re.Pattern[str] | None = None


STYLES: Sequence[Style] = (
    Style(
        "github-merge",
        re.compile(r"Merge pull request #(?P<number>\d+) from (?:[^\s/]+/)?(?P<branch>\S+)"),
        "body",
    ),
    # The merge of a fork in which a weakness was mended out of sight.
    Style(
        "github-advisory",
        re.compile(r"Merge (?:pull request from GHSA(?:-\w{4}){3}|commit from fork)"),
        "body",
    ),
    Style(
        "bitbucket-server",
        re.compile(
            r"Merge pull request #(?P<number>\d+) in \S+ from (?:[^\s/]+/)?(?P<branch>\S+)(?: to \S+)?"
        ),
        "body",
    ),
    Style(
        "bitbucket-cloud", re.compile(r"Merged in (?P<branch>\S+) \(pull request #(?P<number>\d+)\)"), "body"
    ),
    Style("azure", re.compile(r"Merged PR (?P<number>\d+): (?P<title>.+)"), "subject"),
    Style(
        "bors",
        re.compile(r"(?:Auto|Rollup) merge of #(?P<number>\d+) - [^\s:]+:(?P<branch>[^\s,]+).*"),
        "body",
    ),
    Style("bors-ng", re.compile(r"Merge #(?P<number>\d+)(?: #\d+)*: (?P<title>.+)"), "subject"),
    Style("bors-ng-many", re.compile(r"Merge #(?P<number>\d+)(?: #\d+)*"), "body"),
    Style(
        "gitlab-merge",
        re.compile(r"Merge branch '(?P<branch>[^']+)' into '[^']+'"),
        "body",
        re.compile(r"^See merge request \S*!(?P<number>\d+)\s*$", re.MULTILINE),
    ),
    Style("number-behind", re.compile(r"(?P<title>.+?)\s*\((?:#|!|GH-|PR #?)(?P<number>\d+)\)"), "subject"),
    Style(
        "named-in-a-trailer",
        re.compile(r"(?P<title>.+)"),
        "subject",
        re.compile(
            r"^(?:PR-URL|Pull[- ]Request(?:[- ]resolved)?|Reviewed-on): ?"
            r"\S*?(?:/pull/|/pulls/|/merge_requests/|#)(?P<number>\d+)\s*$"
            r"|^[Cc]loses #(?P<closes>\d+) from \S+\s*$",
            re.MULTILINE | re.IGNORECASE,
        ),
    ),
)

# What merges put before the commits that they list.
_LISTED = re.compile(r"\* commit '[0-9a-f]+':?|Approved-by:.*|See merge request .*", re.IGNORECASE)
_REVIEWED = re.compile(r"^\d+: (.+?) r=\S+(?: a=\S+)?$")
_FROM_SOMEBODY = re.compile(r"^[Cc]loses (#\d+) from \S+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """A message, read: what :class:`~caretbench.sources.pull_request.PullRequest` keeps of it."""

    kind: Kind
    number: int | None
    title: str
    description: str
    trailers_removed: int
    style: str | None


def read_message(text: str, parents: int) -> CommitMessage:
    """Read a commit's message; more than one of its ``parents`` make it a merge."""
    subject, body = _parted(text.replace("\r\n", "\n").strip())
    style, number, title = _styled(subject, body)
    body, removed = without_trailers(body)
    body = _FROM_SOMEBODY.sub(r"Closes \1", body)
    if not title:
        title, body = _title_of_body(body)
        title = title or _branch(style, subject) or subject
    kind: Kind = "merge" if parents > 1 else "commit" if number is None else "squash"
    return CommitMessage(
        kind=kind,
        number=number,
        title=without_emails(title.strip()[:_TITLE]),
        description=without_emails(body.strip()),
        trailers_removed=removed,
        style=style.name if style else None,
    )


def _parted(text: str) -> tuple[str, str]:
    """Subject and body; a subject that goes on over several lines is joined, as git does."""
    paragraph, _, body = text.partition("\n\n")
    lines = [line.strip() for line in paragraph.split("\n")]
    if len(lines) > 1 and (
        len(paragraph) > _FIRST_PARAGRAPH or not all(line[:1].isalnum() for line in lines[1:])
    ):
        first, _, rest = text.partition("\n")
        return first.strip(), rest.strip("\n")
    subject, body = " ".join(lines), body.strip("\n")
    if subject.endswith("…") and body.startswith("…"):  # the host has cut a long title, and goes on below
        rest, _, body = body.partition("\n")
        subject = subject[:-1] + rest[1:]
    return subject, body.strip("\n")


def _styled(subject: str, body: str) -> tuple[Style | None, int | None, str]:
    """Return the style, the number, and the title if it stands in the subject."""
    for style in STYLES:
        found = style.subject.fullmatch(subject)
        below = style.needs.search(body) if found and style.needs else None
        if found is None or (style.needs and below is None):
            continue
        groups = found.groupdict() | (below.groupdict() if below else {})
        digits = groups.get("number") or groups.get("closes") or "0"
        number = int(digits) if len(digits) < 12 else 0
        return style, number or None, groups.get("title", "") if style.title == "subject" else ""
    return None, None, subject


def _title_of_body(body: str) -> tuple[str, str]:
    """Return the first line that says something, and what follows it."""
    lines = body.split("\n")
    for index, line in enumerate(lines):
        words = line.strip()
        if words and not _LISTED.fullmatch(words):
            return _REVIEWED.sub(r"\1", words), "\n".join(lines[index + 1 :]).strip("\n")
    return "", ""


def _branch(style: Style | None, subject: str) -> str:
    found = style.subject.fullmatch(subject) if style else None
    return found.groupdict().get("branch") or "" if found else ""
