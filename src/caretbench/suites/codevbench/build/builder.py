"""Builder of Codev-Bench: options, and problems of all scenarios from validated candidates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import JsonValue

from caretbench.build import register_builder
from caretbench.build.build_models import BuildJob
from caretbench.build.builder import Builder
from caretbench.build.project_tasks.block_miner import TASKS_GROUP, ProjectOptions, common_values, project_build_options
from caretbench.build.project_tasks.build import build_projects
from caretbench.build.project_tasks.setup_agent import AGENT_PURPOSE, AGENT_ROLE
from caretbench.build.project_tasks.tester.project_tester import TESTER_PURPOSE, TESTER_ROLE
from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.build.sources.fetching.source_spec import SOURCE_ABOUT, parse_source
from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.errors import DataError
from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.extraction.policies import get_policy
from caretbench.files import sha256_text
from caretbench.options import Option
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice
from caretbench.projects.file_spans import visible_text
from caretbench.projects.project import snapshot_scopes
from caretbench.suites.codevbench.build.earlier_release import EarlierRelease
from caretbench.suites.codevbench.build.miner import CodevMiner, SpanSampling, becomes_problem
from caretbench.suites.codevbench.scenario_names import FULL_BLOCK, INCOMPLETE_SUFFIX, INNER_BLOCK, RAG
from caretbench.suites.codevbench.similar_functions import enclosing_function, similar_functions
from caretbench.suites.codevbench.tables.result_tables import data_tables
from caretbench.suites.suite_types import BuildResult, Table
from caretbench.suites.usage_weights import SHIPPED, Weights, read_weights
from caretbench.syntax import ProjectScopes
from caretbench.syntax.analysis import ProjectAnalysis


def scenario_problems(candidates: Iterable[Problem], weights: Weights, store: SnapshotStore) -> Iterator[Problem]:
    """Yield the problems of all scenarios, those of one candidate together.

    Inner blocks are problems by themselves. A whole block gives one of scenario 1, two of scenario 3, and one of
    scenario 4, as far as the weights want them. Blocks that begin at the same byte give the same prompt in scenario 3:
    the first of them is taken; and without the rest of its function, a block at the beginning of a body has the prompt
    of the whole body in scenario 1.
    """
    accepted = list(candidates)
    bodies = {_place(problem) for problem in accepted if problem.label("block") == "method"}
    begun: set[tuple[str, int, str]] = set()
    for problem in accepted:
        if problem.label("scenario") == INNER_BLOCK:
            yield problem
            continue
        splice = file_splice(problem)
        scopes = snapshot_scopes(splice.snapshot, store, required_file=splice.path)
        for scenario, made in _scenarios(problem, scopes):
            draw = int(sha256_text(problem.id, scenario)[:12], 16) / 16**12
            place = (*_place(made), made.label("cut"))
            is_body = _place(made) in bodies and made.label("block") != "method"
            if place in begun or (made.label("cut") == "function_emptied" and is_body):
                continue  # the same prompt has another right answer
            if not becomes_problem(weights, scenario, draw):
                continue
            if scenario == INCOMPLETE_SUFFIX:
                begun.add(place)
            yield made


def _place(problem: Problem) -> tuple[str, int]:
    splice = file_splice(problem)
    return splice.path, splice.start


def _scenarios(problem: Problem, scopes: ProjectScopes) -> Iterator[tuple[str, Problem]]:
    yield FULL_BLOCK, problem
    splice = file_splice(problem)
    function = enclosing_function(scopes, splice.path, (splice.start, splice.end))
    rest = visible_text(scopes[splice.path].source.data[function.end :])
    whole = problem.caret.suffix
    if whole.strip():
        yield INCOMPLETE_SUFFIX, _shown(problem, INCOMPLETE_SUFFIX, "file_emptied", suffix="")
    if rest.strip() and rest.strip() != whole.strip():
        yield INCOMPLETE_SUFFIX, _shown(problem, INCOMPLETE_SUFFIX, "function_emptied", suffix=rest)
    similar = similar_functions(problem, scopes)
    if similar:
        yield RAG, _shown(problem, RAG, "block", context=similar, repository=problem.label("project"))


def _shown(problem: Problem, scenario: str, cut: str, **changes: object) -> Problem:
    """Return a problem in another scenario, with changes of what is shown."""
    stem = problem.id.rpartition(":")[0]
    return problem.model_copy(
        update={
            "id": f"{stem}:{scenario}.{problem.label('block')}.{cut}",
            "shown": problem.caret.model_copy(update=changes),
            "labels": {**problem.labels, "scenario": scenario, "cut": cut},
        }
    )


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

    def missing(self, tasks: Iterable[Problem]) -> Iterator[str]:
        """Yield the kinds of block and scenarios with a share in the weights, and without a problem."""
        covered = {(name, problem.label(name)) for problem in tasks for name in ("block", "scenario")}
        for name in ("block", "scenario"):
            shares: dict[str, float] = getattr(self.sampling.weights, name).model_dump(by_alias=True)
            absent = [value for value, share in shares.items() if share > 0 and (name, value) not in covered]
            if absent:
                yield f"--weights {self.sampling.weights.name}: no problem of {name} {', '.join(absent)}"


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


@register_builder
class CodevBenchBuilder(Builder):
    """Builder of Codev-Bench; see :class:`caretbench.build.builder.Builder`."""

    name = "codevbench"
    about = f"the problems, a project with tests: {SOURCE_ABOUT} (it is not changed)"
    options = OPTIONS
    roles: ClassVar[Mapping[str, str]] = {AGENT_ROLE: AGENT_PURPOSE, TESTER_ROLE: TESTER_PURPOSE}

    def build(self, job: BuildJob) -> BuildResult:
        """Make problems from projects with tests.

        The tests run once with a record of what they execute. A sample of the executed blocks is drawn by --weights,
        and each is masked: deleted or replaced by `pass`, and a method also with a throw at its start. All tests that
        reach a block decide about the answers, within --test-budget. A block is kept if the original passes, and every
        mask and a wrong answer that parses fail; it gives problems of several scenarios. Run the same command again to
        resume an interrupted build.

        Each of several projects is built into its own folder, and ends as problems or as a row with its reason. With
        -m tester=SPEC a model writes tests for functions that no test reaches; those that pass examination stay.

        Examples:
          caretbench build codevbench ~/code/project --setup auto -o dev
          caretbench build codevbench toolz==1.2.0 natsort==8.4.0 --setup auto -o dev
        """
        return build_projects(job, codev_options(job.options))

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return the number of problems by repository, scenario and class of blocks, as the paper's Table 2."""
        return data_tables(self.suite.load(source).problems)

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> WorkspaceGate:
        """Return the gate for problems that tests of a project check."""
        chosen = get_policy(self.suite.rules("default").policy)
        return WorkspaceGate(executor().projects, chosen, mutates_values=CodevOptions.mutates_values, progress=progress)
