"""Addresses of files of Python packages, from the package index that pip or uv uses here.

The index is not trusted: what it names is downloaded, and held against a hash that we know.
"""

from __future__ import annotations

import configparser
import json
import os
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from caretbench.download import without_password
from caretbench.files import DataError

PUBLIC_INDEX = "https://pypi.org/simple"
_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"


def index_url(environment: Mapping[str, str] = os.environ) -> str:
    """Return the simple index in force: by uv's or pip's variable, by a pip.conf, else the public one."""
    for variable in _VARIABLES:
        if environment.get(variable):
            name, named, url = environment[variable].partition("=")
            # uv writes `name=URL`; an address may hold a `=` of its own.
            return (url if named and "://" not in name else environment[variable]).rstrip("/")
    for path in _configurations(environment):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path)
        except (configparser.Error, UnicodeDecodeError):
            continue
        for section in ("global", "install", "download"):
            configured = parser.get(section, "index-url", fallback="").strip()
            if configured:
                return configured.rstrip("/")
    return PUBLIC_INDEX


def _configurations(environment: Mapping[str, str]) -> Iterator[Path]:
    """Return pip's configuration files, the strongest first."""
    if environment.get("PIP_CONFIG_FILE"):
        yield Path(environment["PIP_CONFIG_FILE"])
    yield Path(sys.prefix) / "pip.conf"
    home = Path(environment.get("HOME", "~")).expanduser()
    yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    yield home / ".pip" / "pip.conf"
    yield Path("/etc/pip.conf")
    yield Path("/etc/xdg/pip/pip.conf")


class IndexFile(NamedTuple):
    """A file that a package index names; ``size`` is 0 and ``sha256`` empty where the index does not state them."""

    name: str
    url: str
    sha256: str = ""
    size: int = 0


def file_url(project: str, file: str) -> str:
    """Return the address of ``file`` of ``project``; the index may speak JSON (PEP 691) or HTML (PEP 503).

    Raises:
        DataError: no network, or the index does not have it.
    """
    local = f"give the file with --from FILE ({file}), or use any GGUF file of your own: -m gguf/PATH"
    page = f"{index_url()}/{project}/"
    for entry in package_files(project, remedy=f"without a network {local}"):
        if entry.name == file:
            return entry.url
    raise DataError(f"{without_password(page)}: the package index has no {file}; give the file with --from FILE")


def package_files(project: str, *, index: str | None = None, remedy: str = "try again later") -> list[IndexFile]:
    """Return the files of ``project``, as the index lists them.

    Args:
        project: The name, as the index spells it.
        index: The simple index; None: the one in force.
        remedy: End of the message where the index cannot be reached.

    Raises:
        DataError: no network, or the index does not have the project.
    """
    import httpx

    page = f"{index or index_url()}/{project}/"
    shown = without_password(page)
    try:
        with httpx.Client(timeout=30, follow_redirects=True) as client:
            response = client.get(page, headers={"Accept": _ACCEPT})
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DataError(f"{shown}: the package index cannot be reached ({type(error).__name__}); {remedy}") from None
    if response.status_code != httpx.codes.OK:
        raise DataError(f"{shown}: the package index answers {response.status_code}; is the index right?")
    # An index that does not know PEP 691 answers in HTML, whatever was asked for.
    read = _json_files if "json" in response.headers.get("content-type", "") else _html_files
    # Links are relative to the page that answered, which may be another than the one asked, and end with a hash.
    return [file._replace(url=urldefrag(urljoin(str(response.url), file.url)).url) for file in read(response.text)]


def _json_files(text: str) -> Iterator[IndexFile]:
    try:
        for file in json.loads(text)["files"]:
            url, size, hashes = str(file["url"]), file.get("size"), file.get("hashes") or {}
            digest = str(hashes.get("sha256", ""))
            yield IndexFile(_file_name(url), url, digest, size if isinstance(size, int) else 0)
    # The index is not trusted: what has another form lists no files, and the caller names the page.
    except (ValueError, KeyError, TypeError, AttributeError):
        return


def _html_files(text: str) -> Iterator[IndexFile]:
    links: list[str] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            links.extend(value for name, value in attrs if tag == "a" and name == "href" and value)

    Links().feed(text)
    for link in links:
        name, _, digest = urldefrag(link).fragment.partition("=")
        yield IndexFile(_file_name(link), link, digest if name == "sha256" else "")


def _file_name(url: str) -> str:
    return unquote(urlsplit(url).path).rpartition("/")[2]
