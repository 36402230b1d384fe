"""Base classes for builds of tasks from projects: a suite's options, and its miner of blocks."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self, get_args

from pydantic import JsonValue

from caretbench.build.project_sources import SOURCE_OPTIONS
from caretbench.build.projects.project_check import ProjectCheck
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.errors import UsageError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.files import sha256_text
from caretbench.options import Option, StringList
from caretbench.problem import Problem, Provenance, TestsCheck
from caretbench.projects.settings import CheckSettings, Comparison, OutputSettings
from caretbench.syntax import Span
from caretbench.syntax.analysis import FileAnalysis, ProjectAnalysis
from caretbench.syntax.analysis_types import CLASS_SCOPES, NAMED_FUNCTION_SCOPES

REFERENCE_POLICY: Final = "block"
"""Truncation policy that must leave every reference unchanged."""


TEST_BUDGET_S: Final = 0.5
"""Default of :attr:`ProjectOptions.test_budget_s`. The tests of parsimonious take 0.4 s, those of tenacity 1.3 s."""
_NAMED_SCOPES: Final = CLASS_SCOPES | NAMED_FUNCTION_SCOPES


@dataclass(frozen=True)
class TaskOrigin:
    """Properties that all problems of one check of a project share."""

    project: str
    snapshot: str
    provenance: Provenance
    check: TestsCheck
    checks_by_file: Mapping[str, TestsCheck] = field(default_factory=dict)
    """Checks that replace ``check``, by file."""


IDS_VERSION: Final = 2
"""Version of the ids. 1: with the hash of the file and byte offsets, so that one edit changed all ids of a file."""


def block_names(analysis: FileAnalysis, blocks: Iterable[tuple[Span, str]]) -> list[str]:
    """Return names of blocks, span and kind, that edits elsewhere leave as they are: ``PATH:Class.function``.

    The second block of a kind in a function has ``#2`` behind it, and so on, in the order of the text.
    """
    counts: Counter[tuple[str, str]] = Counter()
    names = []
    for span, kind in blocks:
        around = (scope.name for scope in analysis.enclosing_scopes(span) if scope.kind in _NAMED_SCOPES and scope.name)
        name = f"{analysis.source.path}:{'_'.join('.'.join(around).split()) or '-'}"
        counts[name, kind] += 1
        number = counts[name, kind]
        names.append(name if number == 1 else f"{name}#{number}")
    return names


_NEW_SHARE: Final = 4
"""A sample may have a fourth more than its limit, of blocks that are new or changed since the build before."""


def block_hash(*texts: str) -> str:
    """Return the hash of a block's text, and of what is hidden of it."""
    return sha256_text(*texts)[:16]


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

    ``any_order`` is False if the tests fail in another order, so that all of them must run. ``budget_s`` are the CPU
    seconds of the tests of one problem beyond the start of the runner. ``progress`` is called with the number of newly
    finished problems. ``written_reach`` is the reach of the tests that a model wrote, if there are any. ``suite``
    is the result of all tests on the unchanged project.
    """

    engine: WorkspaceEngine
    store: SnapshotStore
    problems: tuple[Problem, ...]
    reach: StatementReach
    any_order: bool
    budget_s: float
    progress: Callable[[int], None]
    written_reach: StatementReach | None = None
    suite: ProjectCheck | None = None


class DrawnBefore:
    """Candidates of the build before, by name and hash: those that it drew, and all that it knew.

    A sample begins with what was drawn before and is as it was, and has room for what is new or changed since; so that
    two builds share most problems, though another function shifts the balance of a sample.
    """

    def __init__(self, stored: str | None = None) -> None:
        names = json.loads(stored) if stored else {}
        self._drawn, self._known = frozenset(names.get("drawn", ())), frozenset(names.get("known", ()))
        self._now: dict[str, list[str]] = {"drawn": [], "known": []}

    def first(self, keys: Mapping[str, str], limit: int | None) -> list[str]:
        """Return the names that a sample of at most ``limit`` begins with; ``keys`` are name and hash by name."""
        ranked = sorted(keys, key=sha256_text)
        self._now["known"] += keys.values()
        if limit is None or not self._known:
            return []
        drawn = [name for name in ranked if keys[name] in self._drawn]
        new = [name for name in ranked if keys[name] not in self._known]
        return [*drawn[:limit], *new[: limit // _NEW_SHARE]]

    def add(self, keys: Iterable[str]) -> None:
        """Store what was drawn now."""
        self._now["drawn"] += keys

    def to_json(self) -> str:
        """Return what the next build needs."""
        return json.dumps(self._now)


class BlockMiner(ABC):
    """Miner of the blocks of one analysed project; ``before`` are the candidates of the build before."""

    before: DrawnBefore | None = None

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

    def block_span(self, problem: Problem) -> tuple[int, int] | None:
        """Return the bytes of the block whose masks must fail; None, the default, leaves that to the gate."""
        del problem
        return None

    def with_test_labels(self, problems: tuple[Problem, ...], drawn: DrawnTasks) -> tuple[Problem, ...]:
        """Return problems with labels about the tests that decide about them; by default without."""
        del drawn
        return problems


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
    test_budget_s: float = TEST_BUDGET_S
    """Maximum CPU seconds of the tests of one task, beyond the start of the runner."""
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

    def missing(self, tasks: Iterable[Problem]) -> Iterator[str]:
        """Yield what the options ask for and no task has; by default nothing."""
        del tasks
        yield from ()

    def to_manifest(self) -> dict[str, JsonValue]:
        """Return the options as they are stored in the manifest."""
        return {
            "languages": list(self.languages),
            **self.own_options(),
            "check": self.check.model_dump(mode="json") if self.check else None,
            "setup": self.setup,
            "exclude": list(self.exclude),
            "unverified": self.unverified,
            "test_budget": self.test_budget_s,
            # Only where they are set, so that a folder of a build without these options stays its own build.
            **({"exclude_tests": list(self.exclude_tests)} if self.exclude_tests else {}),
            **({"all_tests": True} if self.all_tests else {}),
        }


TASKS_GROUP: Final = "Tasks"
"""Group of the options about tasks in the help."""
# Options by their groups in the help.
_project = partial(Option, table="build", help_group="Project")
_tests = partial(Option, table="build", help_group="Tests")
_tasks = partial(Option, table="build", help_group=TASKS_GROUP)
_execution = partial(Option, table="build", help_group="Execution")

_BEFORE: Final = (
    _project("language", StringList, "Language to mine; may be repeated. Default: all.", flags=("--language", "-l")),
    _project("exclude", StringList, "Pattern of paths that are not mined; may be repeated.", metavar="PATTERN"),
    _project("setup", str, "Command that installs dependencies, run once with access to package indexes. auto: from "
             "the project's files (Python, JavaScript, TypeScript, Java, Go)."),
    _project("index", StringList, "Package index for --setup: a variable (PIP_INDEX_URL, npm_config_registry, …) or a "
             "host; may be repeated.", metavar="[NAME=]ADDRESS"),
    _tests("tests", Path, "Folder of further tests, which is laid next to the project's own.", metavar="FOLDER"),
    _tests("test_command", str, "Command that runs the tests. Default: from caretbench.toml or the project's files."),
    _tests("junit", StringList, "JUnit reports that the test command writes; may be repeated.", metavar="GLOB"),
    _tests("expect_output", str, "File of the project with the expected output, and its comparison: exact, whitespace, "
           "last_line or numeric.", metavar="FILE[:HOW]"),
    _tests("directory", str, "Working folder of the test command, in the project.", default="."),
    _tests("env", StringList, "Environment variable of the test command; may be repeated.", metavar="NAME=VALUE"),
    _tests("bundle", str, "Bundle of packages that the tests need (`caretbench deps`)."),
    _tests("exclude_test", StringList, "Test that does not run, by its name in the messages; may be repeated.",
           metavar="NAME"),
    _tests("test_budget", float, "CPU seconds of the tests of one task, beyond the start of the runner. Up to it all "
           "tests that reach a task decide; above it those that fail most wrong answers.", default=TEST_BUDGET_S),
    _tests("all_tests", bool, "Refuse a project with a test that fails. Default: such tests are excluded and listed.",
           flags=("--all-tests",), default=False),
)  # fmt: skip
_AFTER: Final = (
    _tasks("per_file", int, "Maximum number of candidates of one file. Default: no limit.", minimum=1),
    _tasks("seed", int, "Random seed of the choice of candidates.", default=0),
    _tasks("unverified", bool, "Also keep tasks for which no failing wrong answer was found.",
           flags=("--unverified",), default=False),
    _tasks("reviewed", Path, "Export of a review by people: tasks that they rejected are dropped.", metavar="PATH"),
    _execution("kept", Path, "Folder of results of tests and set-ups, for builds of the same project after a change: "
               "what depends on no changed file is not repeated.", metavar="FOLDER"),
    _tasks("candidates_only", bool, "Stop before validation: write candidates.jsonl, and no tasks.",
           flags=("--candidates-only",), default=False),
    _tests("agent_tries", int, "Maximum number of recipes of the role agent for each project.", default=4, minimum=1),
    _tests("agent_minutes", float, "Maximum time of the role agent for each project, in minutes.", default=30.0),
    _execution("jobs", int, "Maximum number of commands that run at the same time. Default: the number of processors.",
               flags=("--jobs", "-j"), minimum=1),
)  # fmt: skip


def project_build_options(*own: Option) -> tuple[Option, ...]:
    """Return all options of a suite's build: of sources, project and tests, the suite's own, and of the choice."""
    return (*SOURCE_OPTIONS, *_BEFORE, *own, *_AFTER)


def common_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of :class:`~caretbench.build.project_tasks.block_miner.ProjectOptions` from option values.

    Raises:
        UsageError: a value is wrong.
    """
    return {
        "languages": tuple(values["language"] or ()),
        "check": _check(values),
        "setup": values["setup"],
        "exclude": tuple(values["exclude"] or ()),
        "unverified": values["unverified"],
        "exclude_tests": tuple(values["exclude_test"] or ()),
        "all_tests": values["all_tests"],
        "test_budget_s": values["test_budget"],
        "reviewed": values["reviewed"],
    }


