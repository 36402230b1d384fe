"""Plugin for pytest: options of plugins that are not here are ignored, and plugins that run linters are not loaded.

It is added to the sandbox's copy of a project. Nothing of CaretBench can be imported here.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

_LINTERS = (
    "black", "checkdocs", "codestyle", "flake8", "flakes", "isort", "mypy", "pep8", "pycodestyle", "pylint", "ruff",
)  # fmt: skip
"""Plugins that collect every file, CaretBench's own among them, as a test of its style."""
_REFUSING = "--strict-config"
"""Option that refuses settings of plugins that are not here."""


def pytest_addoption(pluginmanager: Any) -> None:
    """Keep plugins of linters from being loaded."""
    for name in _LINTERS:
        pluginmanager.set_blocked(name)


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config: Any, parser: Any, args: list[str]) -> Generator[None, Any, None]:
    """Remove options that are still unknown when conftest.py is loaded, each with its value."""
    known = early_config.known_args_namespace
    values = {args[n] for n in _unknown(parser, args) if not args[n].startswith("-")}
    known.file_or_dir = [path for path in known.file_or_dir if path not in values]
    yield
    ignored = _unknown(parser, args)
    args[:] = [word for n, word in enumerate(args) if n not in ignored]


def _unknown(parser: Any, args: list[str]) -> set[int]:
    """Return the positions of unknown options, and of the word after each that may be its value.

    ``--cov tinydb`` without its plugin would look for tests in the package.
    """
    unknown = {*parser.parse_known_and_unknown_args(args)[1], _REFUSING}
    options = {n for n, word in enumerate(args) if word.startswith("-") and word in unknown}
    valued = {n + 1 for n in options if "=" not in args[n]} & set(range(len(args)))
    return options | {n for n in valued if not args[n].startswith("-")}
