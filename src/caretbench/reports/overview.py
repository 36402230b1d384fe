"""Overview of several runs: one row for each model, over all suites."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from rich.console import Console

from caretbench.files import write_atomically
from caretbench.reports.estimates import ReportValue
from caretbench.reports.head.head_texts import leading_title, number_of
from caretbench.reports.head.head_values import HeadPart, ReportHead
from caretbench.reports.output.page_parts import SHOWN_WARNINGS, PageHead, page_head
from caretbench.reports.output.text_output import print_tables, table_to_markdown
from caretbench.reports.section import PageBlock, PagePart
from caretbench.reports.summary import Summary, headline_columns
from caretbench.reports.tables import (
    FieldValue,
    ReportTable,
    TableField,
    number_field,
    table_of,
    text_field,
    title_field,
)
from caretbench.runs.run_folder import RunFolder, absent_suites
from caretbench.suites import suite_of_run


class OverviewSuite(ReportValue):
    """Results of one suite: the head of its report, and the number of stored answers by model."""

    title: str
    """Name of the suite; with the folder's name if several folders have the same suite."""
    suite: str
    folder: str
    report: str
    """Address of the suite's own page, relative to the overview's page."""
    data: str
    profile: str
    problems: int
    answer: str
    """First sentence of the suite's report."""
    head: ReportHead | None
    rows: Mapping[str, int]
    """Number of stored answers of each model and baseline."""
    baselines: frozenset[str]
    warnings: tuple[str, ...]


class Overview(ReportValue):
    """Overview of the run folders in one folder. Numbers of different suites are not averaged."""

    schema_version: int = 1
    run: str
    suites: tuple[OverviewSuite, ...]
    unscored: tuple[str, ...] = ()
    """Names of the run folders without scores, which are in no table."""
    absent: Mapping[str, str] = {}
    """Reasons of the suites that could not be run, by name."""

    @property
    def baselines(self) -> list[str]:
        """Titles of the baselines, sorted."""
        return sorted({title for suite in self.suites for title in suite.baselines}, key=str.casefold)

    @property
    def models(self) -> list[str]:
        """Titles of the models, sorted by name, without baselines."""
        titles = {title for suite in self.suites for title in suite.rows}
        return sorted(titles - set(self.baselines), key=str.casefold)


def run_folders(root: Path) -> list[Path]:
    """Return the run folders with scores in ``root``, sorted; none if ``root`` itself is a run's folder."""
    return [folder for folder in _all_folders(root) if RunFolder(folder).scores_path.exists()]


def _all_folders(root: Path) -> list[Path]:
    if not root.is_dir() or RunFolder(root).manifest_path.exists():
        return []
    return sorted(path for path in root.iterdir() if RunFolder(path).manifest_path.exists())


def overview_of(root: Path, summaries: Mapping[Path, Summary], page: Path | None = None) -> Overview:
    """Return the overview of summaries by folder, sorted; its links lead from ``page``, by default in ``root``."""
    start = (page or RunFolder(root).report_path).parent
    folders = sorted(summaries)
    names = [_suite_title(summaries[folder]) for folder in folders]
    return Overview(
        run=root.resolve().name,
        suites=tuple(
            _suite(f"{name} ({folder.name})" if names.count(name) > 1 else name, folder, summaries[folder], start)
            for name, folder in zip(names, folders, strict=True)
        ),
        unscored=tuple(folder.name for folder in _all_folders(root) if not RunFolder(folder).scores_path.exists()),
        absent=absent_suites(root),
    )


def _suite(title: str, folder: Path, summary: Summary, start: Path) -> OverviewSuite:
    manifest = summary.manifest
    data, profile, policy = (manifest.get(name) for name in ("data", "profile", "policy"))
    columns = headline_columns(summary.columns, profile, policy)
    return OverviewSuite(
        title=title,
        suite=summary.suite,
        folder=folder.name,
        report=quote(Path(os.path.relpath(RunFolder(folder).report_path, start)).as_posix()),
        data=str(data.get("name", "")) if isinstance(data, Mapping) else "",
        profile=str(profile or ""),
        problems=summary.problems,
        answer=page_head(summary).title,
        head=summary.head,
        rows={column.title: column.completions for column in columns},
        baselines=frozenset(column.title for column in columns if column.baseline),
        warnings=summary.warnings,
    )


def _suite_title(summary: Summary) -> str:
    suite = suite_of_run(summary.suite)
    return suite.title if suite else summary.suite


_ABOUT = (
    "Each number is the headline of a suite's own report, with its 95% interval and its number of problems (n). "
    "Numbers of different suites are not averaged."
)


def number_table(overview: Overview, *, baselines: bool = False) -> ReportTable:
    """Return the table of models (or baselines) and suites, by name; each number links to the suite's own report."""
    titles = overview.baselines if baselines else overview.models
    columns = [(suite, part) for suite in overview.suites for part in (suite.head.parts if suite.head else (None,))]
    heads = ["Baseline" if baselines else "Model", *(_column_title(suite, part) for suite, part in columns)]
    rows: list[list[FieldValue]] = [
        [title_field(title, baseline=baselines), *(_number(title, suite, part) for suite, part in columns)]
        for title in titles
    ]
    return table_of("Baselines by suite" if baselines else "Models by suite", heads, rows, _about(overview))


