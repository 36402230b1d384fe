"""Options of a SimCopilot build, and the miner that they describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from pydantic import JsonValue

from caretbench.build.project_tasks.block_miner import BlockMiner, DrawnProblems, ProjectOptions, TaskOrigin
from caretbench.build.project_tasks.build_options import TASKS_GROUP, common_values, project_build_options
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.options import Option
from caretbench.suites.simcopilot.build.mining.tasks import MODES, MinedCandidates, ProjectMiner, TaskSampling
from caretbench.syntax import ProjectAnalysis

_PER_1000: Final = 30
"""Default number of candidates for each 1,000 lines that the tests reach."""

OPTIONS: Final = project_build_options(
    Option("modes", str, "Kinds of tasks: infill, suffix_hidden, or both.", "build", default="infill,suffix_hidden",
           help_group=TASKS_GROUP),
    Option("max_candidates", int, "Maximum number of candidates of each test command; 0: all. Default: 240, or 30 per "
           "1,000 covered lines if that is more.", "build", minimum=0, metavar="N", help_group=TASKS_GROUP),
    Option("limit", int, "", "build", field="max_candidates", minimum=0, replacement="--max-candidates"),
)  # fmt: skip
"""Options of ``caretbench build simcopilot``."""


class SimCopilotMiner(BlockMiner):
    """Miner of the paper's blocks, sampled evenly over modes, kinds and references."""

    def __init__(self, analysis: ProjectAnalysis, sampling: TaskSampling) -> None:
        self._miner = ProjectMiner(analysis)
        self._sampling = sampling
        self._found = MinedCandidates({}, Counter())

    def find(self, paths: Collection[str]) -> Counter[str]:
        """Find the candidates in some files; return the number of rejected blocks by rule."""
        self._found = self._miner.find_candidates(paths)
        return self._found.rejected

    def candidate_count(self, paths: Collection[str]) -> int:
        """Return the number of candidates in some files."""
        return sum(len(self._found.candidates[path]) for path in paths)

    def draw(
        self, paths: Collection[str], origin: TaskOrigin, reach: StatementReach, limit: int | None, reached_lines: int
    ) -> DrawnProblems:
        """Return the problems made of a sample of the candidates that the tests of one check reach."""
        part = self._miner.without_unreached(self._found, paths, reach.reaches)
        sampling = self._sampling.for_check(limit, reached_lines)
        chosen = self._miner.sample_candidates(part, sampling, paths)
        rejected = Counter(
            not_reached=part.rejected["not_reached"] - self._found.rejected["not_reached"],
            not_drawn=sum(len(part.candidates[path]) for path in paths) - len(chosen),
        )
        return DrawnProblems(tuple(self._miner.make_problems(chosen, origin)), rejected)


@dataclass(frozen=True, kw_only=True)
class SimCopilotOptions(ProjectOptions):
    """Options of a SimCopilot build."""

    suite: ClassVar[str] = "simcopilot"
    verdict_label: ClassVar[str] = "mode"

    sampling: TaskSampling = field(default_factory=TaskSampling)

    @property
    def seed(self) -> int:
        """Random seed of the choice of candidates."""
        return self.sampling.seed

    def own_options(self) -> dict[str, JsonValue]:
        """Return the suite's own options as they are stored in the manifest."""
        return {
            "modes": list(self.sampling.modes),
            "limit": self.sampling.limit,
            "per_file": self.sampling.per_file,
            **({"per_1000": self.sampling.per_1000_lines} if self.sampling.per_1000_lines else {}),
        }

    def miner(self, analysis: ProjectAnalysis) -> SimCopilotMiner:
        """Return the miner of a project."""
        return SimCopilotMiner(analysis, self.sampling)


def simcopilot_options(values: Mapping[str, Any]) -> SimCopilotOptions:
    """Return the options of a build from the values of :data:`OPTIONS`.

    Raises:
        ValueError: a value is wrong.
    """
    named = [mode.strip() for mode in values["modes"].split(",")]
    unknown = next((mode for mode in named if mode not in MODES), None)
    if unknown is not None:
        raise ValueError(f"--modes {unknown!r}: expected {', '.join(MODES)}")
    limit = values["max_candidates"]
    sampling = TaskSampling(
        tuple(mode for mode in MODES if mode in named),
        TaskSampling.limit if limit is None else limit or None,
        values["per_file"],
        values["seed"],
        _PER_1000 if limit is None else 0,
    )
    return SimCopilotOptions(sampling=sampling, **common_values(values))
