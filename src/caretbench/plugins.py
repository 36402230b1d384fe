"""Plug-ins: extensions that a user adds without changing CaretBench.

A plug-in is named either by the entry point that an installed distribution declares (``terse``), or by its
place (``module:object``; the working folder is searched too, so that a local file needs no packaging).
This module finds and loads; the packages that use a plug-in check its type.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any, Literal, NamedTuple

from caretbench.errors import UsageError

PluginGroup = Literal[
    "caretbench.prompts", "caretbench.preprocess", "caretbench.policies", "caretbench.metrics", "caretbench.suites",
    "caretbench.builders",
]  # fmt: skip
"""The groups of entry points: prompt strategies, changes of a caret before it is rendered, policies, metrics,
suites, builders of suites."""

Version = int | str

_PLACE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,63})")
_VERSION = re.compile(r"[\w.+-]{1,64}")
_DIGITS = 12


class PluginError(UsageError):
    """Error: a plug-in cannot be used; the message is one line with its name and origin."""


def one_line(error: BaseException) -> str:
    """Return an error of foreign code as one line: its type and its message, of wrong fields their names."""
    # Only where something failed: the help and completion of the shell do without pydantic.
    from pydantic import ValidationError

    from caretbench.files import describe_validation_error

    message = describe_validation_error(error) if isinstance(error, ValidationError) else " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


class Plugin(NamedTuple):
    """Loaded plug-in. ``name``: as the user wrote it; ``origin``: package or module it comes from, for messages."""

    name: str
    value: Any
    module: str
    origin: str

    @property
    def is_place(self) -> bool:
        """True if the user named it by its place, ``module:object``."""
        return _PLACE.fullmatch(self.name) is not None

    def error(self, what: str) -> PluginError:
        """Return an error about this plug-in; ``what`` is the fault."""
        return PluginError(f"plug-in {self.name} ({self.origin}): {what}")

    def call(
        self, fault: str, function: Callable[..., Any], *arguments: Any, passed: tuple[type[Exception], ...] = ()
    ) -> Any:
        """Return the result of a function of this plug-in.

        Raises:
            PluginError: It raises another exception than those ``passed``; the message begins with ``fault``.
        """
        try:
            return function(*arguments)
        except passed:
            raise
        except Exception as error:
            raise self.error(f"{fault}: {one_line(error)}") from error

    def version_of(self, value: object) -> Version:
        """Return the version for the key (after @): ``value.version``, else a hash of the plug-in's source files.

        Hashed are the module that the plug-in is named by and the one that defines ``value``, not what these import.

        Raises:
            PluginError: The version is no word or number, or there is neither a version nor a file.
        """
        if (given := _stated_version(value, self.error)) is not None:
            return given
        defining = getattr(value, "__module__", None) or type(value).__module__
        files = {_file_of(self.module), _file_of(defining)} - {None}
        if not files:
            raise self.error("it has no version and no source file to take a hash of; give it a version")
        digest = hashlib.sha256()
        for path in sorted(str(file) for file in files):
            # Hashes of fixed length: two files never give the bytes of one.
            digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
        return digest.hexdigest()[:_DIGITS]


def _stated_version(value: object, error: Callable[[str], UsageError]) -> Version | None:
    given = getattr(value, "version", None)
    if given is None:
        return None
    # The version is part of the key of rows: True is an int for Python and no version, and a blank or an @ would make
    # the key ambiguous.
    if isinstance(given, bool) or not isinstance(given, Version) or not _VERSION.fullmatch(str(given)):
        raise error(f"its version is {given!r}; expected a number or a short word")
    return given


def function_version(function: object, title: str) -> Version:
    """Return the version of a function for a key: ``function.version``, else a hash of the function's source.

    The hash does not cover what the function calls. Two functions of equal source can differ in the values that they
    hold (a closure, defaults, the object of a method): then only a stated version tells them apart.

    Raises:
        UsageError: It is no function, or has neither a version nor such a source; the message begins with ``title``.
    """

    def error(fault: str) -> UsageError:
        return UsageError(f"{title}: {fault}")

    if isinstance(function, type) or not callable(function):
        raise error(f"expected a function, got {function!r:.80}")
    if (given := _stated_version(function, error)) is not None:
        return given
    remedy = "give it a version, as in function.version = 1, and raise it with each change"
    if not isinstance(function, FunctionType) or (
        function.__closure__ or function.__defaults__ or function.__kwdefaults__
    ):
        raise error(f"it holds values, which no hash of its source covers; {remedy}")
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        raise error(f"its source cannot be read; {remedy}") from None
    return hashlib.sha256(inspect.cleandoc(source).encode()).hexdigest()[:_DIGITS]


def installed_plugins(
    group: PluginGroup, reserved_names: Collection[str], on_error: Callable[[PluginError], None] | None = None
) -> tuple[str, ...]:
    """Return the names of the installed plug-ins of a group, without loading one.

    Args:
        group: The group of entry points.
        reserved_names: Names that no plug-in may have.
        on_error: Called for each plug-in whose name is reserved, malformed or used twice; the others are returned.

    Raises:
        PluginError: a name is wrong, and there is no ``on_error``.
    """
    names, errors = _find_installed(group, frozenset(reserved_names), tuple(sys.path))
    if errors and on_error is None:
        raise errors[0]
    for error in errors:
        on_error(error)  # type: ignore[misc] # given where there are errors
    return tuple(names)


def load_plugin(
    group: PluginGroup, name: str, reserved_names: Collection[str], *, ignore_other_errors: bool = False
) -> Plugin | None:
    """Return the plug-in ``name`` of a group, or None where no plug-in has this name.

    ``reserved_names`` are names that no plug-in may have; they are checked even where ``name`` is one of them, so
    that an installed plug-in never changes what a name means, nor seems to.

    With ``ignore_other_errors``, other plug-ins do not matter.

    Raises:
        PluginError: It cannot be loaded, or a name clashes.
    """
    points, errors = _find_installed(group, frozenset(reserved_names), tuple(sys.path))
    if errors and not ignore_other_errors:
        raise errors[0]
    if name in reserved_names:
        return None
    if _PLACE.fullmatch(name):
        return _load_at(name)
    point = points.get(name)
    if point is None:
        return None
    plugin = Plugin(name, None, point.module, f"{_distribution(point)}, {point.value}")
    try:
        return plugin._replace(value=point.load())
    except (Exception, SystemExit) as error:
        raise plugin.error(f"cannot be loaded: {one_line(error)}") from error


def _load_at(place: str) -> Plugin:
    """Return the object at ``module:object``. The working folder is searched last, to hide no module."""
    module_name, _, path = place.partition(":")
    here = str(Path.cwd())
    # A console script has its own folder first on the path, and not the folder in which the user stands.
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    plugin = Plugin(place, None, module_name, f"module {module_name}")
    try:
        module = import_module(module_name)
    # A module may call sys.exit when it is imported; that must not end a run without a word.
    except (Exception, SystemExit) as error:
        # The plug-in itself, or a package around it, is missing; a module that it imports is its own fault.
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise plugin.error(_not_found(error.name or module_name, here)) from None
        raise plugin.error(f"cannot be imported: {one_line(error)}") from error
    try:
        return plugin._replace(value=attrgetter(path)(module))
    except AttributeError:
        names = [name for name in vars(module) if not name.startswith("_")]
        near = get_close_matches(path, names, n=3, cutoff=0.3)
        raise plugin.error(
            f"{getattr(module, '__file__', None) or module_name} has no {path!r}"
            + (f"; near to it: {', '.join(near)}" if near else "")
        ) from None


def _not_found(module: str, here: str) -> str:
    """Return the message about a module that is nowhere: where it was looked for, and the remedy."""
    file = f"{module.replace('.', '/')}.py"
    path = os.environ.get("PYTHONPATH") or "not set"
    return (
        f"there is no module {module!r}; looked for {file} in {here}, in PYTHONPATH ({path}) and among the installed "
        f"packages; run the command in the folder of {file}, or add that folder to PYTHONPATH"
    )


@lru_cache(maxsize=16)
def _find_installed(
    group: PluginGroup, reserved_names: frozenset[str], _path: tuple[str, ...]
) -> tuple[MappingProxyType[str, EntryPoint], tuple[PluginError, ...]]:
    """Return the usable entry points of a group by name, and the errors of the others (``_path``: cache key)."""
    by_name: dict[str, EntryPoint] = {}
    errors: list[PluginError] = []
    for point in sorted(entry_points(group=group), key=attrgetter("name")):
        origin = f"{_distribution(point)}, {point.value}"
        other = by_name.get(point.name)
        if point.name in reserved_names or (other is not None and other.value != point.value):
            whose = _distribution(other) if other is not None else "caretbench"
            errors.append(
                PluginError(
                    f"plug-in {point.name} ({origin}): {whose} has a {point.name!r} already; rename the entry point in "
                    f"{group}, or uninstall {_distribution(point)}"
                )
            )
        elif not _NAME.fullmatch(point.name):
            errors.append(
                PluginError(f"plug-in {point.name!r} ({origin}): a name has letters, digits, '.', '_' and '-' only")
            )
        else:
            by_name[point.name] = point
    return MappingProxyType(by_name), tuple(errors)


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown distribution"


def _file_of(module: str) -> Path | None:
    """Return the file of a loaded module, unless it belongs to CaretBench or to Python."""
    root = module.partition(".")[0]
    # A hash of these would change with every release of Python or of CaretBench, and with it all keys.
    if root in sys.stdlib_module_names or root in {"caretbench", "__main__"}:
        return None
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file else None
