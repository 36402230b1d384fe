"""Package indexes that pip, uv, npm, Maven and apt are configured with on this machine, by variables and files.

A set-up command sees neither, so they are read here and passed to the sandbox as settings. Only addresses of the kinds
``https`` and ``http`` count: folders of this machine cannot be reached from a sandbox. Malformed files are ignored, as
the tool itself reports them.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from caretbench.build.package_index.index_policy import INDEX_SETTINGS, IndexPolicy, index_policy
from caretbench.build.projects.setup.project_tables import child_text, parsed_xml
from caretbench.errors import DataError

MIRROR_SETTING: Final = "MAVEN_MIRROR_URL"
"""Setting of ``--index`` that names a mirror of all Maven repositories."""
SETTINGS_INSIDE: Final = "/tmp/home/.m2/settings.xml"  # noqa: S108  a path inside the sandbox
_GLOBAL: Final = ("/etc/maven/settings.xml", "/usr/share/maven/conf/settings.xml")
_APT: Final = Path("/etc/apt")
_MAX_BYTES: Final = 1 << 20


_Elements = list[dict[str, str]]
"""Elements of a ``settings.xml``: the texts in each, by tag; addresses are without keys."""


def _configured_repositories(environment: Mapping[str, str]) -> tuple[_Elements, _Elements]:
    """Return the mirrors and repositories of the user's settings, then those of the installation.

    Malformed files are ignored.
    """
    mirrors: dict[str, dict[str, str]] = {}
    repositories: dict[str, dict[str, str]] = {}
    for path in _settings_files(environment):
        root = _parsed(path)
        if root is None:
            continue
        for element in root.iterfind("mirrors/mirror"):
            identity, url = child_text(element, "id"), _plain(child_text(element, "url"), environment)
            if url and child_text(element, "blocked") != "true":  # such a mirror only refuses addresses without TLS
                replaced = child_text(element, "mirrorOf")
                mirrors.setdefault(identity, {"id": identity, "mirrorOf": replaced, "url": url})
        active = {(element.text or "").strip() for element in root.iterfind("activeProfiles/activeProfile")}
        for profile in root.iterfind("profiles/profile"):
            if child_text(profile, "id") in active or child_text(profile, "activation/activeByDefault") == "true":
                for element in (*profile.iterfind("repositories/*"), *profile.iterfind("pluginRepositories/*")):
                    identity, url = child_text(element, "id"), _plain(child_text(element, "url"), environment)
                    if url:
                        repositories.setdefault(identity, {"id": identity, "url": url})
    return [*mirrors.values()], [*repositories.values()]


def _settings_file(mirrors: _Elements, repositories: _Elements) -> str:
    """Return the text of a ``settings.xml`` with these repositories."""
    return (
        f"<settings><mirrors>{_xml('mirror', mirrors)}</mirrors><profiles><profile><id>configured</id>"
        f"<repositories>{_xml('repository', repositories)}</repositories>"
        f"<pluginRepositories>{_xml('pluginRepository', repositories)}</pluginRepositories></profile></profiles>"
        "<activeProfiles><activeProfile>configured</activeProfile></activeProfiles></settings>\n"
    )


def _xml(tag: str, elements: _Elements) -> str:
    contents = ("".join(f"<{name}>{escape(text)}</{name}>" for name, text in parts.items()) for parts in elements)
    return "".join(f"<{tag}>{content}</{tag}>" for content in contents)


def _settings_files(environment: Mapping[str, str]) -> Iterator[Path]:
    yield _home(environment) / ".m2/settings.xml"
    for name in ("M2_HOME", "MAVEN_HOME"):
        if environment.get(name):
            yield Path(environment[name]) / "conf/settings.xml"
    yield from map(Path, _GLOBAL)


def _parsed(path: Path) -> ElementTree.Element | None:
    try:
        return parsed_xml(path.read_bytes()[:_MAX_BYTES].decode("utf-8", "replace"))
    except OSError:
        return None


def _plain(url: str, environment: Mapping[str, str]) -> str:
    """Return an address of http or https with variables filled in and without keys; empty if it is none."""
    filled = re.sub(r"\$\{env\.(\w+)\}", lambda match: environment.get(match[1], match[0]), url)
    try:
        parts = urlsplit(filled)
    except ValueError:
        return ""
    # A variable that stays unfilled is a secret or a setting of another machine.
    usable = parts.scheme in ("http", "https") and parts.hostname and "$" not in filled
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if usable else ""


NPM_REGISTRY: Final = "npm_config_registry"
_LINE: Final = re.compile(r"^\s*(?P<name>[^=;#\s][^=]*?)\s*=\s*[\"']?(?P<value>[^\"'\r\n]*?)[\"']?\s*$")
_VARIABLE: Final = re.compile(r"\$\{(\w+)(\?)?\}")
_SCOPED: Final = re.compile(r"@[\w.-]+:registry")


def npm_registries(environment: Mapping[str, str], project: Path | None = None) -> tuple[str, tuple[str, ...]]:
    """Return npm's registry ("" if none is configured), and the registries of single scopes.

    Precedence is npm's: environment variables, the project's file, the user's, the global one. Values may contain
    environment variables (``${NAME}``), which are replaced; a value with an unset one is ignored.
    """
    registry = ""
    scopes: dict[str, str] = {}
    for path in _files(environment, project):
        for name, value in _settings(path, environment):
            if name == "registry":
                registry = value
            elif _SCOPED.fullmatch(name):
                scopes[name] = value
    named = {name.lower(): value for name, value in environment.items()}
    return named.get(NPM_REGISTRY) or registry, tuple(dict.fromkeys(scopes.values()))


def _files(environment: Mapping[str, str], project: Path | None) -> Iterator[Path]:
    """Yield npm's files by rising precedence."""
    named = {name.lower(): value for name, value in environment.items()}
    prefixes = [named["npm_config_prefix"]] if named.get("npm_config_prefix") else ["/usr", "/usr/local"]
    globals_ = [named["npm_config_globalconfig"]] if named.get("npm_config_globalconfig") else []
    yield from map(Path, globals_ or ["/etc/npmrc", *(f"{prefix}/etc/npmrc" for prefix in prefixes)])
    home = environment.get("HOME")
    if named.get("npm_config_userconfig"):
        yield Path(named["npm_config_userconfig"])
    elif home:
        yield Path(home) / ".npmrc"
    if project is not None:
        yield project / ".npmrc"


