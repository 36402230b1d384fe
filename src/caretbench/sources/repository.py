"""Facts about a clone's repository: the columns of the paper's Table 2, and the fields that each record repeats.

Its name is told by the remote, or by a folder in a form that mirrors use (``owner+name``, ``owner__name``,
``owner%2Fname``) or below one that is called like the host (``github.com/owner/name``). No other folder above a
clone is taken for an owner: ``~/code/project`` is not a project of ``code``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from pydantic import Field

from caretbench.problem import Row
from caretbench.sources.changes.generated import is_generated
from caretbench.sources.git.access import GitError, GitRepository
from caretbench.sources.licences import is_licence_file, licence_of
from caretbench.sources.path_languages import language_of, path_languages
from caretbench.sources.pull_request import Moment

UNKNOWN: Final = "unknown"
"""The organisation of a repository whose name has no owner, in tables and messages."""

_NO_NAME: Final = "repository"
# Names of folders that say nothing about what is in them: the folder above names the repository.
_ANY_CLONE: Final = ("repo", "repository", "clone", "checkout", "git", "source", "src", ".git")
# A remote as git takes it, without who logs in and with what: scheme://user:secret@host:port/path or user@host:path.
_REMOTE: Final = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?(?P<host>[^/:@]+)(?::\d+)?/|(?:[^/@:]+@)?(?P<short>[^/@:]+):(?!/))(?P<path>[^?#]+?)(?:\.git)?/*"
)
_OWNER: Final = r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?!-)){0,38}"
_PAIR: Final = re.compile(rf"(?P<owner>{_OWNER})(?:\+|__|/)(?P<name>[A-Za-z0-9._][\w.-]{{0,99}})")
_HOST: Final = re.compile(r"(?:[a-z0-9-]+\.)*(?:github|gitlab|bitbucket|codeberg|gitea)\.(?:com|org|io)")


class RepositoryName(NamedTuple):
    """``owner/name``, or ``name`` alone where nothing tells the owner; the host where it is known."""

    repo: str
    host: str | None = None


def parse_remote(url: str) -> RepositoryName | None:
    """Return the name of a remote, without user and password; None for a folder's path."""
    found = _REMOTE.fullmatch(url.strip())
    return found and RepositoryName(found["path"].strip("/"), (found["host"] or found["short"]).lower())


def repository_name(folder: Path, remote: str | None) -> RepositoryName:
    """Return the name of a clone; a ``remote`` that is a folder names a clone as its own folder does."""
    if remote:
        found = parse_remote(remote)
        if found is not None:
            return found
        named = _of_folder(Path(remote.strip().removeprefix("file://")))
        if "/" in named.repo:
            return named
    return _of_folder(folder)


def organization_of(repo: str) -> str:
    """Return what precedes the last part of a name, or :data:`UNKNOWN`."""
    return repo.rpartition("/")[0] or UNKNOWN


def _of_folder(folder: Path) -> RepositoryName:
    parts = [part for part in folder.parts if part not in ("/", ".", "..")]
    while len(parts) > 1 and parts[-1].lower() in _ANY_CLONE:
        parts.pop()
    if not parts:
        return RepositoryName(_NO_NAME)
    own = unquote(parts[-1]).removesuffix(".git")
    pair = _PAIR.fullmatch(own)
    if pair is not None:
        return RepositoryName(f"{pair['owner']}/{pair['name']}")
    if len(parts) > 2 and _HOST.fullmatch(parts[-3].lower()) and re.fullmatch(_OWNER, parts[-2]):
        return RepositoryName(f"{parts[-2]}/{own}", parts[-3].lower())
    return RepositoryName(own or _NO_NAME)


_LICENCE_BYTES = 256 * 1024
_PAGES = {
    "github.com": ("https://github.com/{repo}", "{base}/pull/{number}", "{base}/commit/{sha}"),
    "gitlab.com": ("https://gitlab.com/{repo}", "{base}/-/merge_requests/{number}", "{base}/-/commit/{sha}"),
    "codeberg.org": ("https://codeberg.org/{repo}", "{base}/pulls/{number}", "{base}/commit/{sha}"),
    "bitbucket.org": ("https://bitbucket.org/{repo}", "{base}/pull-requests/{number}", "{base}/commits/{sha}"),
}  # fmt: skip


