"""Facts and files of a repository: columns of the paper's Table 2, fields of each record, files at a commit."""

from __future__ import annotations

import contextlib
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from pydantic import Field

from caretbench.build.sources.changes.generated_files import is_generated
from caretbench.build.sources.git.git_repository import GitError, GitRepository, open_repository
from caretbench.build.sources.licences import is_licence_file, repository_licence
from caretbench.build.sources.pull_request import PullRequest, UtcTime
from caretbench.languages.path_languages import path_language
from caretbench.problem import StoredRow

UNKNOWN_ORGANIZATION: Final = "unknown"
"""The organisation of a repository without an owner in its name, in tables and messages."""

_DEFAULT_NAME: Final = "repository"
# Names of folders that are not names of repositories: the parent folder names the repository.
_GENERIC_FOLDERS: Final = ("repo", "repository", "clone", "checkout", "git", "source", "src", ".git")
# A remote's URL; user and password are not captured: scheme://user:secret@host:port/path or user@host:path.
_REMOTE: Final = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?(?P<host>[^/:@]+)(?::\d+)?/|(?:[^/@:]+@)?(?P<short>[^/@:]+):(?!/))(?P<path>[^?#]+?)(?:\.git)?/*"
)
# GitHub's rule for accounts: 39 characters, no two hyphens in a row.
_OWNER: Final = r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?!-)){0,38}"
_PAIR: Final = re.compile(rf"(?P<owner>{_OWNER})(?:\+|__|/)(?P<name>[A-Za-z0-9._][\w.-]{{0,99}})")
_HOST: Final = re.compile(r"(?:[a-z0-9-]+\.)*(?:github|gitlab|bitbucket|codeberg|gitea)\.(?:com|org|io)")


class RepositoryName(NamedTuple):
    """``owner/name``, or ``name`` if the owner is unknown; and the host, if known."""

    repo: str
    host: str | None = None


def parse_remote_url(url: str) -> RepositoryName | None:
    """Return the name in a remote's URL, without user and password; None for a folder's path."""
    match = _REMOTE.fullmatch(url.strip())
    return match and RepositoryName(match["path"].strip("/"), (match["host"] or match["short"]).lower())


def repository_name(folder: Path, remote_url: str | None) -> RepositoryName:
    """Return a clone's name, from its remote URL, or from a folder name if there is none or it is a folder."""
    if remote_url:
        if (parsed := parse_remote_url(remote_url)) is not None:
            return parsed
        named = _name_from_folder(Path(remote_url.strip().removeprefix("file://")))
        if "/" in named.repo:
            return named
    return _name_from_folder(folder)


def _name_from_folder(folder: Path) -> RepositoryName:
    parts = [part for part in folder.parts if part not in ("/", ".", "..")]
    while len(parts) > 1 and parts[-1].lower() in _GENERIC_FOLDERS:
        parts.pop()
    if not parts:
        return RepositoryName(_DEFAULT_NAME)
    folder_name = unquote(parts[-1]).removesuffix(".git")
    # Tools name clones `owner__name` (SWE-bench) or `owner+name`, as a folder name has no slash.
    pair = _PAIR.fullmatch(folder_name)
    if pair is not None:
        return RepositoryName(f"{pair['owner']}/{pair['name']}")
    if len(parts) > 2 and _HOST.fullmatch(parts[-3].lower()) and re.fullmatch(_OWNER, parts[-2]):
        return RepositoryName(f"{parts[-2]}/{folder_name}", parts[-3].lower())
    return RepositoryName(folder_name or _DEFAULT_NAME)


# The GPL has 35 KB; files with the licences of all dependencies have some hundreds.
_LICENCE_BYTES = 256 * 1024
# Linux has 90,000 paths; trees that name one tree many times have any number of them in a few kilobytes.
_MAX_PATHS: Final = 1_000_000
_PAGES = {
    "github.com": ("https://github.com/{repo}", "{base}/pull/{number}", "{base}/commit/{sha}"),
    "gitlab.com": ("https://gitlab.com/{repo}", "{base}/-/merge_requests/{number}", "{base}/-/commit/{sha}"),
    "codeberg.org": ("https://codeberg.org/{repo}", "{base}/pulls/{number}", "{base}/commit/{sha}"),
    "bitbucket.org": ("https://bitbucket.org/{repo}", "{base}/pull-requests/{number}", "{base}/commits/{sha}"),
}


class RepositoryFacts(StoredRow):
    """Facts about one repository; ``type`` is its purpose, which no git history contains.

    ``language_stats`` are shares of the bytes of source files at the revision, without generated and vendored files;
    the primary language has the largest. ``commits`` is the length of the first-parent history.
    """

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
    first_merged_at: UtcTime | None = None
    last_merged_at: UtcTime | None = None

    @property
    def organization(self) -> str:
        """The name's part before the last slash; ``unknown`` without one."""
        return self.repo.rpartition("/")[0] or UNKNOWN_ORGANIZATION

    @property
    def url(self) -> str | None:
        """URL of the repository's page, if the host is known."""
        return _PAGES[self.host][0].format(repo=self.repo) if self.host in _PAGES else None

    def change_url(self, number: int | None, sha: str) -> str | None:
        """Return the URL of a pull request, or of a commit if the change has no number."""
        if self.host not in _PAGES:
            return None
        base, request, commit = _PAGES[self.host]
        page = request if number else commit
        return page.format(base=base.format(repo=self.repo), number=number, sha=sha)


