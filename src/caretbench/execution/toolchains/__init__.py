"""One runtime per language, imported only when the language is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from caretbench.execution.bundles import installed
from caretbench.execution.sandbox.program import Sandbox
from caretbench.execution.toolchains.base import BundleLookup, Runtime
from caretbench.execution.types import LanguageRuntime

RUNTIMES: Mapping[str, str] = {
    "python": "caretbench.execution.toolchains.python:PythonRuntime",
    "javascript": "caretbench.execution.toolchains.javascript:JavaScriptRuntime",
    "typescript": "caretbench.execution.toolchains.typescript:TypeScriptRuntime",
    "java": "caretbench.execution.toolchains.java:JavaRuntime",
    "cpp": "caretbench.execution.toolchains.cpp:CppRuntime",
    "csharp": "caretbench.execution.toolchains.csharp:CsharpRuntime",
    "go": "caretbench.execution.toolchains.go:GoRuntime",
}
"""Language -> module and class; a class takes a sandbox."""

__all__ = ["RUNTIMES", "load_runtime"]


def load_runtime(
    language: str, sandbox: Sandbox | None = None, bundles: BundleLookup = installed
) -> LanguageRuntime:
    """The runtime of a language.

    Args:
        language: A name of the table of languages.
        sandbox: Where its compiler runs; an own one by default.
        bundles: From a bundle's name to the built bundle.

    Raises:
        KeyError: programs in this language are not run; the message lists those that are.
    """
    if language not in RUNTIMES:
        raise KeyError(f"programs in {language} are not run; known: {', '.join(RUNTIMES)}")
    module, _, name = RUNTIMES[language].partition(":")
    made = getattr(import_module(module), name)(sandbox or Sandbox())
    if isinstance(made, Runtime):
        made.look_up_with(bundles)
    found: LanguageRuntime = made
    return found
