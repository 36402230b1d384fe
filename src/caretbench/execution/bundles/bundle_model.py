"""Bundle specifications (data files), manifests of built bundles, and their views for runtimes."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from caretbench.errors import DataError
from caretbench.execution.execution_types import FrozenModel
from caretbench.files import describe_validation_error

INSIDE = "/bundle"
"""Path of a bundle's folder inside the sandbox, for every language."""

EXTRA_FOLDERS = "CARETBENCH_BUNDLE_SPECS"
"""Environment variable: more folders with specifications, separated as in PATH."""

EcosystemName = Literal["pip", "npm", "maven", "debian"]
SystemPackages = Literal["ask", "install", "never"]
"""Missing system packages: ``ask`` stops and lists them, ``install`` runs apt-get, ``never`` continues without."""

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


class BundleError(DataError):
    """Error: a bundle cannot be built or does not fit its specification; the message contains the remedy."""


class LinkRule(FrozenModel):
    """C++: a program that includes a header under ``include`` is linked with ``libraries``."""

    include: str
    """Start of a header's path: ``openssl/``."""
    libraries: tuple[str, ...]
    """Library names without ``lib`` and ``.so``; ``python3.*`` matches the installed version."""


class BundleSpec(FrozenModel):
    """A bundle's specification: one TOML file, with a lock file next to it if the ecosystem has one."""

    name: str = Field(pattern=r"^[a-z0-9_-]+/[a-z0-9_-]+$")
    language: str
    ecosystem: EcosystemName
    packages: tuple[str, ...] = Field(min_length=1)
    optional: tuple[str, ...] = ()
    """Debian packages that are taken where the release has them."""
    lock: str | None = None
    verify: tuple[str, ...] = ()
    """Modules, packages or classes that a built bundle must contain."""
    offline_repository: str | None = None
    """Maven: a local repository to resolve from without a network."""
    exclude_jars: tuple[str, ...] = ()
    """Java: name patterns of jars of a Debian package that are excluded from the class path."""
    include_folders: tuple[str, ...] = ()
    link_rules: tuple[LinkRule, ...] = ()
    notes: str = ""
    folder: Path
    """Folder of the specification; set by the loader."""

    @model_validator(mode="after")
    def _needs_lock(self) -> Self:
        # Maven's coordinates and Debian's release pin versions by themselves; these two would resolve to newer ones
        # later.
        if self.ecosystem in ("pip", "npm") and self.lock is None:
            raise ValueError(f"a bundle of {self.ecosystem} packages needs a lock file")
        return self

    @property
    def lock_path(self) -> Path | None:
        """Lock file, if there is one."""
        return self.folder / self.lock if self.lock else None


class BundleManifest(FrozenModel):
    """Record of a build; a folder without one is not a bundle."""

    schema_version: Literal[1] = 1
    name: str
    key: str
    platform: str
    packages: Mapping[str, str]
    """Versions by package name."""
    missing: tuple[str, ...] = ()
    """System packages that were not installed at the build."""
    size_bytes: int = 0


class Bundle(FrozenModel):
    """A built bundle; the paths in ``class_path`` and ``environment`` hold inside the sandbox."""

    name: str
    language: str
    lock_hash: str
    """Hash of all package versions; part of a verdict's cache key."""
    root: Path
    """Folder of the bundle on the host."""
    read_only: Mapping[str, str] = Field(default_factory=dict)
    """Read-only binds: path inside the sandbox -> path on the host."""
    environment: Mapping[str, str] = Field(default_factory=dict)
    class_path: tuple[str, ...] = ()
    compile_flags: tuple[str, ...] = ()
    link_rules: tuple[LinkRule, ...] = ()
    missing: tuple[str, ...] = ()

    def link_flags(self, source: str) -> tuple[str, ...]:
        """Return the linker's flags for a C++ program, by the headers it includes."""
        headers = _INCLUDE.findall(source)
        flags = (
            f"-l{library}"
            for rule in self.link_rules
            if any(header.startswith(rule.include) for header in headers)
            for library in rule.libraries
        )
        return tuple(dict.fromkeys(flags))


def load_spec(path: Path) -> BundleSpec:
    """Return the specification in a TOML file, or raise BundleError where it cannot be read or does not fit."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BundleError(f"{path}: {error}") from None
    try:
        return BundleSpec.model_validate(table | {"folder": path.parent})
    except ValidationError as error:
        raise BundleError(f"{path}: {describe_validation_error(error)}") from None


def _folders() -> Iterator[Path]:
    package = Path(str(resources.files("caretbench")))
    # The user's folders come last, so that their specifications replace ours of the same name.
    yield package / "execution" / "bundles" / "specs"
    yield from sorted((package / "suites").glob("*/bundles"))
    yield from (Path(folder) for folder in os.environ.get(EXTRA_FOLDERS, "").split(os.pathsep) if folder)


def bundle_specs() -> dict[str, BundleSpec]:
    """Return all specifications by name; the user's (``CARETBENCH_BUNDLE_SPECS``) replace those of the same name.

    Raises:
        BundleError: a specification does not fit.
    """
    specs = [load_spec(path) for folder in _folders() for path in sorted(folder.glob("*.toml"))]
    return {spec.name: spec for spec in specs}


def bundle_spec(name: str) -> BundleSpec:
    """Return the specification of this name, or raise BundleError, which lists those that are known."""
    specs = bundle_specs()
    if name not in specs:
        raise BundleError(f"no bundle is named {name!r}; known: {', '.join(specs)}")
    return specs[name]
