"""Build wing: problems made from the user's own sources, and their validation. Here: the registry of builders."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from caretbench.plugins import Plugin, PluginError, load_plugin, one_line
from caretbench.suites import built_in, load_suite, usable_suites

if TYPE_CHECKING:
    from caretbench.build.builder import Builder
    from caretbench.suites.base import Suite

ENTRY_POINT_GROUP: Final[Literal["caretbench.builders"]] = "caretbench.builders"
"""Entry point group in which a package declares the builder of its suite: ``name = "package.module:Class"``."""

_registered: Final[dict[str, type[Builder]]] = {}

BuilderClass = TypeVar("BuilderClass", bound="type[Builder]")


def register_builder(builder_class: BuilderClass) -> BuilderClass:
    """Register a builder class under the name of its suite; a class decorator.

    Raises:
        PluginError: the suite has another builder.
    """
    other = _registered.setdefault(builder_class.name, builder_class)
    # By name, not identity: a reloaded module makes the class anew.
    if (other.__module__, other.__qualname__) != (builder_class.__module__, builder_class.__qualname__):
        raise PluginError(
            f"the builder of {builder_class.name!r} in {builder_class.__module__}: {other.__module__} has one already"
        )
    _registered[builder_class.name] = builder_class
    return builder_class


def load_builder(name: str) -> Builder:
    """Return the builder of the suite with this name.

    For a suite that has none, this is a plain :class:`Builder`: it builds and pulls nothing, and its gate is the one
    for programs.

    Raises:
        UsageError: no such suite; the message lists the known ones.
        PluginError: the suite or the builder of another package cannot be loaded.
    """
    from caretbench.build.builder import Builder

    suite = load_suite(name)
    name = suite.name  # where a suite is named by its place
    # Imported only here: a run loads no builder, and so none of the learners and miners behind it.
    if name in built_in():
        import_module(f"caretbench.suites.{built_in()[name]}.build.builder")
    elif (plugin := load_plugin(ENTRY_POINT_GROUP, name, built_in(), ignore_other_errors=True)) is not None:
        return _plugged(plugin, suite)
    return _registered.get(name, Builder)(suite)


def usable_builders() -> list[Builder]:
    """Return the builders of all suites that can be loaded."""
    builders = []
    for suite in usable_suites()[0]:
        try:
            builders.append(load_builder(suite.name))
        except PluginError:  # whoever names this suite is told why
            continue
    return builders


def _plugged(plugin: Plugin, suite: Suite) -> Builder:
    from caretbench.build.builder import Builder

    value = plugin.value
    if not (isinstance(value, type) and issubclass(value, Builder)):
        raise plugin.error("it is no class derived from caretbench.Builder")
    if value.name != plugin.name:
        raise plugin.error(f"its name is {value.name!r}; the entry point must have the same")
    try:
        return value(suite)
    except Exception as error:
        raise plugin.error(f"it cannot be made: {one_line(error)}") from error
