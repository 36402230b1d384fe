"""Base class of all builders: how a suite's problems are made, fetched and validated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from caretbench.build.build_models import BuildJob
from caretbench.build.validation.program_gate import ProgramGate
from caretbench.build.validation.resumable_gate import ProblemGate
from caretbench.errors import UsageError
from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.extraction.policies import get_policy
from caretbench.metrics.code_statistics import problem_statistics
from caretbench.options import Option
from caretbench.problem import Caret, Problem, Profile
from caretbench.progress import Progress
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import BuildResult, Table


class Builder:
    """Construction of a suite's problems: all that only building needs. Runs never load it.

    A subclass defines ``name`` and the hooks that its suite has; each has a default. ``@register_builder`` registers
    it; another package declares it as an entry point of the group ``caretbench.builders``.
    """

    name: ClassVar[str] = ""
    """Name of the suite."""

    about: ClassVar[str] = ""
    """Description of the problems made by ``caretbench build``, for its help; empty if the suite builds none."""
    options: ClassVar[tuple[Option, ...]] = ()
    """Options of ``caretbench build SUITE`` in addition to SOURCE and --output."""
    roles: ClassVar[Mapping[str, str]] = {}
    """Roles of models that :meth:`build` uses (names of ``runs/plans/roles.py``), with their purposes."""
    roles_with_several_models: ClassVar[frozenset[str]] = frozenset()
    """Roles of :attr:`roles` that may have several models."""
    remembers_models: ClassVar[bool] = False
    """True if a build that names no model uses those of the folder's last build."""

    pull_about: ClassVar[str] = ""
    """Short description of the data that :meth:`pull` fetches; empty if there are none."""
    pull_use: ClassVar[str] = "--data released"
    """Use of these data, printed after they are fetched."""
    has_editions: ClassVar[bool] = False
    """True if :meth:`pull_edition` and :meth:`verify` work on dated editions."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise an error if the value of a build's option is wrong; called before models and sources are opened.

        Raises:
            UsageError: a value is wrong.
            DataError: a file that an option names is malformed.
        """
        del options

    def build(self, job: BuildJob) -> BuildResult:
        """Make problems from the user's sources and write them to a folder that the suite loads.

        The same call resumes an interrupted build.

        Raises:
            UsageError: the suite builds none, an option is wrong, or a model is missing.
            DataError: a source cannot be used, or the folder contains something else.
            AnswersMissingError: a model did not answer.
        """
        del job
        raise UsageError(f"{self.suite.title} builds no problems of its own")

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released data at a pinned revision into the cache and return their folder.

        Args:
            source: Local copy of the release; None: the network.
            models: Names of models whose recorded completions are fetched in addition.
            progress: Called with the number of files that are there now, and the total. What is missing at the end is
                optional.

        Raises:
            UsageError: the suite has no released data.
            DataError: a file differs from its pinned hash.
        """
        del source, models, progress
        raise UsageError(f"nothing to pull for {self.suite.name!r}: it has no released data")

    def pull_edition(
        self, edition: str, mirror: str | None, progress: Callable[[int, int], None], note: Callable[[str], None]
    ) -> tuple[int, int]:
        """Fetch the projects of an edition into the cache; return the numbers of those that are here, and of all.

        Args:
            edition: Name of an edition, or a folder of a build.
            mirror: Folder or address that is asked first.
            progress: Called with the number of projects that were done, and the total.
            note: Called with a line about each project that is not to be had.

        Raises:
            UsageError: the suite has no editions.
            DataError: there is no such edition, or none of its projects is to be had.
        """
        del edition, mirror, progress, note
        raise UsageError(f"{self.suite.title} has no editions")

    def verify(
        self, edition: str, sample: int, seed: int, executor: Callable[[], Dispatcher], progress: Progress
    ) -> BuildResult:
        """Make problems of an edition again from its projects, compare them, and run references and masks.

        Args:
            edition: Name of an edition, or a folder of a build.
            sample: Number of problems whose reference is run; 0: all.
            seed: Random seed of the sample.
            executor: Opens the executor of projects.
            progress: Receiver of steps and notes.

        Raises:
            UsageError: the suite has no editions.
            DataError: there is no such edition, or none of its projects is here.
        """
        del edition, sample, seed, executor, progress
        raise UsageError(f"{self.suite.title} has no editions")

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Return sizes of one problem by name, for ``caretbench list --statistics``.

        By default lines, tokens and cyclomatic complexity of the shown text and of the reference at a caret.
        """
        del profile
        caret = problem.shown
        if not isinstance(caret, Caret):
            return {}
        return problem_statistics(caret.prefix, problem.reference, caret.suffix, "", caret.language)._asdict()

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return tables about the data, for ``caretbench list --tables``; nothing is executed.

        Raises:
            UsageError: the suite has none.
            DataError: the data are missing or malformed.
        """
        del source
        raise UsageError(f"--tables: {self.suite.title} has no tables about its data; see --statistics")

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> ProblemGate:
        """Return the gate that validates problems; by default the one for programs.

        A suite whose answers are checked by tests of projects, or without execution, needs its own gate.

        Args:
            executor: Opens the executor of programs and projects.
            progress: Called with the number of newly decided problems.
        """

        def program(problem: Problem, text: str) -> ExecutionRequest | None:
            request = self.suite.request(problem, text, "default", {})
            if not (isinstance(problem.shown, Caret) and isinstance(request, ExecutionRequest | None)):
                raise UsageError(
                    f"{problem.id}: it is not checked by a program; the suite {self.suite.name} needs its own gate"
                )
            return request

        chosen = get_policy(self.suite.rules("default").policy)
        return ProgramGate(executor().programs, chosen, program, self.suite.failed_predicates, progress)
