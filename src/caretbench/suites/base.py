"""Base class of all suites: the hooks and their defaults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from caretbench.execution.dispatcher import AnyRequest, Dispatcher
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.execution.scan.answer_position import answer_lines
from caretbench.extraction.policies import policy
from caretbench.judging.answers import plain_answer
from caretbench.judging.caret_controls import default_controls, instruction_controls
from caretbench.judging.criteria import AnswerForm
from caretbench.options import Option
from caretbench.problem import Caret, Completion, InlineSplice, Problem, Profile
from caretbench.profiles import ProfileRules
from caretbench.progress import Progress
from caretbench.suites.answer_kinds import caret_place, measured_kinds
from caretbench.suites.baselines import BASELINES, BaselineFunction
from caretbench.suites.build_models import NO_MODELS, BuildModels
from caretbench.suites.completion_files import read_completions
from caretbench.suites.score_formulas import ScoreFormula
from caretbench.suites.suite_types import (
    DEFAULT_STRATIFICATION,
    BuildResult,
    Headline,
    Measurement,
    ProblemGate,
    ProblemSet,
    Stratification,
    SuiteChart,
    Table,
)
from caretbench.validation.program_gate import ProgramGate

if TYPE_CHECKING:
    import polars as pl


class Suite(ABC):
    """One kind of benchmark. Instances are stateless.

    A subclass must define ``name``, ``title``, ``about``, ``strata``, :meth:`load` and :meth:`request`. Every other
    hook has a default. ``@register`` registers it; another package declares it as an entry point of the group
    ``caretbench.suites``.
    """

    name: ClassVar[str]
    """Identifier on the command line, in run folders and in problems."""
    title: ClassVar[str]
    """Printed name."""
    about: ClassVar[str]
    """One-line description."""
    strata: ClassVar[tuple[str, ...]]
    """Labels that break results down and that ``--select`` accepts; the main one first."""

    stratification: ClassVar[Stratification] = DEFAULT_STRATIFICATION
    """Breakdown of results in reports: tables by label, heat maps, the tables of a paper."""
    profile_rules: ClassVar[type[ProfileRules]] = ProfileRules
    """Scoring rules of the profiles ``paper`` and ``default``."""
    baselines: ClassVar[Mapping[str, BaselineFunction]] = BASELINES
    """Baselines by name; by default those for problems at a caret."""
    contexts: ClassVar[Mapping[str, int]] = {}
    """Values of ``--context`` with their versions; the first is the problems' own text. Empty: no choice.

    A change of the shown text needs a new version.
    """
    criteria_folder: ClassVar[Traversable | None] = None
    """Folder of additional criteria for judges, one TOML file each."""

    published_folder: ClassVar[Traversable | None] = None
    """Folder with numbers printed in a paper: ``NAME.csv`` and ``names.toml``, in the format of
    ``reports/published/``, which is the default."""

    score_formula: ClassVar[ScoreFormula | None] = None
    """Score formula of the paper, for ``caretbench formula``; None if it has none."""

    pull_about: ClassVar[str] = ""
    """Short description of the data that :meth:`pull` fetches; empty if there are none."""
    pull_name: ClassVar[str] = ""
    """Name of these data for ``caretbench pull``, in addition to the suite's."""
    pull_use: ClassVar[str] = "--data released"
    """Use of these data, printed after they are fetched."""
    build_about: ClassVar[str] = ""
    """Description of the problems made by ``caretbench build``, for its help; empty if the suite builds none."""
    build_options: ClassVar[tuple[Option, ...]] = ()
    """Options of ``caretbench build SUITE`` in addition to SOURCE and --output."""
    build_roles: ClassVar[Mapping[str, str]] = {}
    """Roles of models that :meth:`build` uses (names of ``runs/plans/roles.py``), with their purposes."""
    roles_with_several_models: ClassVar[frozenset[str]] = frozenset()
    """Roles of :attr:`build_roles` that may have several models."""
    remembers_models: ClassVar[bool] = False
    """True if a build that names no model uses those of the folder's last build."""

    def rules(self, profile: Profile) -> ProfileRules:
        """Return the scoring rules of a profile."""
        return self.profile_rules(profile)

    # --- problems ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def load(self, source: str) -> ProblemSet:
        """Return the problems of a source: ``starter``, ``released`` (fetched by :meth:`pull`), or a path.

        Raises:
            DataError: a file is missing or malformed; the message has file and line.
        """

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released data at a pinned revision into the cache and return their folder.

        Args:
            source: Local copy of the release; None: the network.
            models: Names of models whose recorded completions are fetched in addition.
            progress: Called with the number of files that are there now, and the total. What is missing at the end is
                optional.

        Raises:
            ValueError: the suite has no released data.
            DataError: a file differs from its pinned hash.
        """
        del source, models, progress
        raise ValueError(f"nothing to pull for {self.name!r}: it has no released data")

    def check_build_options(self, options: Mapping[str, Any]) -> None:
        """Raise an error if the value of a build's option is wrong; called before models and sources are opened.

        Raises:
            ValueError: a value is wrong.
            DataError: a file that an option names is malformed.
        """
        del options

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        *,
        models: BuildModels = NO_MODELS,
    ) -> BuildResult:
        """Make problems from the user's sources and write them to a folder that :meth:`load` reads.

        The same call resumes an interrupted build.

        Args:
            sources: Projects, clones or files from which problems are made.
            output: The folder.
            options: Values of :attr:`build_options` by name; None for an option without a value.
            progress: Receives steps and notes.
            models: Models for :attr:`build_roles`; passed only to suites with such roles.

        Raises:
            ValueError: the suite builds none, an option is wrong, or a model is missing.
            DataError: a source cannot be used, or the folder contains something else.
            AnswersMissingError: a model did not answer.
        """
        del sources, output, options, progress, models
        raise ValueError(f"{self.title} builds no problems of its own")

    def canonical_label(self, name: str, value: str) -> str:
        """Return the suite's spelling of a label's value, from any common spelling (``C#`` → ``csharp``)."""
        del name
        return value

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Return sizes of one problem by name, such as lines, tokens and complexity; reports average them."""
        del problem, profile
        return {}

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return tables about the data, for ``caretbench list --tables``; nothing is executed.

        Raises:
            ValueError: the suite has none.
            DataError: the data are missing or malformed.
        """
        del source
        raise ValueError(f"--tables: {self.title} has no tables about its data; see --statistics")

    def caret_in_context(self, problem: Problem, context: str) -> Caret:
        """Return the caret of a problem with more of its project, by a strategy of :attr:`contexts`.

        The hidden text of the problem must not be in it.

        Raises:
            DataError: the problem's project is not on this machine.
        """
        del problem
        raise ValueError(f"context {context!r}: {self.name} shows its problems in one way only")

    # --- answers ----------------------------------------------------------------------------------------------------

    def recorded_completions(
        self,
        path: Path,
        problems: Mapping[str, Problem],
        models: Sequence[str],
        on_skipped: Callable[[str], None] = lambda _problem_id: None,
    ) -> Iterator[Completion]:
        """Yield the completions recorded under ``path`` for the problems, by the listed models (all if empty).

        ``on_skipped`` is called with the problem id of every row whose problem is not in ``problems``.

        Raises:
            DataError: a row is malformed; the message has file and line.
        """
        return read_completions(path, problems, models, on_skipped)

    @abstractmethod
    def request(self, problem: Problem, text: str | None, profile: Profile) -> AnyRequest | None:
        """Return the execution request that checks an answer: a program, or the tests of a project.

        None if the answer fails without execution, or if the suite executes nothing.

        Raises:
            DataError: the problem's project is not on this machine.
        """

    def submitted_request(
        self, problem: Problem, text: str | None, profile: Profile, variants: Mapping[str, str]
    ) -> AnyRequest | None:
        """Return the complete request that is submitted: :meth:`request` with build variant and answer lines.

        Args:
            problem: The problem.
            text: The inserted text; None is the empty text, unless the profile has another rule.
            profile: The profile.
            variants: Names of build variants by language.
        """
        rules = self.rules(profile)
        answer = "" if text is None and rules.null_is_empty else text
        request = self.request(problem, answer, profile)
        if not isinstance(request, ExecutionRequest):
            return request
        update: dict[str, object] = {"variant": request.variant or variants.get(request.language)}
        splice = problem.splice
        if rules.sentinel and isinstance(splice, InlineSplice):
            update["answer_lines"] = answer_lines(splice.before, answer or "", request.language)
        return request.model_copy(update=update)

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return scores that need no execution; a value ``passed`` counts as a check.

        By default: the result of the problem's predicates, if it has any.
        """
        del profile
        if not any(check.kind == "predicate" and check.counts for check in problem.checks):
            return []
        faults = self.failed_predicates(problem, text or "")
        return [Measurement("predicates@1", {"passed": float(not faults)}, {"missing": "; ".join(faults)})]

    def measure_error_kinds(self, problem: Problem, text: str | None) -> list[Measurement]:
        """Return the error kinds of an inserted text, 1 or 0 for each; none of them counts as a check.

        By default: those at a caret, in the whole program or file; nothing for answers to questions.
        """
        place = caret_place(problem)
        return [] if place is None else [measured_kinds(text or "", problem.reference, place)]

    def measure_raw(self, problem: Problem, raw: str) -> list[Measurement]:
        """Return scores of a model's raw text, before truncation; none of them counts as a check.

        Nothing by default.
        """
        del problem, raw
        return []

    def failed_predicates(self, problem: Problem, text: str) -> Sequence[str]:
        """Return a line for each predicate that an answer does not satisfy."""
        del problem, text
        return ()

    def judged_text(self, problem: Problem, text: str, profile: Profile) -> str:
        """Return the part of an answer to a question that a judge sees; empty if the answer has no content.

        By default: the whole answer under ``paper``, else the answer without the reasoning before it.
        """
        return plain_answer(problem, text, profile)

    def caret_controls(self, problems: Sequence[Problem], form: AnswerForm) -> dict[str, dict[str, str]]:
        """Return the texts of a judge's controls at carets, by problem and name.

        By default: for a decision about an instruction the reference (yes), and as a no the right answer to another
        instruction at the same caret, which fails the predicates of the problem if it has any, and the empty answer.
        For other criteria the reference, once and twice, another problem's reference, and the empty answer.

        Args:
            problems: All problems of the run that the criterion is about.
            form: Form of the criterion's answers.
        """
        if form != "decision":
            return default_controls(problems, form)

        def is_followed(problem: Problem, text: str) -> bool:
            return self.decides(problem) and not self.failed_predicates(problem, text)

        return instruction_controls(problems, is_followed)

    @staticmethod
    def decides(problem: Problem) -> bool:
        """Return whether predicates decide about answers to a problem, so that a judge can be compared with them."""
        return any(check.kind == "predicate" for check in problem.checks)

    def result_tables(self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
        """Return the suite's own result tables, in addition to pass rates by label.

        Args:
            results: One row per completion, policy and profile: the report's columns, all measured values, all
                judged values (null if not judged), ``model_title``, the model's name, with its settings where it was
                asked in several ways, ``instruction``, the mode of ``--instruction``, and ``prompt``, the key of the
                prompt strategy (both null if it was not asked).
            problems: The run's problems by id.
            seed: Seed of bootstrap intervals.
        """
        del results, problems, seed
        return ()

    def result_charts(
        self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
    ) -> tuple[SuiteChart, ...]:
        """Return the suite's own charts for the HTML report; arguments as in :meth:`result_tables`."""
        del results, problems, seed
        return ()

    def headline_results(self, results: pl.DataFrame) -> tuple[pl.DataFrame, Mapping[str, Headline]]:
        """Return the results with columns of 0 and 1 by which a report ranks models, and the titles of these columns.

        No column by default: models are ranked by pass@1. The first argument is that of :meth:`result_tables`.
        """
        return results, {}

    def missing_score(self, results: pl.DataFrame, problems: Mapping[str, Problem]) -> Sequence[str]:
        """Return the reasons why the suite's own score is not known, each with the command that gives it.

        Nothing by default; arguments as in :meth:`result_tables`.
        """
        del results, problems
        return ()

    def published_tables(self, results: Sequence[Table]) -> tuple[Table, ...]:
        """Return tables of a paper's printed numbers, for ``--published``, where they are about other problems.

        Nothing by default: numbers about the run's problems are compared cell by cell.

        Args:
            results: The run's tables of :meth:`result_tables`.
        """
        del results
        return ()

    # --- validity ---------------------------------------------------------------------------------------------------

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> ProblemGate:
        """Return the gate that validates problems; by default the one for programs.

        A suite whose answers are checked by tests of projects, or without execution, needs its own gate.

        Args:
            executor: Opens the executor of programs and projects.
            progress: Called with the number of newly decided problems.
        """

        def program(problem: Problem, text: str) -> ExecutionRequest | None:
            request = self.submitted_request(problem, text, "default", {})
            if not (isinstance(problem.shown, Caret) and isinstance(request, ExecutionRequest | None)):
                raise ValueError(  # noqa: TRY004  an error of the suite, reported in one line
                    f"{problem.id}: it is not checked by a program; the suite {self.name} needs its own gate"
                )
            return request

        found = policy(self.rules("default").policy)
        return ProgramGate(executor().programs, found, program, self.failed_predicates, progress)
