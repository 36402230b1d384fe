"""Base classes of what a suite defines for builds of tasks from projects: options, and a miner of blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, Self

from pydantic import JsonValue

from caretbench.build.projects.project_check import ProjectCheck
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.problem import Problem, Provenance, TestsCheck
from caretbench.projects.settings import CheckSettings
from caretbench.syntax import ProjectAnalysis, Span

REFERENCE_POLICY: Final = "block"
"""Truncation policy that must leave every reference unchanged."""


@dataclass(frozen=True)
class TaskOrigin:
    """Properties that all problems of one check of a project share."""

    project: str
    snapshot: str
    provenance: Provenance
    check: TestsCheck
    checks_by_file: Mapping[str, TestsCheck] = field(default_factory=dict)
    """Checks that replace ``check``, by file."""


class MinedBlock(NamedTuple):
    """A block of a file of which candidates may be made."""

    path: str
    span: Span


class DrawnProblems(NamedTuple):
    """Problems of one check, and the number of blocks that were not taken, by reason.

    ``project_checks`` are results of the project's own tests by check key, which the gate need not repeat.
    """

    problems: tuple[Problem, ...]
    rejected: Counter[str]
    project_checks: Mapping[str, ProjectCheck] = {}


class DrawnTasks(NamedTuple):
    """Drawn problems of one check, for the choice of their tests.

    ``any_order`` is False if the tests fail in another order, so that all of them must run. ``progress`` is called
    with the number of newly finished problems. ``written_reach`` is the reach of the tests that a model
    wrote, if there are any.
    """

    engine: WorkspaceEngine
    store: SnapshotStore
    problems: tuple[Problem, ...]
    reach: StatementReach
    any_order: bool
    progress: Callable[[int], None]
    written_reach: StatementReach | None = None


class BlockMiner(ABC):
    """Miner of the blocks of one analysed project."""

    @abstractmethod
    def find(self, paths: Collection[str]) -> Counter[str]:
        """Find the candidates in some files; return the number of rejected blocks by rule."""

    def blocks(self, paths: Collection[str]) -> Mapping[str, Sequence[MinedBlock]]:
        """Return the blocks of the candidates in some files, for which tests may be written; by default none."""
        del paths
        return {}

    @abstractmethod
    def candidate_count(self, paths: Collection[str]) -> int:
        """Return the number of candidates in some files."""

    @abstractmethod
    def draw(
        self, paths: Collection[str], origin: TaskOrigin, reach: StatementReach, limit: int | None, reached_lines: int
    ) -> DrawnProblems:
        """Return the problems made of a sample of the candidates that the tests of one check reach.

        Args:
            paths: Files that the check is for.
            origin: Properties of the problems.
            reach: Reach of the check's tests.
            limit: Maximum number of candidates of this check, if its settings have one.
            reached_lines: Number of lines that the tests reach.
        """

    def choose_tests(self, drawn: DrawnTasks) -> DrawnProblems | None:
        """Return the problems with the tests that decide about them.

        None, the default: those that reach the block, or all.
        """
        del drawn
        return None


@dataclass(frozen=True, kw_only=True)
class ProjectOptions(ABC):
    """Options of a build that all suites with tasks from projects have."""

    suite: ClassVar[str]
    verdict_label: ClassVar[str]
    """Label by which the result of a build counts verdicts."""

    mutates_values: ClassVar[bool] = False
    """The gate mutates values where a reference has no other mutants, as parts of a line may."""

    languages: tuple[str, ...] = ()
    check: CheckSettings | None = None
    setup: str | None = None
    exclude: tuple[str, ...] = ()
    unverified: bool = False
    exclude_tests: tuple[str, ...] = ()
    """Names of tests that do not run."""
    all_tests: bool = False
    """Refuse a project with a test that fails, in place of excluding the test."""
    reviewed: Path | None = None
    """Export of a review: tasks that people rejected are dropped. No part of the manifest: it can come later."""

    @property
    @abstractmethod
    def seed(self) -> int:
        """Random seed of the choice of candidates."""

    def for_project(self, project: ProjectFolder, folders: ProjectFolders, store: SnapshotStore) -> Self:
        """Return the options for one of several projects; by default these themselves.

        Raises:
            DataError: another source that they name cannot be fetched.
        """
        del project, folders, store
        return self

    @abstractmethod
    def own_options(self) -> dict[str, JsonValue]:
        """Return the suite's own options as they are stored in the manifest."""

    @abstractmethod
    def miner(self, analysis: ProjectAnalysis) -> BlockMiner:
        """Return the miner of a project."""

    def tasks(self, accepted: Iterable[Problem], store: SnapshotStore) -> Iterator[Problem]:
        """Yield the tasks made of the accepted candidates; by default these themselves."""
        del store
        yield from accepted

    def to_manifest(self) -> dict[str, JsonValue]:
        """Return the options as they are stored in the manifest."""
        return {
            "languages": list(self.languages),
            **self.own_options(),
            "check": self.check.model_dump(mode="json") if self.check else None,
            "setup": self.setup,
            "exclude": list(self.exclude),
            "unverified": self.unverified,
            **({"exclude_tests": list(self.exclude_tests)} if self.exclude_tests else {}),
            **({"all_tests": True} if self.all_tests else {}),
        }
