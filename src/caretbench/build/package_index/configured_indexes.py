"""Package indexes that pip, uv, npm and Maven are configured with on this machine, by variables and files.

A set-up command sees neither, so they are read here and passed to the sandbox as settings. Only addresses of the kinds
``https`` and ``http`` count: folders of this machine cannot be reached from a sandbox. Malformed files are ignored, as
the tool itself reports them.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from caretbench.build.package_index.index_policy import INDEX_SETTINGS, IndexPolicy, index_policy
from caretbench.build.package_index.maven_settings import (
    MIRROR_SETTING,
    SETTINGS_INSIDE,
    MavenMirror,
    MavenRepositories,
    configured_repositories,
    settings_file,
)
from caretbench.build.package_index.npm_configuration import NPM_REGISTRY, npm_registries
from caretbench.errors import DataError

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
    found = [*(read(variables) for read in INDEX_READERS), npm_indexes(variables, project)]
    configured = {name: value for one in found for name, value in one.settings.items()}
    further = (*hosts, *(host for one in found for host in one.hosts))
    files = {path: text for one in found for path, text in one.files.items()}
    return index_policy({**configured, **settings}, further).model_copy(update={"files": files})


def pip_indexes(environment: Mapping[str, str]) -> ConfiguredIndexes:
    """Return the indexes of pip: those of its configuration files, replaced by its environment variables."""
    named: dict[str, str] = {}
    links = ""
    for path in _pip_files(environment):
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(path, "utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
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
    own, own_scopes = npm_registries({}, project) if project is not None else ("", ())
    settings = {} if own else _reachable({NPM_REGISTRY: registry})
    return ConfiguredIndexes(settings, tuple(_addresses(" ".join((own, *scopes, *own_scopes)))))


def _uv_settings(table: Any) -> Iterator[tuple[str, str]]:
    table = table if isinstance(table, dict) else {}
    indexes = [one for one in table.get("index", ()) if isinstance(one, dict)]
    default = next((one.get("url") for one in indexes if one.get("default")), table.get("index-url"))
    more = [one.get("url") for one in indexes if not one.get("default")]
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
    found = {name: " ".join(_addresses(value)) for name, value in settings.items()}
    return {name: value for name, value in found.items() if value}


def maven_indexes(environment: Mapping[str, str]) -> ConfiguredIndexes:
    """Return Maven's repositories: the mirror that ``MAVEN_MIRROR_URL`` names for all, else those of its settings."""
    found = configured_repositories(environment)
    named = next(_addresses(environment.get(MIRROR_SETTING, "")), None)
    if named is not None:
        found = MavenRepositories((MavenMirror("named", "*", named),))
    files = {SETTINGS_INSIDE: settings_file(found)} if found.addresses else {}
    return ConfiguredIndexes({}, tuple(_addresses(" ".join(found.addresses))), files)


INDEX_READERS: Final[tuple[IndexReader, ...]] = (pip_indexes, uv_indexes, maven_indexes)
"""Readers of all tools. A new tool adds its reader here, and its settings to ``INDEX_SETTINGS``."""
