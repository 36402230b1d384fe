"""One runtime per language, imported only when the language is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from caretbench.execution.runtimes.base import BundleLookup
from caretbench.execution.sandbox import Sandbox
from caretbench.execution.types import LanguageRuntime

RUNTIMES: Mapping[str, str] = {
    "python": "caretbench.execution.runtimes.python:PythonRuntime",
    "javascript": "caretbench.execution.runtimes.javascript:JavaScriptRuntime",
    "typescript": "caretbench.execution.runtimes.typescript:TypeScriptRuntime",
    "java": "caretbench.execution.runtimes.java:JavaRuntime",
    "cpp": "caretbench.execution.runtimes.cpp:CppRuntime",
    "csharp": "caretbench.execution.runtimes.csharp:CsharpRuntime",
}
"""Language -> module and class; a class takes a sandbox and a look-up of bundles."""

__all__ = ["RUNTIMES", "load_runtime"]


def load_runtime(language: str, sandbox: Sandbox, bundles: BundleLookup) -> LanguageRuntime:
    """The runtime of a language.

    Raises:
        KeyError: programs in this language are not run.
    """
    module, _, name = RUNTIMES[language].partition(":")
    runtime: LanguageRuntime = getattr(import_module(module), name)(sandbox, bundles)
    return runtime