def _about(overview: Overview) -> str:
    return f"{_ABOUT} `caretbench board` merges runs of one suite." if _again(overview) else _ABOUT


def _again(overview: Overview) -> int:
    """Return the number of folders of a suite that another folder has, too."""
    return len(overview.suites) - len({suite.suite for suite in overview.suites})


def _column_title(suite: OverviewSuite, part: HeadPart | None) -> str:
    if part is None:
        return suite.title
    return f"{', '.join(filter(None, (suite.title, part.title)))}: {leading_title(part)}"


def _number(title: str, suite: OverviewSuite, part: HeadPart | None) -> TableField:
    """Return the number of a model on a part of a suite's problems; a dash that links to the report if it has none."""
    entry = next((entry for entry in part.ranking if entry.title == title), None) if part else None
    field = number_field(None) if part is None or entry is None else number_of(part, entry)
    return _linked(field, suite) if title in suite.rows else field


def rows_table(overview: Overview) -> ReportTable:
    """Return the number of stored answers of each model in each suite; of the baselines if there is no model."""
    rows: list[list[FieldValue]] = [
        [
            title_field(title, baseline=title in overview.baselines),
            *(
                _linked(number_field(suite.rows[title]), suite) if title in suite.rows else number_field(None)
                for suite in overview.suites
            ),
        ]
        for title in overview.models or overview.baselines
    ]
    heads = ["Model", *(suite.title for suite in overview.suites)]
    return table_of("Rows by suite", heads, rows, "Rows are stored answers, each sample once.")


def _linked(field: TableField, suite: OverviewSuite) -> TableField:
    return field.model_copy(update={"link": suite.report})


def suites_table(overview: Overview) -> ReportTable:
    """Return the table of the suites with their folders, data and numbers of problems."""
    heads = ("Suite", "Folder", "Data", "Profile", "Problems")
    rows: list[list[FieldValue]] = [
        [_linked(text_field(suite.title), suite), suite.folder, suite.data, suite.profile, suite.problems]
        for suite in overview.suites
    ]
    return table_of("Suites", heads, rows)


def _number_tables(overview: Overview) -> list[ReportTable]:
    """Return the tables of numbers: of the models, if there are any, then of the baselines."""
    models = [number_table(overview)] if overview.models else []
    return [*models, *([number_table(overview, baselines=True)] if overview.baselines else [])]


def overview_title(overview: Overview) -> str:
    """Return the numbers of models and suites in words: ``2 models on 3 suites``."""
    counts = ((len(overview.models), "model"), (len(overview.suites) - _again(overview), "suite"))
    return " on ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)


def _answers(overview: Overview) -> list[str]:
    return [f"{suite.title}: {suite.answer}" for suite in overview.suites]


def _warnings(overview: Overview) -> list[str]:
    missing = [f"{name}: not run: {reason}" for name, reason in overview.absent.items()]
    missing += [f"{folder}: no answer is scored, so it is in no table." for folder in overview.unscored]
    return missing + [f"{suite.title}: {text}" for suite in overview.suites for text in suite.warnings]


def _last_line(overview: Overview) -> str:
    today = datetime.now(UTC).date().isoformat()
    return f"{today}: run {overview.run}; data, versions, policy and seed are in the report of each suite."


def print_overview(overview: Overview) -> None:
    """Print the answers of the suites, the table of models and suites, and the warnings."""
    warnings = [f"Warning: {text}" for text in _warnings(overview)]
    framed = Console().is_terminal  # then tables have their captions
    tables = [*_number_tables(overview), rows_table(overview)]
    print_tables([], [overview_title(overview), *_answers(overview), ""])
    print_tables(tables, [*([] if framed else [_about(overview)]), *warnings, _last_line(overview)])


def overview_to_markdown(overview: Overview) -> str:
    """Return the overview as Markdown, with links to the suites' pages."""
    parts = [f"# {overview.run}: {overview_title(overview)}", *(f"- {text}" for text in _answers(overview))]
    tables = [*_number_tables(overview), rows_table(overview), suites_table(overview)]
    parts += map(table_to_markdown, tables)
    return "\n\n".join([*parts, *(f"- Warning: {text}" for text in _warnings(overview)), f"- {_last_line(overview)}"])


def write_overview(overview: Overview, root: Path, page: Path | None = None) -> Path:
    """Write the overview's page, by default ``report.html`` in ``root``; return its path."""
    from caretbench.reports.output.page import render_page  # Jinja takes long to import

    path = page or RunFolder(root).report_path
    numbers = _number_tables(overview)
    blocks = [
        PageBlock(tables=numbers[:1]),
        PageBlock(title="Baselines, which need no model", tables=numbers[1:], folded=True),
        PageBlock(tables=[rows_table(overview), suites_table(overview)]),
    ]
    parts = [PagePart("suites", "Models and suites", "Models and suites", blocks=blocks)]
    html = render_page(f"{overview.run}: {overview_title(overview)}", parts, _page_head(overview), _last_line(overview))
    write_atomically(path, html)
    return path


def _page_head(overview: Overview) -> PageHead:
    warnings = tuple(_warnings(overview))
    return PageHead(
        run=f"run {overview.run}",
        title=overview_title(overview),
        sentences=_answers(overview),
        parts=[],
        warnings=warnings[:SHOWN_WARNINGS],
        folded=warnings[SHOWN_WARNINGS:],
    )
