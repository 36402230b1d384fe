"""SimCopilot: infill and completion inside real programs, stratified by construct and distance."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.extraction.policies import policy
from caretbench.files import DataError
from caretbench.languages import language
from caretbench.metrics.code_statistics import problem_statistics
from caretbench.metrics.similarity import similarities
from caretbench.problem import Caret, FileSplice, Problem, Profile
from caretbench.profiles import ProfileRule, ProfileRules
from caretbench.progress import Progress
from caretbench.projects.analyses import analysis_of
from caretbench.projects.running import file_splice, take_projects, workspace_request
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.build_models import BuildModels
from caretbench.suites.simcopilot import build, starter
from caretbench.suites.simcopilot.build_types import build_result
from caretbench.suites.simcopilot.contexts import CONTEXTS, VERSION, context_of
from caretbench.suites.simcopilot.folder import TaskFolder
from caretbench.suites.simcopilot.released import spans as released
from caretbench.suites.simcopilot.released.paper import paper
from caretbench.suites.simcopilot.released.tables import tables
from caretbench.suites.simcopilot.wellformed import fault_of
from caretbench.suites.values import BuildResult, Measurement, PaperTable, ProblemSet, Stratification, Table
from caretbench.validation.workspace_gate import WorkspaceGate

_MODES = {"completion": "suffix_hidden"}


class SimCopilotProfile(ProfileRules):
    """The rules of SimCopilot's profiles."""

    policy = ProfileRule("Truncation policy where none is named", paper="simcopilot/repair", default="block")


@register
class SimCopilot(Suite):
    """SimCopilot: blocks of a project, decided by its tests; see :class:`caretbench.suites.base.Suite`."""

    name = "simcopilot"
    title = "SimCopilot"
    about = "infill and completion inside real programs, stratified by construct and distance"
    strata = ("language", "mode", "constructs", "block", "project")
    stratification = Stratification(
        labels=(
            "language", "mode", "constructs", "structure", "block",
            "reference_distance", "reference_distance@paper", "reaching_distance", "files_crossed",
            "comment_distance", "comment_distance@paper", "comment_distance_any",
            "cyclomatic", "block_lines",
        ),
        crossed=(
            ("language", "mode"),
            ("language", "mode", "constructs"),
            ("language", "mode", "reference_distance"),
            ("language", "mode", "comment_distance"),
            ("language", "mode", "reference_distance@paper"),
            ("language", "mode", "comment_distance@paper"),
            ("constructs", "reference_distance"),
            ("reference_distance", "comment_distance"),
            ("mode", "files_crossed"),
            ("mode", "cyclomatic"),
            ("mode", "block_lines"),
        ),
        bounds={
            "reference_distance": {name: rules.range_bounds for name, rules in paper().languages.items()},
            "comment_distance": {"*": (paper().comments.bound,)},
            "comment_distance_any": {"*": (paper().comments.bound,)},
        },
        main=("language", "mode"),
        heat_maps=(("language", "mode", "constructs"), ("constructs", "reference_distance")),
        printed_intervals=True,
        paper_tables=(
            PaperTable("Overall (the paper's Table 2, in form)", ("language", "mode")),
            PaperTable(
                "By distance to the furthest referenced object (Table 3, in form)",
                ("language", "mode", "reference_distance@paper"), models_across=True,
            ),
            PaperTable(
                "By distance to the nearest comment (Table 4, in form)",
                ("language", "mode", "comment_distance@paper"), models_across=True,
            ),
            PaperTable("By construct (Tables 5 to 7, in form)", ("language", "mode", "constructs")),
        ),
    )  # fmt: skip

    build_about = "the tasks: the folder of a project with tests (it is not changed)"
    build_options = build.OPTIONS

    profile_rules = SimCopilotProfile

    contexts = MappingProxyType(dict.fromkeys(CONTEXTS, VERSION))

    def load(self, source: str) -> ProblemSet:
        """``starter``, or the folder that ``caretbench build simcopilot`` wrote.

        The projects are taken into the user's cache.
        """
        if source == "starter":
            return ProblemSet.of("starter", starter.load())
        root = Path(source)
        if not root.is_dir():
            raise DataError(
                f"{source}: no such folder; say starter, or give the folder of mined tasks with --data"
            )
        if released.is_released(root) and not (root / "problems.jsonl").exists():
            raise DataError(
                f"{source}: released spans, which are no problems by themselves; "
                f"`caretbench list {self.name} --tables --data {source}` counts them"
            )
        folder = TaskFolder(root)
        problems = folder.problems()
        projects = dict.fromkeys(file_splice(problem).snapshot for problem in problems)
        take_projects((identity, folder.snapshot_path(identity)) for identity in projects)
        return ProblemSet.of(root.resolve().name, problems)

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        **_models: BuildModels,
    ) -> BuildResult:
        """Build completion tasks from a project with tests.

        Blocks are cut out of the project's files, and its own tests check the answers. In every task the reference
        passes and a wrong answer that parses fails. Run the same command again to resume.

        Examples:
          caretbench build simcopilot ~/code/project --setup auto -o tasks
          caretbench build simcopilot ~/code/project --test-command "pytest -q" --max-candidates 50 -o tasks
        """
        started = time.monotonic()
        built = build.build(sources, output, options, progress)
        wall_s = time.monotonic() - started
        return build_result(built, output, wall_s, candidates_only=options["candidates_only"])

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return the paper's tables about the released spans and labels."""
        return tables(released.load(Path(source)))

    def request(self, problem: Problem, text: str | None, profile: Profile) -> WorkspaceRequest | None:
        """Return the project's tests, with ``text`` in its place."""
        del profile  # the released code has no other rule that could be kept here
        return None if text is None else workspace_request(problem, text)

    def in_context(self, problem: Problem, context: str) -> Caret:
        """What is shown of a problem and of its project; the project is analysed once."""
        splice = file_splice(problem)
        analysis = analysis_of(splice.snapshot, holding=splice.path)
        if splice.path not in analysis.files:
            raise DataError(
                f"{problem.id}: {splice.path} cannot be analysed, so no context can be found for it"
            )
        return context_of(context, problem, analysis).caret

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> WorkspaceGate:
        """Return the gate for tests in projects."""
        return WorkspaceGate(executor().projects, policy(self.rules("default").policy), progress=progress)

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Similarity to the reference, and what the parser finds wrong with the file that holds the answer."""
        del profile
        [likeness] = similarities([(text, problem.reference)])
        measured = [Measurement("similarity@1", likeness._asdict())]
        if text is not None and isinstance(problem.splice, FileSplice):
            fault = fault_of(problem, text)
            measured.append(Measurement("syntax@1", {"parses": float(not fault)}, {"fault": fault}))
        return measured

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Lines, tokens and cyclomatic complexity of what is shown and of the reference."""
        del profile
        caret = problem.caret
        sizes = problem_statistics(caret.prefix, problem.reference, caret.suffix, "", caret.language)
        return sizes._asdict()

    def canonical_label(self, name: str, value: str) -> str:
        """``py`` is python; the paper's word ``completion`` is the mode ``suffix_hidden``."""
        if name == "language":
            return language(value).name
        return _MODES.get(value, value) if name == "mode" else value