class RepositoryFacts(Row):
    """One repository. ``type`` (what it is for) is known to no git history: a person or GitHub says it.

    ``language_stats`` are shares of the bytes of program text at the revision, generated and vendored files aside;
    the primary language has the largest. ``commits`` counts the first-parent history.
    """

    schema_version: Literal[1] = 1
    repo: str = Field(min_length=1)
    source: Literal["git", "api"] = "git"
    host: str | None = None
    type: str | None = None
    primary_language: str | None = None
    language_stats: Mapping[str, float] = Field(default_factory=dict)
    license: str | None = None
    head_sha: str | None = None
    shallow: bool = False
    commits: int | None = Field(default=None, ge=0)
    first_merged_at: Moment | None = None
    last_merged_at: Moment | None = None

    @property
    def organization(self) -> str:
        """What precedes the last part of the name; ``unknown`` where nothing tells it."""
        return organization_of(self.repo)

    @property
    def name(self) -> str:
        """The last part of the name."""
        return self.repo.rpartition("/")[2]

    @property
    def url(self) -> str | None:
        """The repository's page, at a host that is known."""
        return _PAGES[self.host][0].format(repo=self.repo) if self.host in _PAGES else None

    def change_url(self, number: int | None, sha: str) -> str | None:
        """Return the page of a pull request, or of a commit without a number."""
        if self.host not in _PAGES:
            return None
        base, request, commit = _PAGES[self.host]
        page = request if number else commit
        return page.format(base=base.format(repo=self.repo), number=number, sha=sha)

    def table_row(self, questions: int | tuple[int, int] | None = None) -> dict[str, str]:
        """Return the columns of Table 2; ``questions``: how many there are, or the fewest and the most of the tasks."""
        span = questions if isinstance(questions, tuple) else (questions, questions)
        ends = sorted({str(end) for end in span if end is not None}, key=int)
        language = path_languages().get(self.primary_language or "")
        return {
            "Organization": self.organization,
            "Repository": self.name,
            "Type": self.type or "",
            "Number of Questions": " to ".join(ends),
            "Primary Language": language.title if language else "",
        }


def repository_facts(repository: GitRepository, name: str | None = None) -> RepositoryFacts:
    """What the clone tells; ``name`` says ``owner/name`` where the remote does not or says it wrong.

    A clone without a remote is named by its folder.
    """
    named = repository_name(repository.path.resolve(), repository.remote)
    stats, licence = _contents(repository)
    return RepositoryFacts(
        repo=name or named.repo,
        host=named.host,
        primary_language=max(stats, key=lambda language: (stats[language], language), default=None),
        language_stats=stats,
        license=licence,
        head_sha=repository.head,
        shallow=bool(repository.shallow),
    )


def _contents(repository: GitRepository) -> tuple[dict[str, float], str | None]:
    """Shares of languages and the licence, from the tree of the revision; blobs that are absent count nothing."""
    paths: dict[str, list[str]] = {}
    licences: dict[str, str] = {}
    try:
        listing = repository.run("ls-tree", "-r", "-z", repository.head)
    except GitError:
        return {}, None
    for entry in listing.split(b"\0"):
        about, _, raw = entry.partition(b"\t")
        _, kind, blob = (*about.decode("ascii").split(), "", "", "")[:3]
        path = raw.decode("utf-8", "replace")
        if kind == "blob" and language_of(path) and not is_generated(path):
            paths.setdefault(blob, []).append(path)
        if kind == "blob" and "/" not in path and is_licence_file(path):
            licences[path] = blob
    sizes = _sizes(repository, paths)
    whole = sum(sizes.values())
    shares = {language: round(size / whole, 4) for language, size in sizes.most_common()} if whole else {}
    return shares, licence_of({path: _text(repository, blob) for path, blob in licences.items()})


def _sizes(repository: GitRepository, paths: Mapping[str, list[str]]) -> Counter[str]:
    """Return the number of bytes in each language; ``paths`` are those of each blob."""
    asked = "".join(f"{blob}\n" for blob in paths).encode("ascii")
    said = repository.run("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", stdin=asked)
    sizes: Counter[str] = Counter()
    headers = 0
    for line in said.decode("ascii", "replace").split("\n"):
        blob, _, size = line.partition(" ")
        for path in paths.get(blob, ()) if size.isdigit() else ():
            sizes[language_of(path) or ""] += int(size)
            headers += int(size) * path.endswith(".h")
    if sizes["cpp"] > sizes["c"] - headers:  # the suffix .h is that of both languages
        sizes["cpp"] += headers
        sizes["c"] -= headers
    return +sizes  # without those of which nothing is there


def _text(repository: GitRepository, blob: str) -> str:
    try:
        return repository.run("cat-file", "blob", blob)[:_LICENCE_BYTES].decode("utf-8", "replace")
    except GitError:
        return ""
