"""Packages that a Python project's metadata declares: its own, and those of extras and groups by name.

Read are ``pyproject.toml`` (also the tables of Poetry, PDM, Hatch, uv and Flit), ``setup.cfg``, ``hatch.toml``, and
literals in ``setup.py``.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from caretbench.build.projects.setup.project_tables import read_ini, read_text, read_toml, strings, sub_table
from caretbench.build.projects.setup.python.literal_values import keyword_tables, keyword_texts
from caretbench.build.projects.setup.python.need_names import normalised, package_name
from caretbench.execution.workspaces.snapshot_store import Snapshot

_SELF: Final = re.compile(r"[A-Za-z0-9][\w.-]*\s*\[(?P<extras>[^\]]*)\]")

_DEPTH: Final = 20
"""Maximum depth of groups that include others."""


def own_name(snapshot: Snapshot) -> str:
    """Return the normalised name of the project's distribution; "" if no file tells it."""
    project = read_toml(snapshot, "pyproject.toml")
    config = read_ini(snapshot, "setup.cfg")
    names = (
        sub_table(project, "project").get("name"),
        sub_table(sub_table(project, "tool"), "poetry").get("name"),
        config.get("metadata", "name", fallback=None),
        *(text for argument, texts in _set_up(snapshot, only="setup") for text in texts[:1] if argument == "name"),
    )
    return next((normalised(name) for name in names if isinstance(name, str) and name.strip()), "")


def declared_packages(snapshot: Snapshot) -> list[str]:
    """Return the packages that the project needs, and those of ``tests_require``."""
    project = read_toml(snapshot, "pyproject.toml")
    tool = sub_table(project, "tool")
    poetry = sub_table(sub_table(tool, "poetry"), "dependencies")
    found = [
        *strings(sub_table(project, "project").get("dependencies")),
        *(name for name in poetry if name != "python"),
    ]
    found += _dynamic(sub_table(sub_table(tool, "setuptools"), "dynamic").get("dependencies"))
    found += strings(sub_table(sub_table(tool, "flit"), "metadata").get("requires"))
    for argument, texts in _set_up(snapshot):
        found += texts if argument in {"install_requires", "tests_require"} else []
    config = read_ini(snapshot, "setup.cfg")
    found += _lines(config, "options", "install_requires")
    return found + _lines(config, "options", "tests_require")


def named_groups(snapshot: Snapshot) -> Mapping[str, list[str]]:
    """Return the packages of dependency groups and extras by name; extras of the project in them are replaced."""
    groups: dict[str, list[str]] = {}
    for name, listed in _listed_groups(snapshot):
        groups.setdefault(name, []).extend(listed)
    own = own_name(snapshot)
    spelled = {normalised(name): name for name in groups}
    return {name: list(_with_extras(name, groups, spelled, own, set())) for name in groups}


def packages_of(groups: Mapping[str, list[str]], names: Collection[str]) -> list[str]:
    """Return the packages of extras or groups with these names, in any spelling."""
    wanted = {normalised(name) for name in names}
    return [one for name, listed in groups.items() if normalised(name) in wanted for one in listed]


def _with_extras(
    name: str, groups: Mapping[str, list[str]], spelled: Mapping[str, str], own: str, seen: set[str], depth: int = 0
) -> Iterator[str]:
    """Yield the packages of a group; ``spelled`` are the groups' names by their normalised forms.

    Groups in ``seen`` are skipped, and those that are read are added to it.
    """
    seen.add(name)
    for one in groups[name]:
        named = _SELF.match(one)
        if named is None or not own or package_name(one) != own:
            yield one
            continue
        for extra in named["extras"].split(","):
            other = spelled.get(normalised(extra))
            if other is not None and other not in seen and depth < _DEPTH:
                yield from _with_extras(other, groups, spelled, own, seen, depth + 1)


def _listed_groups(snapshot: Snapshot) -> Iterator[tuple[str, list[str]]]:
    project = read_toml(snapshot, "pyproject.toml")
    included = sub_table(project, "dependency-groups")
    spelled = {normalised(name): name for name in included}
    for name in included:
        yield name, list(_group(included, spelled, name, set()))
    about, tool = sub_table(project, "project"), sub_table(project, "tool")
    yield from _tables(sub_table(about, "optional-dependencies"))
    dynamic = sub_table(sub_table(sub_table(tool, "setuptools"), "dynamic"), "optional-dependencies")
    yield from ((name, _dynamic(value)) for name, value in dynamic.items())
    yield from _poetry(sub_table(tool, "poetry"))
    yield from _tables(sub_table(sub_table(tool, "pdm"), "dev-dependencies"))
    yield from _tables(sub_table(sub_table(sub_table(tool, "flit"), "metadata"), "requires-extra"))
    yield "dev", strings(sub_table(tool, "uv").get("dev-dependencies"))
    for hatch in (sub_table(tool, "hatch"), read_toml(snapshot, "hatch.toml")):
        for name, environment in sub_table(hatch, "envs").items():
            table = environment if isinstance(environment, dict) else {}
            yield name, [one for key in ("dependencies", "extra-dependencies") for one in strings(table.get(key))]
    config = read_ini(snapshot, "setup.cfg")
    if config.has_section("options.extras_require"):
        for name in config["options.extras_require"]:
            yield name, _lines(config, "options.extras_require", name)
    yield from keyword_tables(read_text(snapshot, "setup.py"), "extras_require")


def _tables(table: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    yield from ((name, strings(listed)) for name, listed in table.items())


def _group(
    groups: Mapping[str, object], spelled: Mapping[str, str], name: str, seen: set[str], depth: int = 0
) -> Iterator[str]:
    """Yield the packages of a dependency group (PEP 735), with those of the groups that it includes, each once."""
    seen.add(name)
    listed = groups.get(name)
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            found = spelled.get(normalised(str(entry.get("include-group", ""))))
            if found is not None and found not in seen and depth < _DEPTH:
                yield from _group(groups, spelled, found, seen, depth + 1)


def _poetry(poetry: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """Yield Poetry's groups and extras, without versions, whose syntax differs from pip's."""
    yield "dev", list(sub_table(poetry, "dev-dependencies"))
    for name, group in sub_table(poetry, "group").items():
        yield name, list(sub_table(group if isinstance(group, dict) else {}, "dependencies"))
    yield from _tables(sub_table(poetry, "extras"))


def _dynamic(value: object) -> list[str]:
    """Return references to the requirements files of setuptools' ``{file = …}``."""
    given = value.get("file") if isinstance(value, dict) else None
    return [f"-r {path}" for path in ([given] if isinstance(given, str) else strings(given))]


def _set_up(snapshot: Snapshot, only: str | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yield the arguments of calls in ``setup.py`` that are literal texts or lists of them."""
    yield from keyword_texts(read_text(snapshot, "setup.py"), {"name", "install_requires", "tests_require"}, only)


def _lines(config: configparser.ConfigParser, section: str, option: str) -> list[str]:
    if not config.has_option(section, option):
        return []
    lines = (line.split("#")[0].strip() for line in config.get(section, option).splitlines())
    return [line for line in lines if line]
