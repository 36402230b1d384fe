"""Recipes of editions: one TOML with the projects, pinned by hash or commit, and the sizes of the edition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from caretbench.build.sources.licences import is_permissive
from caretbench.errors import DataError, UsageError
from caretbench.files import read_toml, sha256_text, validated
from caretbench.languages import get_language
from caretbench.problem import Row
from caretbench.projects.settings import CheckSettings, ProjectSettings
from caretbench.suites.record.build.packages import LockedPackage

_SOURCE: Final = re.compile(
    r"pypi:[\w.-]+==[\w.!+-]+|npm:(?:@[\w.-]+/)?[\w.-]+@[\w.-]+|https://\S+|git\+\S+@[0-9a-f]{40}"
)
_SHA256: Final = r"^[0-9a-f]{64}$"
_ISO_DATE: Final = r"^\d{4}-\d{2}-\d{2}$"


class PinnedSource(Row):
    """Origin of a project: ``pypi:NAME==VERSION``, ``npm:NAME@VERSION``, ``https://…``, or ``git+ADDRESS@COMMIT``.

    An archive has its hash; the hash of a commit is that of its files.
    """

    source: str
    sha256: str | None = Field(default=None, pattern=_SHA256)

    @model_validator(mode="after")
    def _is_pinned(self) -> Self:
        if not _SOURCE.fullmatch(self.source):
            raise ValueError(
                f"source {self.source!r}: expected pypi:NAME==VERSION, npm:NAME@VERSION, https://ADDRESS of an "
                "archive, or git+ADDRESS@COMMIT with the whole hash"
            )
        if (self.sha256 is None) != self.is_repository:
            raise ValueError("an archive has sha256; of a repository the commit is the hash")
        return self

    @property
    def is_repository(self) -> bool:
        """True for a commit of a repository."""
        return self.source.startswith("git+")


class RecipeProject(PinnedSource):
    """One project: origin, licence, language, checks, packages of its tests, and the reason why it was chosen."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    language: str
    licence: str
    licence_source: str
    """File or field of the archive that states the licence."""
    date: str = Field(pattern=_ISO_DATE)
    """Day of the release."""
    why: str
    previous: PinnedSource | None = None
    """The release before, by which functions are new, changed or the same (``age``)."""
    packages: tuple[str, ...] = ()
    """Requirements of the tests: of pip for Python, NAME@VERSION for npm. The lock names what they resolve to."""
    exclude: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude_tests: tuple[str, ...] = ()
    """Tests that do not run."""
    checks: tuple[CheckSettings, ...] = Field(min_length=1)
    files: Mapping[str, str] = Field(default_factory=dict)
    """Further files that are laid into the project."""
    spans: int | None = Field(default=None, ge=1)
    """Maximum number of its spans that the gate decides, if not the recipe's: one whose tests cost more has fewer."""
    held_out: bool = False
    """The edition has only the hash of this entry, and no problems of the project."""

    @model_validator(mode="after")
    def _is_permissive(self) -> Self:
        if not is_permissive(self.licence):
            raise ValueError(f"{self.name}: licence {self.licence}: only permissive ones are taken")
        return self

    @property
    def settings(self) -> ProjectSettings:
        """Its ``caretbench.toml``."""
        return ProjectSettings(
            name=self.name, licence=self.licence, source=self.source, date=self.date, exclude=self.exclude,
            ignore=self.ignore, checks=self.checks,
        )  # fmt: skip

    def layout(self, packages: tuple[LockedPackage, ...]) -> str:
        """Return the hash of all that determines the files of the project."""
        own = self.model_dump_json(exclude={"why", "previous", "licence_source", "exclude_tests", "spans", "held_out"})
        return sha256_text(own, *(one.model_dump_json() for one in packages))


class EditionRecipe(Row):
    """An edition: its name, sizes and projects."""

    edition: str = Field(pattern=r"^[\w.-]+$")
    kinds: tuple[Literal["blocks"], ...] = ("blocks",)
    """Kinds of problems. Later editions have room for others here."""
    canary: str
    """Text in each exported file, by which copies of the edition are found in training data."""
    seed: int = 0
    weights: str = "even"
    """Mix of spans, as ``caretbench build codevbench --weights``."""
    spans: int = Field(default=60, ge=1)
    """Maximum number of spans of each project that the gate decides."""
    problems: int = Field(default=40, ge=1)
    """Maximum number of problems of each project."""
    group_problems: int = Field(default=2, ge=1)
    """Maximum number of problems of each overlap group."""
    kills_kept: float = Field(default=0.9, ge=0, le=1)
    """Minimum share of the wrong answers that the deciding tests fail, of those that all its tests fail."""
    renamed: float = Field(default=0.2, ge=0, le=1)
    """Share of the problems that have a sibling with changed names."""
    projects: tuple[RecipeProject, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_no_forks(self) -> Self:
        for what in ("name", "source"):
            twice = [name for name, count in Counter(getattr(one, what) for one in self.projects).items() if count > 1]
            if twice:
                raise ValueError(f"two projects have the {what} {twice[0]}")
        return self


def read_recipe(path: Path) -> EditionRecipe:
    """Return a recipe.

    Raises:
        DataError: the file cannot be read, or an entry is wrong; the message names it.
    """
    recipe = validated(EditionRecipe, read_toml(path), path)
    for project in recipe.projects:
        try:
            get_language(project.language)
        except UsageError as error:
            raise DataError(f"{path}: {project.name}: {error}") from None
    return recipe
