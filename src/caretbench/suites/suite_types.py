"""Types that suites pass to the stages: problem sets, measurements, tables, build results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from caretbench.files import DataError, sha256_text
from caretbench.problem import Problem


class ProblemSet(NamedTuple):
    """Problems loaded from one source; ``hash`` covers all their fields and does not depend on their order.

    ``passed_over`` has a line for each folder of the source with files that look like problems and were not read.
    """

    name: str
    problems: tuple[Problem, ...]
    hash: str
    passed_over: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, problems: Sequence[Problem], passed_over: tuple[str, ...] = ()) -> ProblemSet:
        """Return a problem set with its hash.

        Raises:
            DataError: two problems share an id.
        """
        rows = {problem.id: problem.model_dump_json() for problem in problems}
        if len(rows) != len(problems):
            seen: set[str] = set()
            twice = next(p.id for p in problems if p.id in seen or seen.add(p.id))  # type: ignore[func-returns-value]
            raise DataError(f"{name}: the id {twice!r} occurs twice; ids are unique over a suite")
        return cls(name, tuple(problems), sha256_text(*(rows[key] for key in sorted(rows))), passed_over)


def unread_files(root: Path, read: Collection[Path], suffixes: Collection[str], expected: str) -> tuple[str, ...]:
    """Return a line for each folder, up to two below ``root``, with files of these suffixes that were not read."""
    # A mistyped category was left out silently, and the score was of fewer problems than its owner believed.
    counts = Counter(
        path.parent
        for pattern in ("*", "*/*", "*/*/*")
        for path in root.glob(pattern)
        if path.suffix in suffixes
        and path not in read
        and not any(part.startswith(".") for part in path.relative_to(root).parts)
        and path.is_file()
    )
    return tuple(
        f"{folder}: {count} file{'s' * (count > 1)} passed over; expected {expected}"
        for folder, count in sorted(counts.items())
    )


class Measurement(NamedTuple):
    """Scores of one answer that need no execution: name and version of the scorer, values, explanations."""

    scorer: str
    values: Mapping[str, float]
    details: Mapping[str, str] = {}


Reduction = Generator[str, bool | None, Measurement]
"""Reduction of an answer: yields shorter answers, is sent whether each passes (None to end), and returns scores."""

FAILED_CONTROLS_MARK: Final = "(!)"
"""Mark next to a number that depends on a judge that failed its controls."""


class Table(NamedTuple):
    """One table of texts with its column heads.

    The second line of a cell is a note to the first, such as an interval. ``notes`` explain the table. ``withheld``
    has the reasons why requested numbers are not in it; the command then fails.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


class SuiteChart(NamedTuple):
    """A suite's own chart: a Vega-Lite specification including its data."""

    title: str
    spec: Mapping[str, Any]


class Headline(NamedTuple):
    """Share of answers by which a report ranks models, in place of pass@1: its title, and its meaning in one line."""

    title: str
    about: str


class PaperTable(NamedTuple):
    """A result table in the layout of a paper: pass@1 with the paper's ±.

    Args:
        title: Its title, with the table's number in the paper.
        labels: Labels of its rows. A label is replaced by its variant with ``@paper``, if the run's profile has
            only that.
        models_as_columns: Models are columns and labels are rows; else the other way round.
        printed: Names of the paper's tables in the suite's published numbers, whose cells are shown next to ours.
        printed_for: Beginning of the ids of the problems that the printed cells are about.
    """

    title: str
    labels: tuple[str, ...]
    models_as_columns: bool = False
    printed: tuple[str, ...] = ()
    printed_for: str = ""


class Stratification(NamedTuple):
    """Labels by which reports break down a suite's results.

    Args:
        labels: Single labels. A problem with several values counts in several rows; a number is binned.
        crossed: Combinations of labels, such as ``("constructs", "reference_distance")``.
        paper_bounds: The paper's bin edges of numeric labels, by label and language (``*``: all). The ``paper``
            profile uses them; ``default`` uses terciles of the data within each language. A label with the suffix
            ``@paper`` has the paper's bins under ``default`` too.
        main_labels: Labels of the main table, and of the comparison of policies.
        cell_labels: Labels whose combinations are the cells of ``--per-cell``; by default ``main_labels``.
        headline_labels: Labels whose parts are never averaged: the head of a report and its table of pass rates have a
            rate for each part.
        part_words: Words for values of these labels. The words of its labels, joined by blanks, are a part's title.
        heat_maps: Combinations drawn as heat maps: the last label is the horizontal axis.
        paper_intervals: Print the paper's ±, Wilson's interval and the plain bootstrap interval next to the reported
            one, in the table by ``main_labels``.
        paper_tables: Tables in the layout of the paper.
    """

    labels: tuple[str, ...] = ("language", "category", "mode")
    crossed: tuple[tuple[str, ...], ...] = (("language", "category"),)
    paper_bounds: Mapping[str, Mapping[str, tuple[float, ...]]] = {}
    main_labels: tuple[str, ...] = ("language", "category")
    cell_labels: tuple[str, ...] = ()
    headline_labels: tuple[str, ...] = ()
    part_words: Mapping[str, str] = {}
    heat_maps: tuple[tuple[str, ...], ...] = (("language", "category"),)
    paper_intervals: bool = False
    paper_tables: tuple[PaperTable, ...] = ()


DEFAULT_STRATIFICATION: Final = Stratification()
"""Stratification of a suite that defines none."""


class BuildResult(NamedTuple):
    """The result of ``caretbench build``.

    Args:
        lines: Lines printed on standard output.
        numbers: Values printed with ``--json``.
        notes: Lines printed on standard error.
        usable: True if the problems may be run; else the command fails.
    """

    lines: tuple[str, ...]
    numbers: Mapping[str, JsonValue]
    notes: tuple[str, ...] = ()
    usable: bool = True
