"""Values that pass between a suite and the stages: sets of problems, measurements, tables, results of a build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from pydantic import JsonValue

from caretbench.files import DataError, sha256_text
from caretbench.problem import Problem
from caretbench.validation.validity import Validity
from caretbench.versions import FORMER_REFERENCE


class ProblemSet(NamedTuple):
    """Problems that were loaded together: ``hash`` covers every field of every problem, whatever their order."""

    name: str
    problems: tuple[Problem, ...]
    hash: str

    @classmethod
    def of(cls, name: str, problems: Sequence[Problem]) -> ProblemSet:
        """Return a set with its hash.

        Raises:
            DataError: two problems share an id.
        """
        rows = {problem.id: _hashed(problem) for problem in problems}
        if len(rows) != len(problems):
            seen: set[str] = set()
            twice = next(p.id for p in problems if p.id in seen or seen.add(p.id))  # type: ignore[func-returns-value]
            raise DataError(f"{name}: the id {twice!r} occurs twice; ids are unique over a suite")
        return cls(name, tuple(problems), sha256_text(*(rows[key] for key in sorted(rows))))


def _hashed(problem: Problem) -> str:
    """Return the row that a hash covers, with the former name of a field: stored hashes stay as they are."""
    return problem.model_dump_json().replace('"reference_s":', f'"{FORMER_REFERENCE}_s":')


class Measurement(NamedTuple):
    """Scores that need no program run: the scorer's name with version, values by name, and what explains them."""

    scorer: str
    values: Mapping[str, float]
    details: Mapping[str, str] = {}


FAILED_CONTROLS_MARK: Final = "(!)"
"""Next to a number that depends on a judge that did not pass its controls."""


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


class SuiteChart(NamedTuple):
    """A suite's own chart: a Vega-Lite specification with its data in it."""

    title: str
    spec: Mapping[str, Any]


class PaperTable(NamedTuple):
    """A table of a paper whose form a report follows: pass@1 with the paper's ±.

    Args:
        title: Its title, and which table of the paper it is.
        labels: The stratum; one that was not cut for the run's profile is replaced by the one that was (``@paper``).
        models_across: Models side by side and parts below each other, or the other way round.
    """

    title: str
    labels: tuple[str, ...]
    models_across: bool = False


class Stratification(NamedTuple):
    """The labels by which reports break a suite's results down.

    Args:
        labels: Single labels. One with several values puts a problem into several parts; a number is cut into parts.
        crossed: Labels to be crossed, ``("constructs", "reference_distance")``.
        bounds: Where the paper cuts a number, by label and language (``*``: all): the ``paper`` profile uses them, the
            ``default`` profile the terciles of the data within each language. A label that ends with ``@paper`` is cut
            so under ``default`` too, next to the one without.
        main: The labels that say what a number is about: policies are set side by side by them.
        cells: The labels within which ``--per-cell`` counts; where a suite names none, those of ``main``.
        heat_maps: What the page draws as fields of colour: the last label across, the others down.
        printed_intervals: Whether rates by ``main`` get the paper's ±, Wilson's interval and the plain bootstrap's
            next to the reported one.
        paper_tables: The paper's tables of results, in form.
    """

    labels: tuple[str, ...] = ("language", "category", "mode")
    crossed: tuple[tuple[str, ...], ...] = (("language", "category"),)
    paper_bounds: Mapping[str, Mapping[str, tuple[float, ...]]] = {}
    main_labels: tuple[str, ...] = ("language", "category")
    cell_labels: tuple[str, ...] = ()
    heat_maps: tuple[tuple[str, ...], ...] = (("language", "category"),)
    paper_intervals: bool = False
    paper_tables: tuple[PaperTable, ...] = ()


DEFAULT_STRATIFICATION: Final = Stratification()
"""The stratification of a suite that names none."""


class BuildResult(NamedTuple):
    """The result of a build.

    Args:
        lines: What the command prints.
        numbers: What it prints with ``--json``.
        notes: What is said on standard error.
        fit: Whether the problems may be run; the command fails where they may not.
    """

    lines: tuple[str, ...]
    numbers: Mapping[str, JsonValue]
    notes: tuple[str, ...] = ()
    usable: bool = True


class ProblemGate(Protocol):
    """A gate that decides whether problems can measure anything."""

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:
        """Return the verdicts on all problems, in order; append the missing ones to ``path``."""
        ...
