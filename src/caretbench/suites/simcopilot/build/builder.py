"""Builder of SimCopilot: tasks from projects with tests, their options, and the released data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, cast

from pydantic import JsonValue

from caretbench.build import register_builder
from caretbench.build.build_models import BuildJob
from caretbench.build.builder import Builder
from caretbench.build.project_tasks.block_miner import (
    TASKS_GROUP,
    BlockMiner,
    DrawnProblems,
    ProjectOptions,
    TaskOrigin,
    common_values,
    project_build_options,
)
from caretbench.build.project_tasks.build import build_projects
from caretbench.build.project_tasks.setup_agent import AGENT_PURPOSE, AGENT_ROLE
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.sources.fetching.source_spec import SOURCE_ABOUT
from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.errors import DataError, UsageError
from caretbench.execution.dispatcher import Dispatcher
from caretbench.extraction.policies import get_policy
from caretbench.languages import get_language
from caretbench.metrics.binning import bin_index, bin_title
from caretbench.options import Option
from caretbench.problem import Label
from caretbench.suites.simcopilot.build.tasks import MODES, MinedCandidates, ProjectMiner, TaskSampling
from caretbench.suites.simcopilot.released import spans as released
from caretbench.suites.simcopilot.released.released_problems import released_labels, split_variant
from caretbench.suites.simcopilot.released.spans import (
    ReleasedProgram,
    ReleasedSpan,
    released_files,
    released_folder,
    released_path,
)
from caretbench.suites.simcopilot.rules import Mode, paper_rules
from caretbench.suites.suite_types import BuildResult, Table
from caretbench.syntax.analysis import ProjectAnalysis

LabelledSpan = tuple[ReleasedSpan, dict[str, Label]]
TaskSet = tuple[str, Mode, list[LabelledSpan]]
"""Language, mode, and the tasks with both."""


def released_tables(programs: Sequence[ReleasedProgram]) -> tuple[Table, ...]:
    """Return all tables that the data allow.

    Constructs and distances need the labels, and distances to comments the texts of all programs too.
    """
    sets = list(_sets(programs))
    tables = [_spans(sets, programs)]
    if any(program.references for program in programs):
        tables += [_constructs(sets), _ranges(sets)]
    if len(tables) > 1 and all(program.source is not None for program in programs):
        tables.append(_comments(sets))
    return tuple(tables)


def _sets(programs: Sequence[ReleasedProgram]) -> Iterator[TaskSet]:
    for name in paper_rules().languages:
        for mode in paper_rules().modes:
            tasks = [
                (span, released_labels(program, span))
                for program in programs
                if program.language == name
                for span in program.spans
                if span.mode == mode
            ]
            if tasks:
                yield name, mode, tasks


def _title(name: str, mode: Mode) -> str:
    return f"{get_language(name).title} {paper_rules().modes[mode].title}"


def _spans(sets: Sequence[TaskSet], programs: Sequence[ReleasedProgram]) -> Table:
    lines = {program.name: program.lines for program in programs}
    rows = [
        (
            _title(name, mode),
            str(len(held := {span.program for span, _ in tasks})),
            f"{sum(lines[program] for program in held) / len(held):.1f}",
            str(len(tasks)),
            f"{sum(span.end - span.start + 1 for span, _ in tasks) / len(tasks):.2f}",
            str(sum(span.end == span.start for span, _ in tasks)),
        )
        for name, mode, tasks in sets
    ]
    there = sum(program.source is not None for program in programs)
    without = "" if there == len(programs) else "; distances to comments need all of them"
    title = f"Tasks (the text of {there} of {len(programs)} programs is here{without})"
    return Table(
        "tasks", title, ("", "Programs", "Their lines, mean", "Tasks", "Lines, mean", "Of one line"), tuple(rows)
    )


def _constructs(sets: Sequence[TaskSet]) -> Table:
    constructs = paper_rules().constructs
    rows = []
    for name, mode, tasks in sets:
        held = Counter(construct for _, labels in tasks for construct in cast("list[str]", labels["constructs"]))
        rows.append((_title(name, mode), *(str(held[construct] or "-") for construct in constructs)))
    heads = ("", *(construct.title for construct in constructs.values()))
    title = "Tasks by construct (the paper's Table 1; a task may count several times)"
    return Table("constructs", title, heads, tuple(rows))


def _binned(sets: Sequence[TaskSet], label: str, bounds_of: Callable[[str], Sequence[float]]) -> list[tuple[str, ...]]:
    rows = []
    for name, mode, tasks in sets:
        bounds = bounds_of(name)
        values = [value for _, labels in tasks if isinstance(value := labels.get(label), float)]
        parts = [bin_index(value, bounds) for value in values]
        counts = [str(parts.count(number)) for number in range(len(bounds) + 1)]
        cuts = ", ".join(bin_title(number, bounds) for number in range(len(bounds) + 1))
        rows.append((_title(name, mode), *counts, str(len(tasks) - len(values)), cuts))
    return rows


def _ranges(sets: Sequence[TaskSet]) -> Table:
    rows = _binned(sets, "reference_distance", lambda name: paper_rules().languages[name].range_bounds)
    heads = ("", "Short", "Medium", "Long", "Without", "Lines")
    title = "Tasks by distance to the furthest reference (the paper's bounds)"
    return Table("ranges", title, heads, tuple(rows))


def _comments(sets: Sequence[TaskSet]) -> Table:
    """Return the table of comment distances, of tasks with a counted reference, as in the paper."""
    counted = [
        (name, mode, [(span, labels) for span, labels in tasks if "reference_distance" in labels])
        for name, mode, tasks in sets
    ]
    rows = _binned(counted, "comment_distance", lambda _: (paper_rules().comments.bound,))
    heads = ("", "Short", "Long", "Without", "Lines")
    title = "Tasks by distance to the comment before (the paper's bound)"
    return Table("comments", title, heads, tuple(rows))


_PER_1000: Final = 30
"""Default number of candidates for each 1,000 lines that the tests reach."""

OPTIONS: Final = project_build_options(
    Option("modes", str, "Kinds of tasks: infill, suffix_hidden, or both.", "build", default="infill,suffix_hidden",
           help_group=TASKS_GROUP),
    Option("max_candidates", int, "Maximum number of candidates of each test command; 0: all. Default: 240, or 30 per "
           "1,000 covered lines if that is more.", "build", minimum=0, metavar="N", help_group=TASKS_GROUP),
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
        reached = self._miner.without_unreached(self._found, paths, reach.reaches)
        sampling = self._sampling.for_check(limit, reached_lines)
        self._miner.before = self.before
        chosen = self._miner.sample_candidates(reached, sampling, paths)
        rejected = Counter(
            not_reached=reached.rejected["not_reached"] - self._found.rejected["not_reached"],
            not_drawn=sum(len(reached.candidates[path]) for path in paths) - len(chosen),
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
        raise UsageError(f"--modes {unknown!r}: expected {', '.join(MODES)}")
    limit = values["max_candidates"]
    sampling = TaskSampling(
        tuple(mode for mode in MODES if mode in named),
        TaskSampling.limit if limit is None else limit or None,
        values["per_file"],
        values["seed"],
        _PER_1000 if limit is None else 0,
    )
    return SimCopilotOptions(sampling=sampling, **common_values(values))


@register_builder
class SimCopilotBuilder(Builder):
    """Builder of SimCopilot; see :class:`caretbench.build.builder.Builder`."""

    name = "simcopilot"
    pull_about = "the 15 released programs, their spans and labels"
    about = f"the tasks, a project with tests: {SOURCE_ABOUT} (it is not changed)"
    roles: ClassVar[Mapping[str, str]] = {AGENT_ROLE: AGENT_PURPOSE}
    options = OPTIONS

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released programs, spans and labels into the cache and return their folder.

        Files that are there are not fetched again; the others come from ``source``, a clone of the repository or a
        folder with clones of both, or from the network. ``progress`` is called with the number of files that are there
        now and the total; optional files may be missing.

        Raises:
            DataError: a file cannot be fetched, or differs from its pinned hash.
        """
        if models:
            raise UsageError(f"--model {models[0]}: the release contains no recorded completions")
        if source is not None and not source.is_dir():
            raise DataError(f"{source}: no such folder; --from names a folder with clones of the repositories")
        folder = released_path()
        files = pinned_files()
        progress(0, len(files))
        for entry in files:
            if not is_complete(entry.file, folder):
                if source is not None:
                    _copy(entry, source, folder)
                else:
                    _download(entry, folder)
            progress(int((folder / entry.file.path).is_file()), len(files))
        return folder

    def build(self, job: BuildJob) -> BuildResult:
        """Make tasks from projects with tests.

        Each task is a block that was cut out of a file; the project's own tests check the answers. They must pass
        three times on the unchanged project. A task is kept if the original block passes and a wrong answer that
        parses fails. Run the same command again to resume an interrupted build.

        Each of several projects is built into its own folder, and ends as tasks or as a row with its reason.

        Examples:
          caretbench build simcopilot ~/code/project --setup auto -o tasks
          caretbench build simcopilot toolz==1.2.0 natsort==8.4.0 --setup auto -o tasks
        """
        return build_projects(job, simcopilot_options(job.options))

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return the paper's tables about its data, from the released spans and labels."""
        name, _ = split_variant(source)
        return released_tables(released.load(released_folder() if name == "released" else Path(name)))

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> WorkspaceGate:
        """Return the gate for problems that tests of a project check."""
        return WorkspaceGate(executor().projects, get_policy(self.suite.rules("default").policy), progress=progress)


