"""Packages, extras and groups of tox's test environments: ``tox.ini``, ``setup.cfg``, ``tox.toml``, ``pyproject.toml``.

Lines with a condition (``py39: x``) count if it names tests, or the Python of the sandbox.
"""

from __future__ import annotations

import configparser
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from caretbench.build.projects.setup.project_tables import ini_sections, read_ini, read_toml, strings, sub_table
from caretbench.build.projects.setup.python.need_names import (
    PythonNeeds,
    is_other_work,
    joined_needs,
    names_of_tests,
    need_rules,
)
from caretbench.build.projects.setup.python.pip_arguments import installer_needs, pip_arguments
from caretbench.execution.bundles.pip import sandbox_version
from caretbench.execution.workspaces.snapshot_store import Snapshot

_BASE: Final = "testenv"
_REFERRED: Final = re.compile(r"\{\[(?P<section>[^\]]+)\](?P<option>\w+)\}")
_ROOT: Final = re.compile(r"\{(?:toxinidir|tox_root)\}/?")
_FACTORS: Final = re.compile(r"(?P<factors>[\w.,!{}+-]+)\s*:\s+(?P<rest>\S.*)")
_DEPTH: Final = 8
"""Maximum number of options that are read for one."""
_MOST_FACTORS: Final = 64


def tox_needs(snapshot: Snapshot) -> PythonNeeds:
    """Return what the environments for tests need: the common one, and those that are named after tests.

    If these name nothing, environments count that call a test runner.
    """
    return joined_needs(_of_everywhere(snapshot))


def _of_everywhere(snapshot: Snapshot) -> Iterator[PythonNeeds]:
    own = sub_table(sub_table(read_toml(snapshot, "pyproject.toml"), "tool"), "tox")
    legacy = own.get("legacy_tox_ini")
    for parser in (
        read_ini(snapshot, "tox.ini"),
        read_ini(snapshot, "setup.cfg"),
        ini_sections(legacy if isinstance(legacy, str) else ""),
    ):
        yield _of_ini(parser)
    for table in (read_toml(snapshot, "tox.toml"), own):
        yield _of_toml(table)


def _of_ini(parser: configparser.ConfigParser) -> PythonNeeds:
    named = {name.partition(":")[2]: name for name in parser.sections() if name.startswith(f"{_BASE}:")}
    chosen = [_BASE, *(named[name] for name in names_of_tests(named))]
    found = joined_needs(_of_section(parser, section) for section in chosen)
    if found:
        return found
    others = [
        section
        for name, section in named.items()
        if not is_other_work(name) and need_rules().runner.search("\n".join(_lines(parser, section, "commands")))
    ]
    return joined_needs(_of_section(parser, section) for section in others)


def _of_section(parser: configparser.ConfigParser, section: str) -> PythonNeeds:
    def values(option: str) -> list[str]:
        lines = (line for line in _lines(parser, section, option) if "{" not in line)
        return [one for line in lines for one in re.split(r"[\s,]+", line) if one]

    groups = (*values("dependency_groups"), *values("dependency-groups"))
    found = [PythonNeeds(extras=tuple(values("extras")), groups=groups)]
    found += [_of_line(line) for line in _lines(parser, section, "deps")]
    commands = (line for option in ("commands_pre", "commands") for line in _lines(parser, section, option))
    return joined_needs([*found, *map(installer_needs, commands)])


def _of_line(line: str) -> PythonNeeds:
    """Return what one line of ``deps`` names: a requirement, a file with some, or the project with extras."""
    option = re.fullmatch(r"(-[a-z]|--[a-z]+)[\s=]*(\S+)", line)
    return pip_arguments(option.groups() if option else [line])


def _lines(
    parser: configparser.ConfigParser, section: str, option: str, seen: Sequence[tuple[str, str]] = ()
) -> Iterator[str]:
    """Yield the lines of an option that count here, with those of options that they refer to."""
    known = [*seen, (section, option)]
    if len(known) > _DEPTH or known[-1] in seen or not parser.has_option(section, option):
        return
    text = re.sub(r"\\\n\s*", " ", parser.get(section, option))
    for whole in text.splitlines():
        line = re.sub(r"(?:^|\s)#.*", "", whole).strip()
        found = _FACTORS.fullmatch(line)
        if found and not _applies(found["factors"]):
            continue
        rest = found["rest"] if found else line
        referred = _REFERRED.fullmatch(rest)
        if referred:
            yield from _lines(parser, referred["section"], referred["option"], known)
            known.append((referred["section"], referred["option"]))
        elif rest:
            yield _ROOT.sub("", rest)


def _applies(condition: str) -> bool:
    """Return whether an environment for tests with the sandbox's Python may fulfil a condition of factors."""
    return any(all(map(_is_here, one.split("-"))) for one in _alternatives(condition))


def _alternatives(condition: str) -> list[str]:
    """Return the alternatives of a condition: ``{a,b}-c,d`` gives a-c, b-c and d."""
    parts = re.split(r",(?![^{]*\})", condition)
    found: list[str] = []
    for part in parts:
        choices = [piece.strip("{}").split(",") for piece in re.findall(r"\{[^}]*\}|[^{}]+", part)]
        found += ["".join(one) for one in itertools.islice(itertools.product(*choices), _MOST_FACTORS)]
    return found


def _is_here(factor: str) -> bool:
    version = sandbox_version()
    own = {"py", "python", "cpython", *(f"py{'.'.join(map(str, version[:n]))}" for n in (1, 2))}
    own |= {name.replace(".", "") for name in own}
    if factor.startswith("!"):
        return factor[1:] not in own and not names_of_tests([factor[1:]])
    return factor in own or bool(names_of_tests([factor]))


def _of_toml(table: Mapping[str, object]) -> PythonNeeds:
    environments = sub_table(table, "env")
    chosen = [sub_table(table, "env_run_base")]
    chosen += [sub_table(environments, name) for name in names_of_tests(environments)]
    return joined_needs(_of_environment(environment) for environment in chosen)


def _of_environment(table: Mapping[str, object]) -> PythonNeeds:
    extras, groups = strings(table.get("extras")), strings(table.get("dependency_groups"))
    given = table.get("deps")
    lines: Iterable[str] = given.splitlines() if isinstance(given, str) else strings(given)
    deps = (_of_line(_ROOT.sub("", line.strip())) for line in lines if line.strip())
    return joined_needs([PythonNeeds(extras=tuple(extras), groups=tuple(groups)), *deps])
