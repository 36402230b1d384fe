"""Packages and version of Python that a project's metadata declares, read without executing it."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from packaging.specifiers import Specifier

from caretbench.build.projects.setup.project_tables import read_ini, read_text, read_toml, strings, sub_table
from caretbench.build.projects.setup.python.need_names import normalised, package_name
from caretbench.execution.bundles.pip import sandbox_release
from caretbench.execution.workspaces.snapshot_store import Snapshot

_MAX_LITERAL_DEPTH: Final = 20
"""Maximum depth of an expression, and of names that stand for others."""

LiteralNames = Mapping[str, ast.expr]
"""Expressions by the name that a module gives them."""


def parsed_module(text: str | None) -> ast.Module | None:
    """Return the syntax tree of a source; None if there is none, or if it cannot be parsed."""
    try:
        return ast.parse(text) if text else None
    # The file is a stranger's: deep nesting ends the parser in RecursionError or MemoryError, NUL bytes in ValueError.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def module_names(module: ast.Module) -> LiteralNames:
    """Return the expressions that a module assigns to plain names, the last one of each."""
    values: dict[str, ast.expr] = {}
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            values |= {target.id: statement.value for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            values[statement.target.id] = statement.value
    return values


def literal_texts(value: ast.expr, names: LiteralNames, depth: int = 0) -> list[str]:
    """Return the texts of a literal list, of sums of them, and of names for them; a text alone is a list of one."""
    if depth > _MAX_LITERAL_DEPTH:
        return []
    if isinstance(value, ast.Constant):
        return [value.value] if isinstance(value.value, str) else []
    if isinstance(value, ast.Starred):
        return literal_texts(value.value, names, depth + 1)
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return [text for element in value.elts for text in literal_texts(element, names, depth + 1)]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return literal_texts(value.left, names, depth + 1) + literal_texts(value.right, names, depth + 1)
    if isinstance(value, ast.Name) and value.id in names:
        return literal_texts(names[value.id], names, depth + 1)
    return []


def literal_table(value: ast.expr, names: LiteralNames, depth: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield keys and texts of a literal dictionary, ``dict(key=…)`` included."""
    if isinstance(value, ast.Name) and value.id in names and depth < _MAX_LITERAL_DEPTH:
        yield from literal_table(names[value.id], names, depth + 1)
    elif isinstance(value, ast.Dict):
        for key, entry in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, literal_texts(entry, names)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        yield from ((keyword.arg, literal_texts(keyword.value, names)) for keyword in value.keywords if keyword.arg)


def _setup_values(
    snapshot: Snapshot, *arguments: str, only: str | None = None
) -> Iterator[tuple[ast.expr, LiteralNames]]:
    """Yield values of keyword arguments in ``setup.py``, of all calls or of those of one function, with its names."""
    module = parsed_module(read_text(snapshot, "setup.py"))
    names = module_names(module) if module else {}
    for call in ast.walk(module) if module else ():
        if isinstance(call, ast.Call) and only in {None, getattr(call.func, "id", getattr(call.func, "attr", ""))}:
            yield from ((keyword.value, names) for keyword in call.keywords if keyword.arg in arguments)


def _setup_texts(snapshot: Snapshot, *arguments: str, only: str | None = None) -> list[str]:
    """Return the literal texts of keyword arguments in ``setup.py``."""
    values = _setup_values(snapshot, *arguments, only=only)
    return [text for value, names in values for text in literal_texts(value, names)]


_SELF: Final = re.compile(r"[A-Za-z0-9][\w.-]*\s*\[(?P<extras>[^\]]*)\]")

_MAX_INCLUDES: Final = 20
"""Maximum depth of groups that include others."""


def own_name(snapshot: Snapshot) -> str:
    """Return the normalised name of the project's distribution; "" if no file tells it."""
    project = read_toml(snapshot, "pyproject.toml")
    config = read_ini(snapshot, "setup.cfg")
    names = (
        sub_table(project, "project").get("name"),
        sub_table(sub_table(project, "tool"), "poetry").get("name"),
        config.get("metadata", "name", fallback=None),
        *_setup_texts(snapshot, "name", only="setup"),
    )
    return next((normalised(name) for name in names if isinstance(name, str) and name.strip()), "")


