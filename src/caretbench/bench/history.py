"""Rows of ``history.jsonl``, one for each bench, suite and model; their trend in Markdown, and as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal
from xml.etree import ElementTree

from pydantic import Field

from caretbench.errors import UsageError
from caretbench.files import read_appended, write_atomically, write_rows
from caretbench.problem import StoredRow
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.output.text_output import table_to_markdown
from caretbench.reports.tables import FieldValues, ReportTable, rate_field, table_of

LAST: Final = "LAST"
"""Value of ``--than`` for the bench before."""
_SHOWN: Final = 12

Verdict = Literal["first", "worse", "better", "not distinguishable", "cannot be decided"]


class HistoryRow(StoredRow):
    """Results of one bench for one suite and model.

    ``old`` is over the problems that the bench compared with had too, ``new`` over the others; None where there is
    none. ``difference`` is this bench minus the other, over the old ones.
    """

    run: str
    """Name of the bench: its day, and the beginning of the hash of the project's files."""
    date: str
    revision: str = ""
    suite: str
    model: str
    data: str
    """Folder of the run, in the folder of the history."""
    all: ReportedNumber
    old: ReportedNumber | None = None
    new: ReportedNumber | None = None
    than: str = ""
    """Name of the bench compared with; empty for the first."""
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    alpha: float = Field(gt=0, lt=1)
    verdict: Verdict = "first"
    why: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Unique key of the row in its file."""
        return (self.run, self.suite, self.model)

    @property
    def change(self) -> str:
        """Difference in points with its interval, and the verdict."""
        if self.difference is None:
            return self.verdict if not self.why else f"{self.verdict}: {self.why}"
        interval = "" if self.low is None or self.high is None else f" [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"
        p_value = "" if self.p_value is None else f", p {self.p_value:.2g}"
        return f"{100 * self.difference:+.1f}{interval} points{p_value}: {self.verdict}"


class History:
    """The file ``history.jsonl``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = list(read_appended(path, HistoryRow))

    def before(self, run: str, suite: str, model: str, than: str) -> HistoryRow | None:
        """Return the row to compare a run with: the last before it, or the last up to a day; None for the first.

        Raises:
            UsageError: there is no bench up to this day, though there are others.
        """
        names = [row.run for row in self.rows]
        earlier = self.rows[: names.index(run)] if run in names else self.rows
        candidates = [row for row in earlier if (row.suite, row.model) == (suite, model)]
        chosen = candidates if than == LAST else [row for row in candidates if row.date <= than]
        if candidates and not chosen:
            raise UsageError(f"--than {than}: the first bench of {model} on {suite} is of {candidates[0].date}")
        return chosen[-1] if chosen else None

    def add(self, rows: Sequence[HistoryRow]) -> None:
        """Add the rows of a bench; those of the same bench are replaced where they stand."""
        together = {row.key: row for row in (*self.rows, *rows)}
        self.rows = list(together.values())
        write_rows(self.path, self.rows)


def rates_table(title: str, rows: Iterable[HistoryRow]) -> ReportTable:
    """Return rates and changes of some benches."""
    heads = ("Suite", "Model", "Day", "Revision", "pass@1", "Old problems", "New problems", "Against", "Change")
    fields: list[FieldValues] = [
        (
            row.suite, row.model, row.date, row.revision,
            *(rate_field(rate) for rate in (row.all, row.old, row.new)), row.than, row.change,
        )
        for row in rows
    ]  # fmt: skip
    caption = "Rates have 95 % intervals. Old problems: their block is as it was in the bench compared with."
    return table_of(title, heads, fields, caption)


def to_markdown(history: History, run: str, notes: Sequence[str]) -> str:
    """Return the summary of a bench: its rows, notes, and the trend of each suite and model."""
    rows = [row for row in history.rows if row.run == run]
    texts = [f"# CaretBench, {run}", *(f"* {text}" for text in notes), table_to_markdown(rates_table("Rates", rows))]
    for row in rows:
        recent = [entry for entry in history.rows if (entry.suite, entry.model) == (row.suite, row.model)][-_SHOWN:]
        if len(recent) > 1:
            texts.append(table_to_markdown(rates_table(f"Trend: {row.model} on {row.suite}", recent)))
    return "\n\n".join(texts) + "\n"


def to_junit(rows: Sequence[HistoryRow]) -> str:
    """Return the rows of a bench as JUnit XML: a test for each suite and model, which fails where it is worse."""
    root = ElementTree.Element("testsuites", name="caretbench")
    for suite in dict.fromkeys(row.suite for row in rows):
        suite_rows = [row for row in rows if row.suite == suite]
        counts = {name: str(sum(row.verdict in kinds for row in suite_rows)) for name, kinds in _KINDS.items()}
        part = ElementTree.SubElement(
            root, "testsuite", {"name": suite, "tests": str(len(suite_rows)), "errors": "0", **counts}
        )
        for row in suite_rows:
            case = ElementTree.SubElement(part, "testcase", classname=f"caretbench.{suite}", name=row.model)
            kind = next((name for name, kinds in _KINDS.items() if row.verdict in kinds), None)
            if kind is not None:
                ElementTree.SubElement(case, "failure" if kind == "failures" else "skipped", message=row.change)
            ElementTree.SubElement(case, "system-out").text = f"pass@1 {row.all.value:.3f}; {row.change}"
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


_KINDS: Final = {"failures": ("worse",), "skipped": ("first", "cannot be decided")}


def write_summaries(folder: Path, history: History, run: str, notes: Sequence[str]) -> None:
    """Write ``summary.md`` and ``junit.xml`` of a bench."""
    write_atomically(folder / "summary.md", to_markdown(history, run, notes))
    write_atomically(folder / "junit.xml", to_junit([row for row in history.rows if row.run == run]))
