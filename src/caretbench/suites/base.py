"""Base class of all suites: the hooks and their defaults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from caretbench.errors import UsageError
from caretbench.execution.execution_types import CONTEST, ExecutionRequest
from caretbench.execution.scan.program_text import answer_lines
from caretbench.judging.answers import plain_answer
from caretbench.judging.controls import default_controls, instruction_controls
from caretbench.judging.criteria import AnswerForm
from caretbench.problem import Caret, CasesCheck, Completion, InlineSplice, Problem, Profile, ProgramCheck, Question
from caretbench.profiles import ProfileRules
from caretbench.projects.answer_requests import workspace_request
from caretbench.suites.answer_kinds import caret_place, measured_kinds
from caretbench.suites.baselines import BASELINES, BaselineFunction
from caretbench.suites.completion_files import read_completions
from caretbench.suites.score_formulas import ScoreFormula
from caretbench.suites.suite_types import (
    DEFAULT_STRATIFICATION,
    Headline,
    Measurement,
    ProblemSet,
    Reduction,
    Stratification,
    SuiteChart,
    Table,
)
from caretbench.suites.validity import GATE_VERSION

if TYPE_CHECKING:
    import polars as pl

    from caretbench.execution.dispatcher import AnyRequest  # 75 modules of the engine, for a type


class Suite(ABC):
    """One kind of benchmark. Instances are stateless.

    A subclass must define ``name``, ``title``, ``about``, ``strata`` and :meth:`load`. Every other hook has a default.
    ``@register`` registers it; another package declares it as an entry point of the group ``caretbench.suites``. What
    only building needs is in a :class:`caretbench.build.builder.Builder`.
    """

    name: ClassVar[str]
    """Identifier on the command line, in run folders and in problems."""
    title: ClassVar[str]
    """Printed name."""
    about: ClassVar[str]
    """One-line description."""
    needs: ClassVar[str] = ""
    """Requirements of a run other than a model, in a few words."""
    cpu_minutes: ClassVar[float | None] = None
    """CPU minutes of 100 problems for one model and the baselines, without the model; None: not measured."""
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

    typed_references: ClassVar[bool] = False
    """True if people typed the references of released data and projects, so that ``--typing`` measures something."""

    gate_version: ClassVar[int] = GATE_VERSION
    """Version of the suite's gate."""
    reduction_scorer: ClassVar[str] = ""
    """Name and version of the scorer of reduced answers; empty if no answer is reduced."""
    reduction_values: ClassVar[tuple[str, ...]] = ()
    """Names of its values."""

    published_folder: ClassVar[Traversable | None] = None
    """Folder with numbers printed in a paper: ``NAME.csv`` and ``names.toml``, in the format of
    ``reports/published/``, which is the default."""

    further_data: ClassVar[str] = ""
    """Option or command that gives more problems than the starter set; empty if there is none."""

    score_formula: ClassVar[ScoreFormula | None] = None
    """Score formula of the paper, for ``caretbench formula``; None if it has none."""

    def rules(self, profile: Profile) -> ProfileRules:
        """Return the scoring rules of a profile."""
        return self.profile_rules(profile)

    # --- problems ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def load(self, source: str) -> ProblemSet:
        """Return the problems of a source: ``starter``, ``released`` (fetched by ``caretbench pull``), or a path.

        Raises:
            DataError: a file is missing or malformed; the message has file and line.
        """

    def canonical_label(self, name: str, value: str) -> str:
        """Return the suite's spelling of a label's value, from any common spelling (``C#`` → ``csharp``)."""
        return value

    def caret_in_context(self, problem: Problem, context: str) -> Caret:
        """Return the caret of a problem with more of its project, by a strategy of :attr:`contexts`.

        The hidden text of the problem must not be in it.

        Raises:
            DataError: the problem's project is not on this machine.
        """
        raise UsageError(f"context {context!r}: {self.name} shows its problems in one way only")

    def question_without_text(self, problem: Problem) -> Question | None:
        """Return a question without the text that it is about, for ``--blind``; None if it is not asked so.

        Nothing is asked so by default.
        """
        return None

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

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> AnyRequest | None:
        """Return the execution request that checks an answer: a program, or the tests of a project.

        None if the answer fails without execution, or if the suite executes nothing.

        By default: the program with the answer inline, if a check is a :class:`ProgramCheck` or :class:`CasesCheck`, or
        the tests of a project with the answer in its file, if a check is a :class:`TestsCheck`.

        Raises:
            DataError: the problem's project is not on this machine.
        """
        if text is not None and any(check.kind == "tests" for check in problem.checks):
            return workspace_request(problem, text)
        checks = [check for check in problem.checks if isinstance(check, ProgramCheck | CasesCheck)]
        if text is None or not checks or not isinstance(problem.splice, InlineSplice):
            return None
        return ExecutionRequest(
            id=problem.id,
            language=problem.caret.language,
            source=problem.splice.program(text),
            profile=profile,
            needs=tuple(need for check in checks for need in check.needs),
            **case_fields(checks),
        )

    def request(
        self, problem: Problem, text: str | None, profile: Profile, variants: Mapping[str, str]
    ) -> AnyRequest | None:
        """Return the complete request that is submitted: :meth:`make_request` with build variant and answer lines.

        Args:
            problem: The problem.
            text: The inserted text; None is the empty text, unless the profile has another rule.
            profile: The profile.
            variants: Names of build variants by language.
        """
        rules = self.rules(profile)
        answer = "" if text is None and rules.null_is_empty else text
        request = self.make_request(problem, answer, profile)
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
        if not any(check.kind == "predicate" and check.counts for check in problem.checks):
            return []
        faults = self.failed_predicates(problem, text or "")
        return [Measurement("predicates@1", {"passed": float(not faults)}, {"missing": "; ".join(faults)})]

    def reduction(self, problem: Problem, text: str | None, profile: Profile) -> Reduction | None:
        """Return the reduction of an answer that passes; None (default) if nothing of its scores depends on one.

        Its scores are those of :attr:`reduction_scorer`.
        """
        return None

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
        return []

    def failed_predicates(self, problem: Problem, text: str) -> Sequence[str]:
        """Return a line for each predicate that an answer does not satisfy."""
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
        return ()

    def result_charts(
        self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
    ) -> tuple[SuiteChart, ...]:
        """Return the suite's own charts for the HTML report; arguments as in :meth:`result_tables`."""
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
        return ()

    def published_tables(self, results: Sequence[Table]) -> tuple[Table, ...]:
        """Return tables of a paper's printed numbers, for ``--published``, where they are about other problems.

        Nothing by default: numbers about the run's problems are compared cell by cell.

        Args:
            results: The run's tables of :meth:`result_tables`.
        """
        return ()


def case_fields(checks: Sequence[ProgramCheck | CasesCheck]) -> dict[str, Any]:
    """Return the fields of a request that runs the cases of a problem, if it has any."""
    check = next((check for check in checks if isinstance(check, CasesCheck)), None)
    return {} if check is None else {"variant": CONTEST, "cases": check.cases, "comparison": check.comparison}
