"""Repositories that Maven is configured with on this machine: mirrors and active profiles of its ``settings.xml``.

A set-up command gets settings with these addresses alone: passwords and all else stay out of the sandbox.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

MIRROR_SETTING: Final = "MAVEN_MIRROR_URL"
"""Setting of ``--index`` that names a mirror of all Maven repositories."""
SETTINGS_INSIDE: Final = "/tmp/home/.m2/settings.xml"  # noqa: S108  a path inside the sandbox
_GLOBAL: Final = ("/etc/maven/settings.xml", "/usr/share/maven/conf/settings.xml")
_MOST_BYTES: Final = 1 << 20


class MavenMirror(NamedTuple):
    """Mirror: its id, the repositories that it replaces, and its address without keys."""

    identity: str
    mirror_of: str
    url: str


class MavenRepositories(NamedTuple):
    """Mirrors, and addresses of further repositories by id."""

    mirrors: tuple[MavenMirror, ...] = ()
    repositories: Mapping[str, str] = {}

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses, each once."""
        return tuple(dict.fromkeys((*(one.url for one in self.mirrors), *self.repositories.values())))


def configured_repositories(environment: Mapping[str, str]) -> MavenRepositories:
    """Return the repositories of the user's settings, then those of the installation; malformed files are ignored."""
    mirrors: dict[str, MavenMirror] = {}
    repositories: dict[str, str] = {}
    for path in _settings_files(environment):
        root = _parsed(path)
        if root is None:
            continue
        for one in root.iterfind("mirrors/mirror"):
            identity, url = _text(one, "id"), _plain(_text(one, "url"), environment)
            if url and _text(one, "blocked") != "true":  # such a mirror only refuses addresses without TLS
                mirrors.setdefault(identity, MavenMirror(identity, _text(one, "mirrorOf"), url))
        active = {_text(one, ".") for one in root.iterfind("activeProfiles/activeProfile")}
        for profile in root.iterfind("profiles/profile"):
            if _text(profile, "id") in active or _text(profile, "activation/activeByDefault") == "true":
                for one in (*profile.iterfind("repositories/*"), *profile.iterfind("pluginRepositories/*")):
                    if url := _plain(_text(one, "url"), environment):
                        repositories.setdefault(_text(one, "id"), url)
    return MavenRepositories(tuple(mirrors.values()), repositories)


def settings_file(found: MavenRepositories) -> str:
    """Return the text of a ``settings.xml`` with these repositories."""
    mirrors = "".join(
        _element("mirror", {"id": one.identity, "mirrorOf": one.mirror_of, "url": one.url}) for one in found.mirrors
    )
    listed = tuple({"id": identity, "url": url} for identity, url in found.repositories.items())
    return (
        f"<settings><mirrors>{mirrors}</mirrors><profiles><profile><id>configured</id>"
        f"<repositories>{_all('repository', listed)}</repositories>"
        f"<pluginRepositories>{_all('pluginRepository', listed)}</pluginRepositories></profile></profiles>"
        "<activeProfiles><activeProfile>configured</activeProfile></activeProfiles></settings>\n"
    )


def _all(tag: str, rows: Sequence[Mapping[str, str]]) -> str:
    return "".join(_element(tag, row) for row in rows)


def _element(tag: str, parts: Mapping[str, str]) -> str:
    inner = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in parts.items())
    return f"<{tag}>{inner}</{tag}>"


def _settings_files(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111  no error without a home
    yield Path(home) / ".m2/settings.xml"
    for name in ("M2_HOME", "MAVEN_HOME"):
        if environment.get(name):
            yield Path(environment[name]) / "conf/settings.xml"
    yield from map(Path, _GLOBAL)


def _parsed(path: Path) -> ElementTree.Element | None:
    try:
        text = path.read_bytes()[:_MOST_BYTES].decode("utf-8", "replace")
        if "<!DOCTYPE" in text:
            return None
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))  # noqa: S314  no entities
    except (OSError, ElementTree.ParseError):
        return None
    for part in root.iter():
        part.tag = part.tag.rpartition("}")[2] if isinstance(part.tag, str) else ""
    return root


def _text(part: ElementTree.Element, path: str) -> str:
    return ((part.text if path == "." else part.findtext(path)) or "").strip()


def _plain(url: str, environment: Mapping[str, str]) -> str:
    """Return an address of http or https with variables filled in and without keys; empty if it is none."""
    filled = re.sub(r"\$\{env\.(\w+)\}", lambda match: environment.get(match[1], match[0]), url)
    try:
        parts = urlsplit(filled)
    except ValueError:
        return ""
    usable = parts.scheme in ("http", "https") and parts.hostname and "$" not in filled
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if usable else ""