def _check(options: Mapping[str, Any]) -> CheckSettings | None:
    command, junit, expected = options["test_command"], options["junit"], options["expect_output"]
    directory, bundle = options["directory"], options["bundle"]
    if command is None:
        # These belong to a command of the user: without one they would change nothing, and look as if they did.
        if junit or expected or directory != "." or options["env"] or bundle:
            raise UsageError("--junit, --expect-output, --directory, --env and --bundle need --test-command")
        return None
    output = None
    if expected is not None:
        file, colon, how = expected.rpartition(":")
        ways = get_args(Comparison)
        if colon and how not in ways:
            raise UsageError(f"--expect-output {expected!r}: expected FILE[:HOW], with HOW one of {', '.join(ways)}")
        output = OutputSettings.model_validate({"file": file, "comparison": how} if colon else {"file": expected})
    return CheckSettings(
        command=command,
        junit=tuple(junit or ()),
        # A report without tests is the same as no report: exit status 0 alone would then check answers.
        minimum_tests=1 if junit else 0,
        output=output,
        directory=directory,
        environment=named_values("--env NAME=VALUE", options["env"]),
        bundle=bundle,
    )


def named_values(option: str, values: Sequence[str] | None) -> dict[str, str]:
    """Return the values of an option ``NAME=VALUE`` by name; ValueError if one has no ``=``."""
    name, _, form = option.partition(" ")
    wrong = next((pair for pair in values or () if "=" not in pair), None)
    if wrong is not None:
        raise UsageError(f"{name} {wrong!r}: expected {form}")
    return dict(pair.partition("=")[::2] for pair in values or ())