def read_repository_facts(repository: GitRepository, name: str | None = None) -> RepositoryFacts:
    """Return the facts of a clone; ``name`` replaces the ``owner/name`` of the remote.

    A clone without a remote is named after its folder.
    """
    named = repository_name(repository.path.resolve(), repository.remote_url)
    stats, licence = _languages_and_licence(repository)
    return RepositoryFacts(
        repo=name or named.repo,
        host=named.host,
        primary_language=max(stats, key=lambda language: (stats[language], language), default=None),
        language_stats=stats,
        license=licence,
        head_sha=repository.head,
        shallow=bool(repository.shallow_commits),
    )


def _languages_and_licence(repository: GitRepository) -> tuple[dict[str, float], str | None]:
    """Return shares of languages, and the licence, of the revision's files; missing blobs count 0."""
    paths: dict[str, list[str]] = {}
    licences: dict[str, str] = {}
    try:
        listing = [*repository.entries("ls-tree", "-r", "-z", repository.head, most=_MAX_PATHS)]
    except GitError:
        return {}, None
    for entry in listing:
        about, _, raw = entry.partition(b"\t")
        _, kind, blob = (*about.decode("ascii").split(), "", "", "")[:3]
        path = raw.decode("utf-8", "replace")
        if kind == "blob" and path_language(path) and not is_generated(path):
            paths.setdefault(blob, []).append(path)
        # Licences in folders are those of vendored code.
        if kind == "blob" and "/" not in path and is_licence_file(path):
            licences[path] = blob
    sizes = _bytes_by_language(repository, paths)
    whole = sum(sizes.values())
    shares = {language: round(size / whole, 4) for language, size in sizes.most_common()} if whole else {}
    return shares, repository_licence({path: _read_blob(repository, blob) for path, blob in licences.items()})


def _bytes_by_language(repository: GitRepository, paths: Mapping[str, list[str]]) -> Counter[str]:
    """Return the number of bytes of each language; ``paths`` are those of each blob."""
    asked = "".join(f"{blob}\n" for blob in paths).encode("ascii")
    said = repository.run("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", stdin=asked)
    sizes: Counter[str] = Counter()
    headers = 0
    for line in said.decode("ascii", "replace").split("\n"):
        blob, _, size = line.partition(" ")
        for path in paths.get(blob, ()) if size.isdigit() else ():
            sizes[path_language(path) or ""] += int(size)
            headers += int(size) * path.endswith(".h")
    # By the files that show their language, as a header shows none.
    if sizes["cpp"] > sizes["c"] - headers:  # both languages have the suffix .h
        sizes["cpp"] += headers
        sizes["c"] -= headers
    return +sizes  # without zeros


def _read_blob(repository: GitRepository, blob: str) -> str:
    try:
        return repository.run("cat-file", "blob", blob)[:_LICENCE_BYTES].decode("utf-8", "replace")
    except GitError:
        return ""


MAX_FILE_BYTES: Final = 1_000_000
"""Maximum size of a file; larger ones count as missing."""
_MAX_CACHED_CHARACTERS: Final = 32_000_000


class SourceFiles:
    """The files of one clone, by commit and path, with a cache of recently read files."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        # Changes of one repository are read newest first, and neighbours touch the same files.
        self._texts: OrderedDict[tuple[str, str], str | None] = OrderedDict()
        self._characters = 0

    def read_text(self, commit: str, path: str) -> str | None:
        """Return the text of a file at a commit; None if it is missing, too large or not UTF-8."""
        key = (commit, path)
        if key not in self._texts:
            self._texts[key] = self._read(commit, path)
            self._characters += len(self._texts[key] or "")
            while self._characters > _MAX_CACHED_CHARACTERS and len(self._texts) > 1:
                _, dropped = self._texts.popitem(last=False)
                self._characters -= len(dropped or "")
        self._texts.move_to_end(key)
        return self._texts[key]

    def _read(self, commit: str, path: str) -> str | None:
        # git reads one name a line: a line break in it would ask for a second object, and shift all answers.
        if "\n" in path or "\n" in commit:
            return None
        name = f"{commit}:{path}\n".encode()
        try:
            said = self._repository.run("cat-file", "--batch-check", stdin=name).split()
            if len(said) != 3 or said[1] != b"blob" or int(said[2]) > MAX_FILE_BYTES:
                return None
            body = self._repository.run("cat-file", "--batch", stdin=name).partition(b"\n")[2]
            return body[: int(said[2])].decode("utf-8")
        except (GitError, UnicodeDecodeError):
            return None


class SourceFilesByRepository:
    """Source files of several repositories, opened on demand; a context manager that closes them.

    ``clones`` are folders by the repository names of changes.
    """

    def __init__(self, clones: Mapping[str, Path]) -> None:
        self._clones = dict(clones)
        self._opened: dict[str, SourceFiles] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> SourceFilesByRepository:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._opened.clear()

    def file_reader(self, pull: PullRequest) -> Callable[[str], str | None] | None:
        """Return a reader of a change's files after the merge; None without a clone.

        Raises:
            DataError: the clone cannot be opened.
        """
        if pull.repo not in self._clones:
            return None
        if pull.repo not in self._opened:
            repository = self._stack.enter_context(open_repository(self._clones[pull.repo]))
            self._opened[pull.repo] = SourceFiles(repository)
        return partial(self._opened[pull.repo].read_text, pull.merge_sha)
