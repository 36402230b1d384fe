"""Folders of jars: their class path inside the sandbox, and whether a class is in them."""

from __future__ import annotations

import zipfile
from pathlib import Path

from caretbench.execution.bundles.model import INSIDE, BundleError, Spec

JARS = "jars"


def class_path(root: Path) -> tuple[str, ...]:
    """The jars of a bundle as they are found inside the sandbox, in the order of their names."""
    return tuple(f"{INSIDE}/{JARS}/{jar.name}" for jar in sorted((root / JARS).glob("*.jar")))


def verify_classes(spec: Spec, root: Path) -> None:
    """Check that the classes that ``spec.verify`` names are in the jars.

    Raises:
        BundleError: a class is in none of them.
    """
    entries: set[str] = set()
    for jar in (root / JARS).glob("*.jar"):
        with zipfile.ZipFile(jar) as archive:
            entries.update(archive.namelist())
    absent = [name for name in spec.verify if f"{name.replace('.', '/')}.class" not in entries]
    if absent:
        raise BundleError(f"{spec.name}: built, but holds no class {', '.join(absent)}")
