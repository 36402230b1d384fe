"""Registry of suites: the built-in ones and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from caretbench.conventional import conventional_names
from caretbench.errors import DataError, MachineError, UsageError, did_you_mean
from caretbench.plugins import Plugin, PluginError, installed_plugins, load_plugin, one_line

if TYPE_CHECKING:
    from caretbench.suites.base import Suite
    from caretbench.suites.suite_types import ProblemSet

ENTRY_POINT_GROUP: Final[Literal["caretbench.suites"]] = "caretbench.suites"
"""Entry point group in which a package declares a suite: ``name = "package.module:Class"``."""

_FOLDERS: Final = ("devbench", "simcopilot", "efcb", "c3bench", "codevbench", "record")

_registered: Final[dict[str, type[Suite]]] = {}


@cache
def built_in() -> Mapping[str, str]:
    """Return the folder of each built-in suite by its name.

    The class is in ``caretbench.suites.FOLDER.suite``, its builder in ``build/builder.py`` next to it. No entry points,
    so that a checkout needs no reinstallation when one is added.
    """
    return {**{name: name for name in _FOLDERS}, **dict.fromkeys(conventional_names(), "fim")}


SuiteClass = TypeVar("SuiteClass", bound="type[Suite]")


def register(suite_class: SuiteClass) -> SuiteClass:
    """Register a suite class under its name; a class decorator.

    Raises:
        PluginError: another class has this name.
    """
    other = _registered.get(suite_class.name, suite_class)
    if (other.__module__, other.__qualname__) != (suite_class.__module__, suite_class.__qualname__):
        raise PluginError(
            f"the suite {suite_class.name!r} of {suite_class.__module__}: {other.__module__} has one of this name"
        )
    _registered[suite_class.name] = suite_class
    load_suite.cache_clear()
    return suite_class


def suite_names(on_error: Callable[[PluginError], None] = lambda _error: None) -> tuple[str, ...]:
    """Return the names of all suites, the built-in ones first.

    ``on_error`` is called for each package that declares a name that is already taken; that suite is skipped.
    """
    return tuple(
        dict.fromkeys((*built_in(), *installed_plugins(ENTRY_POINT_GROUP, built_in(), on_error), *_registered))
    )


def usable_suites() -> tuple[list[Suite], list[PluginError]]:
    """Return all suites that can be loaded, and the errors of those that cannot."""
    errors: list[PluginError] = []
    suites = []
    for name in suite_names(errors.append):
        try:
            suites.append(load_suite(name))
        except PluginError as error:
            errors.append(error)
    return suites, errors


@cache
def load_suite(name: str) -> Suite:
    """Return the suite with this name, or that of the class at ``module:Class``.

    Raises:
        UsageError: no such suite; the message lists the known ones.
        PluginError: the suite of another package cannot be loaded, or is no suite.
    """
    if name in built_in():
        import_module(f"caretbench.suites.{built_in()[name]}.suite")
    elif (plugin := load_plugin(ENTRY_POINT_GROUP, name, built_in(), ignore_other_errors=True)) is not None:
        return _plugged(plugin)
    registered = _registered.get(name)
    if registered is None:
        raise UsageError(
            f"unknown suite {name!r}{did_you_mean(name, suite_names())}; known: {', '.join(suite_names())}; "
            "or give module:Class"
        )
    return _made(registered)


def load_problems(suite: Suite, source: str) -> ProblemSet:
    """Return the problems of a suite. ``source`` is the value of ``--data``.

    Raises:
        DataError: the data are malformed, or the suite of another package failed; the message names it.
        MachineError: this machine lacks something.
    """
    with suite_errors(suite, f"--data {source}"):
        return suite.load(source)


@contextmanager
def suite_errors(suite: Suite, action: str) -> Iterator[None]:
    """Convert errors of another package's suite, and prefix them with its name; built-in suites are not affected.

    Raises:
        DataError: the suite's code failed during ``action``.
        MachineError: this machine lacks something.
    """
    if suite.name in built_in():
        yield
        return
    origin = f"the suite {suite.name!r} of {type(suite).__module__}, {action}"
    try:
        yield
    except MachineError as error:
        raise MachineError(f"{origin}: {error}") from error
    except Exception as error:
        raise DataError(f"{origin}: {error if isinstance(error, DataError) else one_line(error)}") from error


def suite_of_run(suite_name: object) -> Suite | None:
    """Return the suite named by a run's manifest, or None if it is not installed."""
    return load_suite(str(suite_name)) if suite_name in suite_names() else None


def baselines_of_run(suite_name: object, manifest_baselines: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of a run's baselines, in the order of reports; ``manifest_baselines`` are names in its manifest.

    For a suite that is not installed, they include all built-in baselines.
    """
    from caretbench.suites.baselines import BASELINE_NAMES

    suite = suite_of_run(suite_name)
    names = ("reference", *suite.baselines) if suite else BASELINE_NAMES
    return tuple(dict.fromkeys((*names, *manifest_baselines)))


def _plugged(plugin: Plugin) -> Suite:
    from caretbench.suites.base import Suite

    value = plugin.value
    if not (isinstance(value, type) and issubclass(value, Suite)):
        raise plugin.error("it is no class derived from caretbench.Suite")
    lacking = [name for name in ("name", "title", "about", "strata") if not getattr(value, name, None)]
    lacking += sorted(value.__abstractmethods__)
    if lacking:
        raise plugin.error(f"its class lacks {', '.join(lacking)}")
    if plugin.is_place:
        register(value)
    elif value.name != plugin.name:
        raise plugin.error(f"its name is {value.name!r}; the entry point must have the same")
    try:
        return _made(value)
    except Exception as error:
        raise plugin.error(f"it cannot be made: {one_line(error)}") from error


def _made(suite_class: type[Suite]) -> Suite:
    from caretbench.judging.criteria import add_criteria

    if suite_class.criteria_folder is not None:
        add_criteria(suite_class.criteria_folder)
    return suite_class()