def declared_packages(snapshot: Snapshot) -> list[str]:
    """Return the packages that the project needs, and those of ``tests_require``."""
    project = read_toml(snapshot, "pyproject.toml")
    tool = sub_table(project, "tool")
    poetry = sub_table(sub_table(tool, "poetry"), "dependencies")
    packages = strings(sub_table(project, "project").get("dependencies"))
    packages += (name for name in poetry if name != "python")
    packages += _dynamic(sub_table(sub_table(tool, "setuptools"), "dynamic").get("dependencies"))
    packages += strings(sub_table(sub_table(tool, "flit"), "metadata").get("requires"))
    packages += _setup_texts(snapshot, "install_requires", "tests_require")
    config = read_ini(snapshot, "setup.cfg")
    packages += _lines(config, "options", "install_requires")
    return packages + _lines(config, "options", "tests_require")


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
    chosen = {normalised(name) for name in names}
    return [package for name, listed in groups.items() if normalised(name) in chosen for package in listed]


def _with_extras(
    name: str, groups: Mapping[str, list[str]], spelled: Mapping[str, str], own: str, seen: set[str], depth: int = 0
) -> Iterator[str]:
    """Yield the packages of a group; ``spelled`` are the groups' names by their normalised forms.

    Groups in ``seen`` are skipped, and those that are read are added to it.
    """
    seen.add(name)
    for requirement in groups[name]:
        named = _SELF.match(requirement)
        if named is None or not own or package_name(requirement) != own:
            yield requirement
            continue
        for extra in named["extras"].split(","):
            other = spelled.get(normalised(extra))
            if other is not None and other not in seen and depth < _MAX_INCLUDES:
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
            yield name, strings(table.get("dependencies")) + strings(table.get("extra-dependencies"))
    config = read_ini(snapshot, "setup.cfg")
    if config.has_section("options.extras_require"):
        for name in config["options.extras_require"]:
            yield name, _lines(config, "options.extras_require", name)
    for value, names in _setup_values(snapshot, "extras_require"):
        yield from literal_table(value, names)


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
            included = spelled.get(normalised(str(entry.get("include-group", ""))))
            if included is not None and included not in seen and depth < _MAX_INCLUDES:
                yield from _group(groups, spelled, included, seen, depth + 1)


def _poetry(poetry: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """Yield Poetry's groups and extras, without versions, whose syntax differs from pip's."""
    yield "dev", list(sub_table(poetry, "dev-dependencies"))
    for name, group in sub_table(poetry, "group").items():
        yield name, list(sub_table(group if isinstance(group, dict) else {}, "dependencies"))
    yield from _tables(sub_table(poetry, "extras"))


def _dynamic(value: object) -> list[str]:
    """Return references to the requirements files of setuptools' ``{file = …}``."""
    paths = value.get("file") if isinstance(value, dict) else None
    return [f"-r {path}" for path in ([paths] if isinstance(paths, str) else strings(paths))]


def _lines(config: configparser.ConfigParser, section: str, option: str) -> list[str]:
    if not config.has_option(section, option):
        return []
    lines = (line.split("#")[0].strip() for line in config.get(section, option).splitlines())
    return [line for line in lines if line]


_FIELD: Final = re.compile(r"^Requires-Python: *(.+)$", re.MULTILINE)


def python_fault(snapshot: Snapshot) -> str:
    """Return the message that the sandbox's Python is not one that a project requires; "" if it is."""
    required = next((text.strip() for text in _stated(snapshot) if text.strip()), "")
    release = ".".join(map(str, sandbox_release()))
    if not required or not release or all(_holds(clause, release) for clause in required.split(",")):
        return ""
    return (
        f"the project requires Python {required}, and the sandbox has {release}: take a release of it for this Python"
    )


def _stated(snapshot: Snapshot) -> Iterator[str]:
    stated = sub_table(read_toml(snapshot, "pyproject.toml"), "project").get("requires-python")
    yield stated if isinstance(stated, str) else ""
    yield read_ini(snapshot, "setup.cfg").get("options", "python_requires", fallback="") or ""
    yield from _setup_texts(snapshot, "python_requires")
    head = (read_text(snapshot, "PKG-INFO") or "").partition("\n\n")[0]
    field = _FIELD.search(head)
    yield field[1] if field else ""


def _holds(clause: str, release: str) -> bool:
    """Return whether a clause accepts a release; one that cannot be read, or is compared as a text, accepts all."""
    # `<3.11.*` is no clause of PEP 440; old set-ups wrote it and meant `<3.11`.
    clause = re.sub(r"^\s*<(\s*\d.*)\.\*\s*$", r"<\1", clause)
    try:
        return clause.strip().startswith("===") or Specifier(clause).contains(release, prereleases=True)
    except ValueError:  # InvalidSpecifier, or a number of over 4,300 digits
        return True
