"""Test settings of the released programs as data (``programs.toml``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import Field

from caretbench.files import read_packaged_toml
from caretbench.problem import Provenance, Row
from caretbench.suites.simcopilot.released.release_files import RELEASE_REVISION


class Release(Row):
    """Origin of the release; ``tab_size`` is the number of blanks that replace a tab."""

    source: str
    licence: str
    date: str
    tab_size: int

    def provenance(self) -> Provenance:
        """Return the provenance of all released problems."""
        return Provenance(source=self.source, revision=RELEASE_REVISION, licence=self.licence, date=self.date)


class LanguageTests(Row):
    """Settings of all programs of a language: a runner of ours, JUnit's jar, a bundle, environment variables."""

    test_runner: str = ""
    junit: str = ""
    bundle: str | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)


class ProgramTests(Row):
    """Settings of one program: its folder, and the requirements, number and CPU seconds of its tests."""

    folder: str
    tests: int
    cpu_s: float
    inputs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    stdlib_only: bool = False


class ReleasedTests(Row):
    """Test settings of the release."""

    release: Release
    languages: Mapping[str, LanguageTests]
    programs: Mapping[str, ProgramTests]


@cache
def released_tests() -> ReleasedTests:
    """Return the test settings of all released programs."""
    return ReleasedTests.model_validate(read_packaged_toml("caretbench.suites.simcopilot.released", "programs.toml"))
