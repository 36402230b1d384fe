"""Finds bundle specifications: those of the house, of its suites, and a user's own."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from caretbench.execution.bundles.model import BundleError, Spec
from caretbench.files import describe

EXTRA_FOLDERS = "CARETBENCH_BUNDLE_SPECS"
"""Environment variable: more folders with specifications, separated as in PATH."""


def load_spec(path: Path) -> Spec:
    """The specification in one TOML file.

    Raises:
        BundleError: the file cannot be read, or does not fit.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BundleError(f"{path}: {error}") from None
    try:
        return Spec.model_validate(table | {"folder": path.parent})
    except ValidationError as error:
        raise BundleError(f"{path}: {describe(error)}") from None


def _folders() -> Iterator[Path]:
    package = Path(str(resources.files("caretbench")))
    yield package / "execution" / "bundles" / "specs"
    yield from sorted((package / "suites").glob("*/bundles"))
    yield from (Path(folder) for folder in os.environ.get(EXTRA_FOLDERS, "").split(os.pathsep) if folder)


def bundle_specs() -> dict[str, Spec]:
    """All specifications by name. A user's own (``CARETBENCH_BUNDLE_SPECS``) come last and may replace one.

    Raises:
        BundleError: a specification does not fit.
    """
    specs = [load_spec(path) for folder in _folders() for path in sorted(folder.glob("*.toml"))]
    return {spec.name: spec for spec in specs}


def bundle_spec(name: str) -> Spec:
    """One specification.

    Raises:
        BundleError: none has this name; the message lists them.
    """
    specs = bundle_specs()
    if name not in specs:
        raise BundleError(f"no bundle is named {name!r}; known: {', '.join(specs)}")
    return specs[name]