# --- download of the release ---------------------------------------------------------------------------------------


HOST: Final = "https://raw.githubusercontent.com"


class RepositoryFile(NamedTuple):
    """A pinned file and its repository, as ``OWNER/NAME`` and commit."""

    file: PinnedFile
    repository: str
    commit: str

    @property
    def is_optional(self) -> bool:
        """True for the two large inputs, which some copies of the repositories lack."""
        return bool(self.file.git_blob)

    @property
    def clone_name(self) -> str:
        """Name of the folder of a clone of the repository."""
        return self.repository.rpartition("/")[2]


@cache
def pinned_files() -> tuple[RepositoryFile, ...]:
    """Return the pinned files of both repositories; their paths do not collide."""
    files = (
        RepositoryFile(PinnedFile(path, **pin), *name.split("@"))
        for name, pins in released_files().items()
        for path, pin in pins.items()
    )
    return tuple(sorted(files, key=lambda entry: entry.is_optional))


def _copy(entry: RepositoryFile, source: Path, folder: Path) -> None:
    clone = source / entry.clone_name
    origin = clone if clone.is_dir() else source
    if not (origin / entry.file.path).is_file():
        if entry.is_optional:
            return
        clones = ", ".join(sorted({f"{file.clone_name} (commit {file.commit[:8]})" for file in pinned_files()}))
        raise DataError(
            f"{origin / entry.file.path}: not there. The release lies in two repositories: name a folder that contains "
            f"clones of both, {clones}. One clone alone can be read with --data instead of being pulled."
        )
    copy_file(entry.file, origin, folder)


def _download(entry: RepositoryFile, folder: Path) -> None:
    try:
        download_file(entry.file, f"{HOST}/{entry.repository}/{entry.commit}", folder)
    except DataError as error:
        if entry.is_optional:
            return
        raise DataError(
            f"{error}. Where GitHub is out of reach, bring clones of https://github.com/mj33rice/Sim-CoPilot and "
            "https://github.com/mj33rice/SimCoPilot in one folder, and name it with --from"
        ) from None
