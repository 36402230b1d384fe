"""Python packages that a message says are missing, and the setup command that adds them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from caretbench.build.projects.setup.python_packages import INSTALLATION
from caretbench.files import read_packaged_toml

_MISSING: Final = re.compile(r"(?:No module named '?|missing_dependency: )([\w.]+)")


def added_packages_command(setup: str | None, modules: Iterable[str]) -> str:
    """Return a setup command that also installs the packages of missing modules.

    They join the packages of a command that begins with an installation, since pip leaves out folders that exist.
    """
    names = shlex.join(sorted({distribution_of(module) for module in modules}))
    if setup is None or setup.startswith(f"{INSTALLATION} "):
        return f"{INSTALLATION} {names}{(setup or INSTALLATION).removeprefix(INSTALLATION)}"
    return f"{setup} && {INSTALLATION} {names}"


def missing_modules(message: str) -> tuple[str, ...]:
    """Return the top-level modules that a message says are missing."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in _MISSING.findall(message)))


@cache
def _distributions() -> Mapping[str, str]:
    return {str(name): str(value) for name, value in read_packaged_toml(__package__, "distributions.toml").items()}


def distribution_of(module: str) -> str:
    """Return the name of the package that contains a module."""
    return _distributions().get(module, module)
