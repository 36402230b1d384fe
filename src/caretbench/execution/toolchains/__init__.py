"""Language runtimes, as the tables name them; each is imported on demand."""

from __future__ import annotations

from importlib import import_module

from caretbench.errors import UsageError
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.toolchain_tables import toolchain_tables
from caretbench.execution.toolchains.base_runtime import BaseRuntime, BundleLookup

__all__ = ["load_runtime"]


def load_runtime(
    language: str, sandbox: Sandbox | None = None, bundles: BundleLookup = installed_bundle
) -> BaseRuntime:
    """Return the runtime of a language.

    Args:
        language: A name of the table of languages.
        sandbox: Sandbox of its compiler; one of its own by default.
        bundles: From a bundle's name to the built bundle.

    Raises:
        UsageError: programs in this language are not run; the message lists those that are.
    """
    tables = toolchain_tables()
    if language not in tables:
        raise UsageError(f"programs in {language} are not run; known: {', '.join(tables)}")
    module, _, name = tables[language].runtime.partition(":")
    runtime: BaseRuntime = getattr(import_module(module), name)(sandbox or Sandbox(), bundles)
    runtime.language = runtime.language or language  # one class may serve several
    return runtime
