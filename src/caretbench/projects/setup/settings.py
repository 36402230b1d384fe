"""``caretbench.toml`` in a project's root: how its tests are run, and what is mined."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from caretbench.files import DataError, describe_validation_error
from caretbench.problem import Provenance, Row

SETTINGS_FILE: Final = "caretbench.toml"
Comparison = Literal["exact", "whitespace", "last_line", "numeric"]


class OutputSettings(Row):
    """What a command must print: the text of ``file``, compared as :class:`~caretbench.problem.ExpectedOutput`."""

    file: str
    comparison: Comparison = "exact"
    relative: float = Field(default=1e-6, ge=0)
    absolute: float = Field(default=1e-9, ge=0)


class CheckSettings(Row):
    """One way to test the project: a command (a line for ``/bin/sh``), and the files whose tasks it decides.

    ``files`` are patterns of paths (``*``, ``?``, ``[…]``; a star goes through folders too). A file belongs to the
    first check that names it.
    """

    name: str = "tests"
    command: str
    files: tuple[str, ...] = ("*",)
    prepare: str | None = None
    """A command that runs once in the project as it is, to save time: ``command`` finds what it leaves.

    It changes no verdict: without it, ``command`` does all by itself."""
    prepare_files: tuple[str, ...] = ("*",)
    """Patterns of files: where another one changes, nothing is prepared (headers that no rule of a Makefile names)."""
    directory: str = "."
    junit: tuple[str, ...] = ()
    minimum_tests: int = Field(default=0, ge=0)
    output: OutputSettings | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    needs: tuple[str, ...] = ()
    bundle: str | None = None
    limit: int | None = Field(default=None, ge=1)
    """At most so many tasks of this check; the build's limit by default."""


class ProjectSettings(Row):
    """A project's own word on how it is mined."""

    name: str | None = None
    licence: str | None = None
    source: str | None = None
    revision: str | None = None
    date: str | None = None
    exclude: tuple[str, ...] = ()
    """Patterns of paths that are not mined."""
    most_lines: int | None = Field(default=None, ge=1)
    """Files of more lines are not mined; the bound of ``mining.toml`` by default."""
    ignore: tuple[str, ...] = ()
    """Patterns of names or paths that are no part of the project."""
    setup: str | None = None
    checks: tuple[CheckSettings, ...] = ()

    def provenance(self, name: str) -> Provenance:
        """Where tasks of the project come from; ``name`` is the project's."""
        return Provenance(
            source=self.source or name, revision=self.revision, licence=self.licence, date=self.date
        )


def read_settings(root: Path) -> ProjectSettings:
    """Return the settings in a project's root; without such a file, empty ones.

    Raises:
        DataError: the file is malformed.
    """
    path = root / SETTINGS_FILE
    try:
        return ProjectSettings.model_validate(tomllib.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return ProjectSettings()
    except ValidationError as error:
        raise DataError(f"{path}: {describe_validation_error(error)}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
