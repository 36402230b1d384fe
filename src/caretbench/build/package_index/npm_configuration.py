"""Package indexes that npm is configured with: environment variables and the files ``.npmrc``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

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
        value = _VARIABLE.sub(lambda one: environment.get(one[1], "" if one[2] else one[0]), match["value"])
        if not _VARIABLE.search(value):
            yield match["name"], value