def _settings(path: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for match in filter(None, map(_LINE.match, lines)):
        value = _VARIABLE.sub(lambda used: environment.get(used[1], "" if used[2] else used[0]), match["value"])
        # npm refuses a file with an unset variable; a set-up without it has a chance.
        if not _VARIABLE.search(value):
            yield match["name"], value


_SCHEMES: Final = ("https://", "http://")
_PIP_OPTIONS: Final = {"index-url": "PIP_INDEX_URL", "extra-index-url": "PIP_EXTRA_INDEX_URL"}
_PIP_SECTIONS: Final = ("global", "install")
"""Sections of pip's files that apply to ``pip install``; the later one takes precedence."""


class ConfiguredIndexes(NamedTuple):
    """Package indexes by setting (``PIP_INDEX_URL``: addresses), further hosts with files, and configuration files.

    ``files`` are texts by their path inside the sandbox, for tools that read addresses from files alone.
    """

    settings: Mapping[str, str]
    hosts: tuple[str, ...] = ()
    files: Mapping[str, str] = {}


IndexReader = Callable[[Mapping[str, str]], ConfiguredIndexes]
"""Reader of a tool's configuration, for given environment variables."""


def configured_index_policy(
    settings: Mapping[str, str],
    hosts: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    project: Path | None = None,
) -> IndexPolicy:
    """Return the policy for the user's ``settings`` and ``hosts``, else for what tools are configured with.

    Args:
        settings: Settings that replace configured ones of the same name.
        hosts: Addresses of further hosts.
        environment: Environment variables; by default this process's.
        project: Folder of the project, which may have a configuration of its own.

    Raises:
        DataError: a given setting or host is wrong.
    """
    variables = {**(os.environ if environment is None else environment), **settings}
    # All tools, as which of them a project uses is known only once it is fetched.
    configurations = [*(read(variables) for read in INDEX_READERS), npm_indexes(variables, project)]
    configured = {name: value for tool in configurations for name, value in tool.settings.items()}
    further = (*hosts, *(host for tool in configurations for host in tool.hosts))
    files = {path: text for tool in configurations for path, text in tool.files.items()}
    return index_policy({**configured, **settings}, further).model_copy(update={"files": files})


def pip_indexes(environment: Mapping[str, str]) -> ConfiguredIndexes:
    """Return the indexes of pip: those of its configuration files, replaced by its environment variables."""
    # One parser for all files: pip's section `install` of any file precedes `global` of a later one.
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = lambda optionstr: optionstr.lower().replace("_", "-").removeprefix("--")  # type: ignore[method-assign]
    for path in _pip_files(environment):
        # pip itself reports a malformed file; reading its indexes must not end a build that may not use pip.
        with contextlib.suppress(configparser.Error, OSError, UnicodeDecodeError):
            parser.read(path, "utf-8")
    named: dict[str, str] = {}
    links = ""
    for section in _PIP_SECTIONS:
        for option, setting in _PIP_OPTIONS.items():
            named[setting] = parser.get(section, option, fallback=named.get(setting, ""))
        links = parser.get(section, "find-links", fallback=links)
    named |= {setting: environment[setting] for setting in _PIP_OPTIONS.values() if setting in environment}
    return ConfiguredIndexes(_reachable(named), tuple(_addresses(environment.get("PIP_FIND_LINKS", links))))


def uv_indexes(environment: Mapping[str, str]) -> ConfiguredIndexes:
    """Return the indexes of uv: those of its configuration files, replaced by its environment variables."""
    named: dict[str, str] = {}
    for path in (Path("/etc/uv/uv.toml"), _configuration(environment) / "uv/uv.toml"):
        try:
            table = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        named |= dict(_uv_settings(table)) | dict(_uv_settings(table.get("pip", {})))
    names = [name for name in INDEX_SETTINGS if name.startswith("UV_")]
    named |= {name: environment[name] for name in names if name in environment}
    return ConfiguredIndexes(_reachable(named))


def npm_indexes(environment: Mapping[str, str], project: Path | None = None) -> ConfiguredIndexes:
    """Return npm's registry, and as hosts those of single scopes and of the project, whose file npm reads itself."""
    registry, scopes = npm_registries(environment)
    of_project, project_scopes = npm_registries({}, project) if project is not None else ("", ())
    # A variable would win over the project's own file, which npm reads inside the sandbox.
    settings = {} if of_project else _reachable({NPM_REGISTRY: registry})
    return ConfiguredIndexes(settings, tuple(_addresses(" ".join((of_project, *scopes, *project_scopes)))))


def _uv_settings(table: Any) -> Iterator[tuple[str, str]]:
    table = table if isinstance(table, dict) else {}
    indexes = [index for index in table.get("index", ()) if isinstance(index, dict)]
    default = next((index.get("url") for index in indexes if index.get("default")), table.get("index-url"))
    more = [index.get("url") for index in indexes if not index.get("default")]
    listed = table.get("extra-index-url", [])
    more += listed if isinstance(listed, list) else [listed]
    if default:
        yield "UV_DEFAULT_INDEX", str(default)
    if more:
        yield "UV_EXTRA_INDEX_URL", " ".join(map(str, more))


def _pip_files(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield pip's configuration files in the order of reading; ``PIP_CONFIG_FILE`` is the last, or disables all."""
    named = environment.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return
    for folder in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":"):
        yield Path(folder) / "pip/pip.conf"
    yield Path("/etc/pip.conf")
    yield _home(environment) / ".pip/pip.conf"
    yield _configuration(environment) / "pip/pip.conf"
    if environment.get("VIRTUAL_ENV"):
        yield Path(environment["VIRTUAL_ENV"]) / "pip.conf"
    if named:
        yield Path(named)


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111  no error without a home


def _configuration(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or _home(environment) / ".config")


def _addresses(value: str) -> Iterator[str]:
    for word in value.split():
        if word.startswith(_SCHEMES):
            with contextlib.suppress(DataError):  # malformed: the tool itself cannot use it either
                index_policy({}, [word])
                yield word


def _reachable(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with the addresses that a sandbox can reach; those without any are removed."""
    reachable = {name: " ".join(_addresses(value)) for name, value in settings.items()}
    return {name: value for name, value in reachable.items() if value}


def maven_indexes(environment: Mapping[str, str]) -> ConfiguredIndexes:
    """Return Maven's repositories: the mirror that ``MAVEN_MIRROR_URL`` names for all, else those of its settings."""
    mirrors, repositories = _configured_repositories(environment)
    named = next(_addresses(environment.get(MIRROR_SETTING, "")), None)
    if named is not None:
        mirrors, repositories = [{"id": "named", "mirrorOf": "*", "url": named}], []
    urls = dict.fromkeys(element["url"] for element in (*mirrors, *repositories))
    files = {SETTINGS_INSIDE: _settings_file(mirrors, repositories)} if urls else {}
    return ConfiguredIndexes({}, tuple(_addresses(" ".join(urls))), files)


def apt_indexes(_environment: Mapping[str, str]) -> ConfiguredIndexes:
    """Return the mirrors of Debian's packages from which apt installs on this machine."""
    files = [*_APT.glob("sources.list"), *sorted(_APT.glob("sources.list.d/*"))]
    lines: list[str] = []
    for path in files:
        # A file with a password is readable by root alone.
        with contextlib.suppress(OSError):
            lines += path.read_text("utf-8", "replace").splitlines()
    named = " ".join(line for line in lines if line.startswith(("deb ", "URIs:")))
    return ConfiguredIndexes({}, tuple(dict.fromkeys(_addresses(named))))


INDEX_READERS: Final[tuple[IndexReader, ...]] = (pip_indexes, uv_indexes, maven_indexes, apt_indexes)
"""Readers of all tools. A new tool adds its reader here, and its settings to ``INDEX_SETTINGS``."""
