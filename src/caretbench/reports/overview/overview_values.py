"""Values of an overview of several suites, and the folders that it is about."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from caretbench.reports.estimates import ReportValue
from caretbench.reports.head.head_values import ReportHead
from caretbench.reports.output.page_head import page_head
from caretbench.reports.summary import Summary, headline_columns
from caretbench.runs.run_folder import RunFolder
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

    @property
    def baselines(self) -> list[str]:
        """Titles of the baselines, sorted."""
        return sorted({title for suite in self.suites for title in suite.baselines}, key=str.casefold)

    @property
    def models(self) -> list[str]:
        """Titles of the models, sorted by name, without baselines."""
        found = {title for suite in self.suites for title in suite.rows}
        return sorted(found - set(self.baselines), key=str.casefold)


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
    found = suite_of_run(summary.suite)
    return found.title if found else summary.suite
