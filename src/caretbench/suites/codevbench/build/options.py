"""Options of a Codev-Bench build, and the miner that they describe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import JsonValue

from caretbench.build.project_tasks.block_miner import ProjectOptions
from caretbench.build.project_tasks.build_options import TASKS_GROUP, common_values, project_build_options
from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.options import Option
from caretbench.problem import Problem
from caretbench.suites.codevbench.build.function_ages import EarlierRelease
from caretbench.suites.codevbench.build.miner import CodevMiner, SpanSampling
from caretbench.suites.codevbench.build.scenarios import scenario_problems
from caretbench.suites.usage_weights import SHIPPED, read_weights
from caretbench.syntax import ProjectAnalysis

_VERSION: Final = re.compile(r"\d[\w.!+-]*")
MAX_SPANS: Final = 120
"""Default maximum number of hidden spans for each test command."""

OPTIONS: Final = project_build_options(
    Option("weights", str, f"Mix of problems: {', '.join(SHIPPED)}, or a file of weights.", "build", default=SHIPPED[0],
           metavar="NAME|FILE", help_group=TASKS_GROUP),
    Option("max_candidates", int, "Maximum number of hidden spans of each test command; 0: all. A span gives up to "
           "four problems.", "build", flags=("--max-candidates", "--limit"), default=MAX_SPANS, minimum=0, metavar="N",
           help_group=TASKS_GROUP),
    Option("tester_tries", int, "Maximum number of requests to the role tester for each project; one asks for tests of "
           "up to four functions.", "build", default=20, minimum=1, metavar="N", help_group=TASKS_GROUP),
    Option("tester_minutes", float, "Maximum time of the examinations of the tester's tests for each project, in "
           "minutes.", "build", default=60.0, help_group=TASKS_GROUP),
    Option("new_since", str, "Earlier release: a version of the same distribution, or a source. Labels functions that "
           "are new or changed since (`age`).", "build", metavar="VERSION|SOURCE", help_group=TASKS_GROUP),
)  # fmt: skip
"""Options of ``caretbench build codevbench``."""


@dataclass(frozen=True, kw_only=True)
class CodevOptions(ProjectOptions):
    """Options of a Codev-Bench build."""

    suite: ClassVar[str] = "codevbench"
    verdict_label: ClassVar[str] = "block"
    mutates_values: ClassVar[bool] = True

    sampling: SpanSampling
    added_tests: str = ""
    """Name of the folder of tests that the user laid next to the project; empty if there is none."""
    new_since: str = ""
    """Version or source of an earlier release; empty: functions have no age."""
    earlier: EarlierRelease | None = None

    @property
    def seed(self) -> int:
        """Random seed of the choice of candidates."""
        return self.sampling.seed

    def own_options(self) -> dict[str, JsonValue]:
        """Return the suite's own options as they are stored in the manifest."""
        weights = self.sampling.weights.model_dump(
            mode="json", by_alias=True, exclude={"source", "language", "category"}
        )
        return {
            "weights": weights,
            "limit": self.sampling.limit,
            "per_file": self.sampling.per_file,
            "added_tests": self.added_tests,
            "new_since": self.new_since,
        }

    def for_project(self, project: ProjectFolder, folders: ProjectFolders, store: SnapshotStore) -> CodevOptions:
        """Return the options with the project's earlier release, if one is named.

        Raises:
            DataError: the earlier release cannot be fetched.
        """
        if not self.new_since:
            return self
        version = project.kind == "distribution" and _VERSION.fullmatch(self.new_since)
        name = f"{project.source.partition('==')[0]}=={self.new_since}" if version else self.new_since
        try:
            folder = Path(folders.open(parse_source(name)).path)
        except DataError as error:
            hint = "" if version else "; a bare version needs a project NAME==VERSION, else give a source"
            raise DataError(f"--new-since {self.new_since}: {error}{hint}") from None
        return replace(self, earlier=EarlierRelease.of_folder(folder, store))

    def miner(self, analysis: ProjectAnalysis) -> CodevMiner:
        """Return the miner of a project."""
        return CodevMiner(analysis, self.sampling, earlier=self.earlier, added_tests=self.added_tests)

    def tasks(self, accepted: Iterable[Problem], store: SnapshotStore) -> Iterator[Problem]:
        """Yield the problems of all scenarios."""
        yield from scenario_problems(accepted, self.sampling.weights, store)


def codev_options(values: Mapping[str, Any]) -> CodevOptions:
    """Return the options of a build from the values of :data:`OPTIONS`.

    Raises:
        ValueError: a value is wrong.
        DataError: the file of weights is missing or malformed.
    """
    weights = read_weights(values["weights"])
    for table in ("block", "scenario", "cut"):
        if not sum(getattr(weights, table).model_dump().values()):
            raise DataError(f"{values['weights']}: has no table [{table}]; --weights even or usage has one")
    sampling = SpanSampling(values["max_candidates"] or None, values["per_file"], weights, values["seed"])
    tests = values["tests"]
    return CodevOptions(
        sampling=sampling,
        added_tests=tests.resolve().name if tests is not None else "",
        new_since=values["new_since"] or "",
        **common_values(values),
    )
