"""Notation of sources: a folder, an archive, NAME==VERSION, a git address, OWNER/NAME; and files that list them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from caretbench.build.sources.fetching.unpacking import ARCHIVE_SUFFIXES, archive_suffix
from caretbench.download import without_password
from caretbench.errors import DataError
from caretbench.files import describe_validation_error
from caretbench.problem import Row

SourceKind = Literal["folder", "archive", "archive_address", "distribution", "git", "github"]

SOURCE_ABOUT: Final = "a folder, an archive, NAME==VERSION at PyPI, a git address, or OWNER/NAME at GitHub"
"""Kinds of sources, for help texts and messages."""

_DISTRIBUTION: Final = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)==(?P<version>[\w.!+-]+)")
_GITHUB: Final = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[\w.-]{1,100})(?:@(?P<revision>[\w./+-]+))?")
_GIT: Final = re.compile(
    r"(?:git\+)?(?P<address>(?:https?|ssh|git|file)://[^\s#/]*/[^\s#@]+|[\w.-]+@[\w.-]+:[^\s#@]+)"
    r"(?:@(?P<revision>[\w./+-]+))?(?:#(?P<folder>[^#?\s]+))?"
)
_SHA256: Final = r"^[0-9a-f]{64}$"
_TOML: Final = ".toml"


class SourceSpec(Row):
    """One source, as it was named.

    ``location`` is the path, the address, or the name; ``revision`` the version, or the commit, branch or tag of a
    repository (empty: its default branch).
    """

    text: str
    kind: SourceKind
    location: str
    revision: str = ""
    folder: str = ""
    """Folder of the repository that is the project."""
    sha256: str | None = Field(default=None, pattern=_SHA256)
    """Hash of the archive; any other content is refused."""

    @property
    def shown(self) -> str:
        """The source for messages and files, without a password."""
        return without_password(self.text) if "://" in self.text else self.text

    @model_validator(mode="after")
    def _check_pin(self) -> Self:
        # An address may return another file tomorrow; a build must be repeatable.
        if self.kind == "archive_address" and self.sha256 is None:
            raise ValueError("an address of an archive needs its hash: ADDRESS#sha256=…")
        if self.sha256 is not None and self.kind not in ("archive", "archive_address", "distribution"):
            raise ValueError("only an archive has a sha256; name the commit of a repository: ADDRESS@COMMIT")
        return self


class _SourceEntry(Row):
    source: str
    sha256: str | None = None


class _SourceFile(Row):
    source: tuple[_SourceEntry, ...] = ()


def parse_source(text: str, *, sha256: str | None = None, base: Path = Path()) -> SourceSpec:
    """Return a source; what exists as a file or a folder is one.

    Args:
        text: The source.
        sha256: Hash of the archive.
        base: The folder for relative paths.

    Raises:
        DataError: the text is none of the forms.
    """
    try:
        return _parse(text.strip(), sha256, base)
    except ValidationError as error:
        raise DataError(f"{text}: {describe_validation_error(error)}") from None


# Long: one case for each form.
def _parse(text: str, sha256: str | None, base: Path) -> SourceSpec:
    spec = partial(SourceSpec, text=text, sha256=sha256)
    try:
        path = base / Path(text).expanduser()
    except RuntimeError:
        raise DataError(f"{text}: there is no user {text.partition('/')[0]} here; write the whole path") from None
    # Before the forms: a folder `owner/name` wins over a repository at GitHub, and needs no network.
    if text and path.is_dir():
        return spec(kind="folder", location=str(path))
    # A frequent slip: pip downloads wheels, and they contain no tests.
    if text.lower().endswith(".whl"):
        raise DataError(f"{text}: a wheel, which has no tests; give the source distribution (.tar.gz)")
    if archive_suffix(text) and "://" not in text:
        if not path.is_file():
            raise DataError(f"{text}: no such file")
        return spec(kind="archive", location=str(path))
    if text and path.exists():
        raise DataError(f"{text}: not an archive; expected {', '.join(ARCHIVE_SUFFIXES)}")
    if match := _DISTRIBUTION.fullmatch(text):
        return spec(kind="distribution", location=match["name"], revision=match["version"])
    address, _, fragment = text.partition("#")
    # The hash protects the content, HTTPS also hides which project is fetched. As a repository, which it is not, an
    # archive's hash would be taken for a folder.
    if archive_suffix(address) and address.startswith("http://"):
        raise DataError(f"{text}: archives are fetched by https:// alone")
    if archive_suffix(address) and address.startswith("https://"):
        digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
        return spec(kind="archive_address", location=address, sha256=sha256 or digest)
    if match := _GIT.fullmatch(text):
        return spec(
            kind="git", location=match["address"], revision=match["revision"] or "", folder=match["folder"] or ""
        )
    if match := _GITHUB.fullmatch(text):
        # `repos/humanize` beside a folder `repos` is a mistyped path; asking GitHub ends in an error of its network.
        if (base / (owner := text.partition("/")[0])).is_dir():
            raise DataError(
                f"{text}: no such folder in {owner}/, which is here; a repository of that name: https://github.com/{text}"
            )
        name = match["name"].removesuffix(".git")
        return spec(kind="github", location=name, revision=match["revision"] or "")
    raise DataError(f"{text or 'an empty source'}: no such file or folder; a source is {SOURCE_ABOUT}")


def read_source_file(path: Path) -> tuple[SourceSpec, ...]:
    """Return the sources that a file lists: one a line with comments (``#``), or TOML with hashes.

    Relative paths are below the file's folder.

    Raises:
        DataError: the file cannot be read, or an entry is wrong; the message has its line or number.
    """
    try:
        text = path.read_text("utf-8")
        entries = _toml_entries(text) if path.suffix == _TOML else _line_entries(text)
        sources = []
        for position, source, sha256 in entries:
            try:
                sources.append(parse_source(source, sha256=sha256, base=path.parent))
            except DataError as error:
                raise DataError(f"{path}, {position}: {error}") from None
    except ValidationError as error:
        raise DataError(f"{path}: {describe_validation_error(error)}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    return tuple(sources)


def _line_entries(text: str) -> Iterator[tuple[str, str, None]]:
    for number, line in enumerate(text.splitlines(), start=1):
        # A comment needs a space before it: `#sha256=` and `#folder` belong to the source.
        source = re.sub(r"(?:^|\s)#.*", "", line).strip()
        if source:
            yield f"line {number}", source, None


def _toml_entries(text: str) -> Iterator[tuple[str, str, str | None]]:
    for number, entry in enumerate(_SourceFile.model_validate(tomllib.loads(text)).source, start=1):
        yield f"source {number}", entry.source, entry.sha256
