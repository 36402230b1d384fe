"""Names by which packages for tests are found in a Python project's files, and what was found."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SEPARATORS: Final = re.compile(r"[-_.]+")


class PythonNeeds(NamedTuple):
    """Packages that a file names for tests, and extras and dependency groups of the project itself.

    ``packages`` are requirements, or ``-r PATH``.
    """

    packages: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.packages, self.extras, self.groups))


def joined_needs(parts: Iterable[PythonNeeds]) -> PythonNeeds:
    """Return the needs of several places, each once, in order."""
    by_field = zip(*parts, strict=True)
    return PythonNeeds(*(tuple(dict.fromkeys(chain.from_iterable(names))) for names in by_field))


class PipOptions(Row):
    """Options of pip without a value, and those with one."""

    plain: frozenset[str]
    valued: frozenset[str]


class NeedRules(Row):
    """Content of ``python_needs.toml``."""

    tiers: tuple[tuple[str, ...], ...]
    other_work: tuple[str, ...]
    test_packages: tuple[str, ...]
    unneeded: tuple[str, ...]
    runner: re.Pattern[str]
    ci_runner: re.Pattern[str]
    pip: PipOptions
    installers: Mapping[str, Mapping[str, str]]


@cache
def need_rules() -> NeedRules:
    """Return the rules."""
    return NeedRules.model_validate(read_packaged_toml(__package__, "python_needs.toml"))


def normalised(name: str) -> str:
    """Return the normalised form of a name (PEP 503)."""
    return _SEPARATORS.sub("-", name.strip()).lower()


def package_name(requirement: str) -> str:
    """Return the normalised name of a requirement's package; "" if there is none."""
    match = _NAME.match(requirement)
    return normalised(match[0]) if match else ""


def is_unneeded(package: str) -> bool:
    """Return whether no test imports a package, by its normalised name."""
    return _matches(package, need_rules().unneeded)


def is_other_work(name: str) -> bool:
    """Return whether an environment is for something else than tests, by its name."""
    return _matches(normalised(name), need_rules().other_work)


def names_of_tests(names: Collection[str]) -> list[str]:
    """Return the names that mean tests: those of the first tier that is there, in its order."""
    for tier in need_rules().tiers:
        chosen = [name for pattern in tier for name in names if fnmatchcase(normalised(name), pattern)]
        if chosen:
            return list(dict.fromkeys(chosen))
    return []


def has_test_package(requirements: Iterable[str]) -> bool:
    """Return whether a package that only tests use is among some requirements."""
    return any(_matches(package_name(requirement), need_rules().test_packages) for requirement in requirements)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
