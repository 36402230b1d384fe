"""What a suite is: a small Protocol, and the values that pass between a suite and the stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from caretbench.execution.dispatch import AnyRequest
from caretbench.execution.workspaces.engine import WorkspaceEngine
from caretbench.extraction.policies import BY_PROFILE, Policy
from caretbench.files import DataError, sha256_text
from caretbench.problem import Caret, Completion, Problem, Profile
from caretbench.validation.validity import Validity
from caretbench.validation.workspace_gate import WorkspaceGate

if TYPE_CHECKING:
    import polars as pl


class ProblemSet(NamedTuple):
    """Problems that were loaded together: ``hash`` covers every field of every problem, whatever their order."""

    name: str
    problems: tuple[Problem, ...]
    hash: str

    @classmethod
    def of(cls, name: str, problems: Sequence[Problem]) -> ProblemSet:
        """A set with its hash.

        Raises:
            DataError: two problems share an id.
        """
        rows = {problem.id: problem.model_dump_json() for problem in problems}
        if len(rows) != len(problems):
            seen: set[str] = set()
            twice = next(p.id for p in problems if p.id in seen or seen.add(p.id))  # type: ignore[func-returns-value]
            raise DataError(f"{name}: the id {twice!r} occurs twice; ids are unique over a suite")
        return cls(name, tuple(problems), sha256_text(*(rows[key] for key in sorted(rows))))

    def chosen(self, selected: Sequence[Problem]) -> ProblemSet:
        """The same set cut down to ``selected``; the hash stays that of the whole."""
        return ProblemSet(self.name, tuple(selected), self.hash)


class Measurement(NamedTuple):
    """What a scorer that needs no program run says: a name with version, values, and what to show beside them."""

    scorer: str
    values: Mapping[str, float]
    details: Mapping[str, str] = {}


REFUSED_MARK: Final = "(!)"
"""Next to a number that depends on a grader that did not pass its controls."""


class Table(NamedTuple):
    """One table, of a paper in form or a suite's own: lines of texts under their heads.

    A second line of a text is a note to the first (an interval); ``notes`` say how the table is to be read.
    ``withheld``: the reasons why numbers that were asked for are not in it; the run has failed then.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


class PaperTable(NamedTuple):
    """A table of a paper whose form a report follows: pass@1 with the paper's ±.

    Args:
        title: What it shows, and which table of the paper that is.
        labels: The stratum; one that was not cut for the run's profile is replaced by the one that was (``@paper``).
        models_across: Models side by side and parts below each other, or the other way round.
    """

    title: str
    labels: tuple[str, ...]
    models_across: bool = False


class Stratification(NamedTuple):
    """By which labels reports break a suite's results down.

    Args:
        labels: Single labels. One with several values puts a problem into several parts; a number is cut into parts.
        crossed: Labels to be crossed, ``("constructs", "reference_distance")``.
        bounds: Where the paper cuts a number, by label and language (``*``: all): the ``paper`` profile uses them, the
            ``default`` profile the terciles of the data within each language. A label that ends with ``@paper`` is cut
            so under ``default`` too, beside the one without.
        main: The labels that say what a number is about: policies are set side by side by them.
        cells: The labels within which ``--limit`` counts; where a suite names none, those of ``main``.
        heat_maps: What the page draws as fields of colour: the last label across, the others down.
        printed_intervals: Whether rates by ``main`` get the paper's ±, Wilson's interval and the plain bootstrap's
            beside the reported one.
        paper_tables: The paper's tables of results, in form.
    """

    labels: tuple[str, ...] = ("language", "category", "mode")
    crossed: tuple[tuple[str, ...], ...] = (("language", "category"),)
    bounds: Mapping[str, Mapping[str, tuple[float, ...]]] = {}
    main: tuple[str, ...] = ("language", "category")
    cells: tuple[str, ...] = ()
    heat_maps: tuple[tuple[str, ...], ...] = (("language", "category"),)
    printed_intervals: bool = False
    paper_tables: tuple[PaperTable, ...] = ()


ORDINARY: Final = Stratification()
"""What a suite gets that says nothing."""


def stratification_of(suite: object) -> Stratification:
    """A suite's own stratification (its attribute ``stratification``), or the ordinary one."""
    found = getattr(suite, "stratification", ORDINARY)
    return found if isinstance(found, Stratification) else ORDINARY


