"""Base class of all suites: every hook, with its default."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from caretbench.execution.dispatcher import AnyRequest, Dispatcher
from caretbench.execution.scan.answer_position import answer_lines
from caretbench.execution.types import ExecutionRequest
from caretbench.extraction.policies import policy
from caretbench.judging.answers import plain_answer
from caretbench.options import Option
from caretbench.problem import Caret, Completion, InlineSplice, Problem, Profile
from caretbench.profiles import ProfileRules
from caretbench.progress import Progress
from caretbench.suites.baselines import BASELINES, Writer
from caretbench.suites.build_models import NO_MODELS, BuildModels
from caretbench.suites.recorded import completion_rows
from caretbench.suites.values import (
    ORDINARY,
    BuildResult,
    Measurement,
    OwnChart,
    ProblemGate,
    ProblemSet,
    Stratification,
    Table,
)
from caretbench.validation.gate import Gate

if TYPE_CHECKING:
    import polars as pl


class Suite(ABC):
    """One kind of benchmark. Instances are stateless.

    A suite must have ``name``, ``title``, ``about``, ``strata``, and the methods :meth:`load` and :meth:`request`.
    Every other hook has a default. ``@register`` makes it known; a package of its own declares it as an entry point of
    the group ``caretbench.suites``.
    """

    name: ClassVar[str]
    """Its name on the command line, in run folders and in every problem."""
    title: ClassVar[str]
    """Its name as it is printed."""
    about: ClassVar[str]
    """What it measures, in one line."""
    strata: ClassVar[tuple[str, ...]]
    """Labels by which results are summarised and ``--select`` chooses; the first is the main one."""

    stratification: ClassVar[Stratification] = ORDINARY
    """The breakdown of results in reports: tables by label, heat maps, a paper's tables in form."""
    profile_rules: ClassVar[type[ProfileRules]] = ProfileRules
    """The rules of the suite's profiles: where a paper's released code does something else than should be done."""
    baselines: ClassVar[Mapping[str, Writer]] = BASELINES
    """The baselines by name; by default those at carets."""
    contexts: ClassVar[Mapping[str, int]] = {}
    """Ways of showing more of a problem's project than its caret does: names with versions.

    A change of what is shown is a new version. The first is what problems show themselves. Empty: there is one way.
    """
    criteria_folder: ClassVar[Traversable | None] = None
    """A folder of further criteria for judges, one TOML file each; their controls follow from their form."""

    published_folder: ClassVar[Traversable | None] = None
    """A folder with the numbers that a paper printed: ``NAME.csv`` and ``names.toml``, in the form of those in
    ``reports/published/``; None: that folder, which is empty for suites that it does not name."""

    pull_about: ClassVar[str] = ""
    """The released data that :meth:`pull` fetches, in a few words; empty: there are none."""
    build_about: ClassVar[str] = ""
    """Kind of source of ``caretbench build``, for its help text; empty: the suite builds no problems."""
    build_options: ClassVar[tuple[Option, ...]] = ()
    """The options of ``caretbench build SUITE`` in addition to SOURCE and --output."""
    build_roles: ClassVar[Mapping[str, str]] = {}
    """Roles of the models that :meth:`build` asks, each with its purpose: names of ``runs/plans/roles.py``."""

    def rules(self, profile: Profile) -> ProfileRules:
        """Return the rules of a profile."""
        return self.profile_rules(profile)

    # --- problems ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def load(self, source: str) -> ProblemSet:
        """Return the problems of ``starter``, of ``released`` (what :meth:`pull` fetched), or of a path.

        Raises:
            DataError: with file and line; nothing is half-loaded.
        """

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released data at a pinned revision into the cache and return their folder.

        Args:
            source: A local copy to take the files from; None: the network.
            models: Names of models whose recorded completions are fetched, too.
            progress: Called with the number of files added, and of all files.

        Raises:
            ValueError: the suite has no released data.
            DataError: a file is not what it was when it was pinned.
        """
        del source, models, progress
        raise ValueError(f"nothing to pull for {self.name!r}: it has no released data")

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        *,
        models: BuildModels = NO_MODELS,
    ) -> BuildResult:
        """Make problems of the user's own sources and write them to a folder that :meth:`load` reads.

        A build that was stopped goes on by the same call.

        Args:
            sources: What the problems are made of: projects, clones, files.
            output: The folder.
            options: Values of :attr:`build_options` by name; None where an option is not given.
            progress: Told of steps and notes.
            models: Models of :attr:`build_roles`, which the build may ask; given where a suite has such roles.

        Raises:
            ValueError: the suite builds none, an option is wrong, or a model is lacking.
            DataError: a source cannot be used, or the folder holds something else.
            AnswersMissingError: a model did not answer.
        """
        del sources, output, options, progress, models
        raise ValueError(f"{self.title} builds no problems of its own")

    def canonical_label(self, name: str, value: str) -> str:
        """Return a label's value as the suite spells it, from any spelling that users know."""
        del name
        return value

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Return sizes of one problem by name, to be averaged: lines, tokens, complexity."""
        del problem, profile
        return {}

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return tables about the data themselves, without running anything.

        Raises:
            ValueError: the suite has none.
            DataError: the data are not there or malformed.
        """
        del source
        raise ValueError(f"--tables: {self.title} has no tables about its data; see --statistics")

    def in_context(self, problem: Problem, context: str) -> Caret:
        """Return what is shown of a problem in the context of this name. No hidden text is in it.

        Raises:
            DataError: the problem's project is not here.
        """
        del problem
        raise ValueError(f"context {context!r}: {self.name} shows its problems in one way only")

    # --- answers ----------------------------------------------------------------------------------------------------

    def recorded(
        self,
        path: Path,
        problems: Mapping[str, Problem],
        models: Sequence[str],
        passed_over: Callable[[str], None] = lambda _problem_id: None,
    ) -> Iterator[Completion]:
        """Yield the recorded completions under ``path`` by the chosen models (all when empty) to the problems.

        ``passed_over`` is called with the problem's id of every row that is about none of ``problems``.

        Raises:
            DataError: with file and line.
        """
        return completion_rows(path, problems, models, passed_over)

    @abstractmethod
    def request(self, problem: Problem, text: str | None, profile: Profile) -> AnyRequest | None:
        """Return what decides whether ``text`` is right: a program, or tests in a project.

        None where it fails without a run, and where nothing is run at all.

        Raises:
            DataError: the problem's project is not here.
        """

    def program(
        self, problem: Problem, text: str | None, profile: Profile, variants: Mapping[str, str]
    ) -> AnyRequest | None:
        """Return :meth:`request` as it is submitted: with the named builds, and with the answer's lines.

        Args:
            problem: The problem.
            text: The inserted text; a null answer is the empty text where the suite has no other rule for it.
            profile: The profile.
            variants: Named builds by language.
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
        """Return the scores that need no program run; a value ``passed`` decides like a program does.

        By default that is whether the predicates hold, where the problem has some.
        """
        del profile
        if not any(check.kind == "predicate" for check in problem.checks):
            return []
        faults = self.faults(problem, text or "")
        return [Measurement("predicates@1", {"passed": float(not faults)}, {"missing": "; ".join(faults)})]

    def faults(self, problem: Problem, text: str) -> Sequence[str]:
        """Return the predicates that do not hold for ``text`` in its place; empty where there are none."""
        del problem, text
        return ()

    def judged_text(self, problem: Problem, text: str, profile: Profile) -> str:
        """Return what of an answer to a question a judge sees; an answer that says nothing is the empty text.

        By default that is the answer: under ``paper`` as it came, else without the reasoning before it.
        """
        return plain_answer(problem, text, profile)

    def result_tables(
        self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
    ) -> tuple[Table, ...]:
        """Return tables of a run in addition to rates by labels; profiles and policies apart.

        Args:
            results: One line per completion, policy and profile: the columns of the report's table, every measured
                value, and the judges' values (:func:`caretbench.reports.judged.value_table.judged_values`), null where
                an answer was not judged.
            problems: The run's problems by id.
            seed: Seed of intervals that are drawn.
        """
        del results, problems, seed
        return ()

    def result_charts(
        self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
    ) -> tuple[OwnChart, ...]:
        """Return charts of a run's page in addition to rates and heat maps; arguments as of :meth:`result_tables`."""
        del results, problems, seed
        return ()

    # --- validity ---------------------------------------------------------------------------------------------------

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> ProblemGate:
        """Return the gate that decides which problems are fit; by default the one for programs.

        A suite whose answers are checked by tests in projects, or only read, has a gate of its own.

        Args:
            executor: Opens what runs programs and projects.
            progress: Called with the number of problems decided.
        """

        def program(problem: Problem, text: str) -> ExecutionRequest | None:
            request = self.program(problem, text, "default", {})
            if not (isinstance(problem.shown, Caret) and isinstance(request, ExecutionRequest | None)):
                raise ValueError(  # noqa: TRY004  the suite's mistake, told in one line
                    f"{problem.id}: no program decides; the suite {self.name} needs a gate of its own"
                )
            return request

        found = policy(self.rules("default").policy)
        return Gate(executor().programs, found, program, self.faults, progress)
