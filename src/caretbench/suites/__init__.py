"""Registry of the suites: CaretBench's own, and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from caretbench.errors import DataError, MachineError
from caretbench.plugins import Plugin, PluginError, installed_plugins, load_plugin, one_line

if TYPE_CHECKING:
    from caretbench.suites.base import Suite
    from caretbench.suites.values import ProblemSet

GROUP: Final[Literal["caretbench.suites"]] = "caretbench.suites"
"""The group of entry points by which a package declares a suite: ``name = "package.module:Class"``."""

_OURS: Final = ("devbench", "simcopilot", "efcb")
"""CaretBench's own suites: ``caretbench.suites.NAME.suite`` holds the class. A table, not entry points: a checkout
knows them without being installed again."""

_registered: Final[dict[str, type[Suite]]] = {}

AnySuite = TypeVar("AnySuite", bound="type[Suite]")


def register(suite_class: AnySuite) -> AnySuite:
    """Make a suite's class known by its name. To be used as a decorator.

    Raises:
        PluginError: another class has the name already.
    """
    known = _registered.setdefault(suite_class.name, suite_class)
    if (known.__module__, known.__qualname__) != (suite_class.__module__, suite_class.__qualname__):
        raise PluginError(
            f"the suite {suite_class.name!r} of {suite_class.__module__}: {known.__module__} has one of this name"
        )
    _registered[suite_class.name] = suite_class
    suite.cache_clear()
    return suite_class


def suite_names(refused: Callable[[PluginError], None] = lambda _error: None) -> tuple[str, ...]:
    """Return the names of all suites: CaretBench's own first.

    ``refused`` is told of packages whose suite takes a name that is taken; they change nothing for the others.
    """
    return tuple(dict.fromkeys((*_OURS, *installed_plugins(GROUP, _OURS, refused), *_registered)))


def usable_suites() -> tuple[list[Suite], list[PluginError]]:
    """Return all suites that can be loaded, and why those of other packages cannot."""
    errors: list[PluginError] = []
    found = []
    for name in suite_names(errors.append):
        try:
            found.append(suite(name))
        except PluginError as error:
            errors.append(error)
    return found, errors


@cache
def suite(name: str) -> Suite:
    """Return the suite with this name.

    Raises:
        KeyError: no such suite; the message lists the known ones.
        PluginError: a package's suite cannot be loaded, or is none.
    """
    if name in _OURS:
        import_module(f"caretbench.suites.{name}.suite")
    elif (plugin := load_plugin(GROUP, name, _OURS, alone=True)) is not None:
        return _plugged(plugin)
    found = _registered.get(name)
    if found is None:
        raise KeyError(f"unknown suite {name!r}; known: {', '.join(suite_names())}")
    return _made(found)


def load_problems(house: Suite, source: str) -> ProblemSet:
    """Return the problems of a suite; what another package's suite raises names the suite.

    Raises:
        DataError: the data are wrong, or the suite cannot load them.
        MachineError: this machine lacks something.
    """
    with naming(house, f"--data {source}"):
        return house.load(source)


@contextmanager
def naming(house: Suite, doing: str) -> Iterator[None]:
    """Name the suite of another package in what its hook raises; errors of our suites stay as they are.

    Raises:
        DataError: the hook failed.
        MachineError: this machine lacks something.
    """
    if house.name in _OURS:
        yield
        return
    whose = f"the suite {house.name!r} of {type(house).__module__}, {doing}"
    try:
        yield
    except MachineError as error:
        raise MachineError(f"{whose}: {error}") from error
    except Exception as error:
        raise DataError(f"{whose}: {error if isinstance(error, DataError) else one_line(error)}") from error


def suite_of_run(name: object) -> Suite | None:
    """Return the suite that a stored run's manifest names; None where it is not installed here."""
    return suite(str(name)) if name in suite_names() else None


def baselines_of(name: object, stated: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of a stored run's baselines in the order of reports; ``stated`` are those that the run names.

    Of a suite that is not installed here, all baselines of CaretBench count.
    """
    from caretbench.suites.baselines import NAMES

    found = suite_of_run(name)
    return tuple(dict.fromkeys(("reference", *found.baselines, *stated) if found else (*NAMES, *stated)))


def _plugged(plugin: Plugin) -> Suite:
    from caretbench.suites.base import Suite

    value = plugin.value
    if not (isinstance(value, type) and issubclass(value, Suite)):
        raise plugin.error("it is no class derived from caretbench.Suite")
    lacking = [name for name in ("name", "title", "about", "strata") if not getattr(value, name, None)]
    lacking += sorted(value.__abstractmethods__)
    if lacking:
        raise plugin.error(f"its class lacks {', '.join(lacking)}")
    if value.name != plugin.name:
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