def policy_of(suite: object, profile: Profile) -> str:
    """The truncation policy where none is named: a suite's own (its attribute ``policies``), or the house's."""
    own: Mapping[Profile, str] = getattr(suite, "policies", {})
    return own.get(profile, BY_PROFILE[profile])


def judged_text_of(suite: object, profile: Profile) -> Callable[[Problem, str], str] | None:
    """What of an answer to a question a judge sees: a suite's own word, or None.

    A suite says it by a method ``judged_text(problem, text, profile)``; an answer that says nothing is the empty text.
    """
    own: Callable[[Problem, str, Profile], str] | None = getattr(suite, "judged_text", None)
    return None if own is None else lambda problem, text: own(problem, text, profile)


@runtime_checkable
class DescribesData(Protocol):
    """A suite that can print tables of a paper about its data, without running anything."""

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """The tables that the data under ``source`` allow.

        Raises:
            DataError: the data are not there or malformed.
        """
        ...


@runtime_checkable
class GivesResultTables(Protocol):
    """A suite whose results make tables of its own, beside rates by labels."""

    def result_tables(
        self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
    ) -> tuple[Table, ...]:
        """The tables of a run, profiles and policies apart.

        Args:
            results: One line per completion, policy and profile: the columns of the report's table, every measured
                value, and what graders said (:func:`caretbench.reports.judged.values.judged_values`), null where they
                said nothing.
            problems: The run's problems by id.
            seed: Of intervals that are drawn.
        """
        ...


class ProblemGate(Protocol):
    """What decides whether problems can measure anything."""

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:
        """The verdicts on all problems; appends the missing ones to ``path`` and gives them all, in order."""
        ...


@runtime_checkable
class HasQuestionGate(Protocol):
    """A suite whose answers are read, not run: it decides by itself which of its problems are fit."""

    def question_gate(self, progress: Callable[[int], None] = ...) -> ProblemGate:
        """The gate for this suite's problems."""
        ...


@runtime_checkable
class HasWorkspaceGate(Protocol):
    """A suite whose answers are checked by tests in projects: its problems go through a gate of their own."""

    def gate(
        self, engine: WorkspaceEngine, policy: Policy, progress: Callable[[int], None] = ...
    ) -> WorkspaceGate:
        """The gate for this suite's problems."""
        ...


@runtime_checkable
class OffersContexts(Protocol):
    """A suite that can show more of a problem's project than its caret does, in several ways."""

    contexts: Mapping[str, int]
    """Their names with versions: a change of what is shown is a new one. The first is what problems show themselves."""

    def in_context(self, problem: Problem, context: str) -> Caret:
        """What is shown of a problem in the context of this name. No hidden text is in it.

        Raises:
            DataError: the problem's project is not here.
        """
        ...


class Suite(Protocol):
    """One kind of benchmark. Instances are stateless; everything they give can be pickled."""

    name: str
    title: str
    about: str
    strata: tuple[str, ...]
    """Labels by which results are summarised, and by which ``--select`` chooses."""

    def load(self, source: str) -> ProblemSet:
        """Problems from ``starter``, ``released`` (the cache that ``pull`` fills), or a path.

        Raises:
            DataError: with file and line; nothing is half-loaded.
        """
        ...

    def recorded(
        self,
        path: Path,
        problems: Mapping[str, Problem],
        models: Sequence[str],
        passed_over: Callable[[str], None] = ...,
    ) -> Iterator[Completion]:
        """Recorded completions under ``path`` of the chosen models (all when empty) and problems.

        ``passed_over`` is called with the problem's id of every row that is about none of ``problems``.

        Raises:
            DataError: with file and line.
        """
        ...

    def request(self, problem: Problem, text: str | None, profile: Profile) -> AnyRequest | None:
        """What decides whether ``text`` is right: a program, or tests in a project; None where it fails without a run.

        Raises:
            DataError: the problem's project is not here.
        """
        ...

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Scores that need no program run."""
        ...

    def faults(self, problem: Problem, text: str) -> list[str]:
        """The predicates that do not hold for ``text`` in its place; empty when there are none."""
        ...

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Sizes of one problem (lines, tokens, complexity) by name, to be averaged."""
        ...

    def canonical_label(self, name: str, value: str) -> str:
        """A label's value as the suite spells it, from any spelling that users know."""
        ...
