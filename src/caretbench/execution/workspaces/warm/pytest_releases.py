"""Known releases of pytest and of the packages that it imports, by the hashes of their files.

A warm sandbox imports nothing else of a project: its other packages are foreign code, and what is imported there
could reach all programs of the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from caretbench.files import read_packaged_toml, sha256_text

TABLE: Final = "pytest_releases.toml"
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "pytest": ("_pytest", "pytest", "py"), "pluggy": ("pluggy",), "iniconfig": ("iniconfig",),
    "packaging": ("packaging",), "pygments": ("pygments",),
}  # fmt: skip
"""Modules by distribution."""
PYTEST_MODULES: Final = tuple(module for modules in MODULES.values() for module in modules)


def content_hash(files: Mapping[str, str], module: str) -> str | None:
    """Return the hash of all files of a module or package; None if it has none.

    ``files`` are hashes of contents by path, relative to the folder on the import path.
    """
    own = sorted(path for path in files if path.startswith((f"{module}/", f"{module}.")))
    return sha256_text(*(f"{path} {files[path]}" for path in own)) if own else None


@cache
def _known() -> Mapping[str, frozenset[str]]:
    table = read_packaged_toml(__package__, TABLE)
    return {module: frozenset(versions.values()) for module, versions in table.items()}


def is_known(files: Mapping[str, str], module: str) -> bool:
    """Return whether the files of a module or package are those of a known release, or it has none."""
    found = content_hash(files, module)
    return found is None or found in _known()[module]
