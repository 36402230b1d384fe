"""One bench of a repository: builds what is new, asks the models, reports, and compares with an earlier bench."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from caretbench.api import build_problems
from caretbench.api import run as run_suites
from caretbench.bench.history import History, HistoryRow, Verdict, write_summaries
from caretbench.bench.settings import STATE, BenchSettings, git_answer
from caretbench.build.projects.project_storage import store_project
from caretbench.errors import CaretBenchError, DataError, UsageError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import read_rows, sha256_text, write_atomically, write_rows
from caretbench.models import ClientOpener, unchecked
from caretbench.people.strengths.report_sections import whole_summary
from caretbench.problem import Completion, Problem
from caretbench.progress import FolderProgress, Progress
from caretbench.projects.settings import read_settings
from caretbench.reports.compare import compare_runs
from caretbench.reports.estimates import ReportedNumber, mean_estimate
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.paired_models import model_rates
from caretbench.reports.results.run_settings import IncomparableError
from caretbench.reports.run_summary import failures, load_run_folder, write_html
from caretbench.runs.plans.config import RunConfig, config_from_options
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.roles import NamedModel
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.session import Clients
from caretbench.suites import load_suite

_PROBLEMS_OF_BLOCK: Final = {"codevbench": 2}


class BenchResult(NamedTuple):
    """Rows of a bench, notes about what could not be built or asked, and what the builds of this call did, by suite."""

    run: str
    rows: tuple[HistoryRow, ...]
    notes: tuple[str, ...]
    builds: Mapping[str, Mapping[str, Any]]


@dataclass
class Bench:
    """Bench of a repository in its present state. In it nothing changes but the folder ``.caretbench``.

    Args:
        root: The repository.
        settings: Settings of ``caretbench.toml``, overridden by options.
        models: Models that are asked.
        options: Options of ``run`` by name, such as ``base_url`` and ``prices``.
        than: ``LAST``, or a day: the last bench up to it is compared with.
        opener: Opens models; None: Inspect's providers.
        progress: Receives steps and notes.
    """

    root: Path
    settings: BenchSettings
    models: Sequence[NamedModel]
    options: Mapping[str, Any] = field(default_factory=dict)
    than: str = "LAST"
    opener: ClientOpener | None = None
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        """Check models and day, and name the bench by the day and the project's files.

        Raises:
            UsageError: there is no model, or ``than`` is no day.
        """
        if not self.models:
            raise UsageError("no model: name one with -m, or in the table [bench] of caretbench.toml: models = […]")
        try:
            datetime.fromisoformat("2000-01-01" if self.than == "LAST" else self.than)
        except ValueError:
            raise UsageError(f"--than {self.than!r}: expected LAST, or a day: 2026-03-31") from None
        self.state = self.root / STATE
        project = store_project(self.root, SnapshotStore(), read_settings(self.root).ignore)
        # With the number of problems, as --limit is in no file: a smaller build must not serve a later, larger one.
        self.snapshot = sha256_text(project.snapshot.id, str(self.settings.problems))[:12]
        self.date = datetime.now(UTC).date().isoformat()
        self.run = f"{self.date}-{self.snapshot[:8]}"
        self.builds: dict[str, Mapping[str, Any]] = {}
        self.history = History(self.state / "history.jsonl")

    def carry_out(self, *, new_only: bool = False) -> BenchResult:
        """Build, ask, report and compare; the same call goes on after a stop.

        With ``new_only``, answers to problems that are shown as they were are those of the bench before.

        Raises:
            DataError: no suite can be built, or nothing has a verdict.
        """
        self._check_models()
        built, notes = self.build()
        config = self.config(built)
        if new_only:
            self._carry(ResolvedRun.from_config(config))
        notes += run_suites(config, opener=self.opener, progress=self.progress).complaints
        return self._report(built, notes)

    def _check_models(self) -> None:
        """Raise if it is known that a model cannot be asked: builds take minutes, and a missing key none."""
        from caretbench.inspect.client.provider_facts import check_access

        config = self.config(dict.fromkeys(self.settings.suites, self.state)).model_copy(update={"suites": ()})
        plan = ResolvedRun.from_config(config, check_access=unchecked if self.opener else check_access)
        for model in plan.models:
            plan.price(model)

    def build(self) -> tuple[dict[str, Path], list[str]]:
        """Build the problems of each suite that are not there; return their folders, and why others have none.

        Raises:
            DataError: no suite can be built.
        """
        self.state.mkdir(exist_ok=True)
        write_atomically(self.state / ".gitignore", "*\n")
        built: dict[str, Path] = {}
        faults: list[str] = []
        for suite in self.settings.suites:
            load_suite(suite)
            folder = self.state / "tasks" / suite / self.snapshot
            try:
                if not (folder / "problems.jsonl").exists():
                    self._build(suite, folder)
                if next(read_rows(folder / "problems.jsonl", Problem), None) is None:
                    raise DataError("no problem passed the gate")
                built[suite] = folder
            except (CaretBenchError, OSError) as error:
                faults.append(f"{suite}: {error}")
        if not built:
            raise DataError(f"{'; '.join(faults)}; caretbench init shows which suites fit")
        return built, faults

    def _build(self, suite: str, folder: Path) -> None:
        options: dict[str, Any] = {} if read_settings(self.root).setup else {"setup": "auto"}
        blocks = -(-self.settings.problems // _PROBLEMS_OF_BLOCK.get(suite, 1))
        options |= {"max_candidates": blocks, "kept": self.state / "kept"}
        progress = FolderProgress(self.progress, suite)
        result = build_problems(suite, [str(self.root)], folder, progress=progress, **options)
        self.builds[suite] = result.numbers
        self.progress.note(f"{suite}: {result.lines[-1].strip()}")

    def config(self, built: Mapping[str, Path]) -> RunConfig:
        """Return the configuration of the run on the problems of some suites."""
        base = {"temperature": self.settings.temperature, "max_tokens": self.settings.max_tokens, "baseline": "none"}
        base |= {name: value for name, value in self.options.items() if value is not None}
        configs = {
            suite: config_from_options(suite, base | {"data": str(built[suite])}, self.models) for suite in built
        }
        parts = tuple(config.suites[0].model_copy(update={"folder": suite}) for suite, config in configs.items())
        changes = {"suites": parts, "output": self.state / "runs" / self.run, "together": True}
        return next(iter(configs.values())).model_copy(update=changes)

    def _carry(self, plan: ResolvedRun) -> None:
        """Take the answers to problems that are shown as they were from the bench before."""
        from caretbench.inspect import open_client  # imports Inspect

        with Clients(plan, self.opener or open_client) as clients:
            infos = clients.check()
        for resolved, model_infos in zip(plan.suites, infos, strict=True):
            stored = {row.key for row in resolved.folder.completions()}
            shown = {problem.id: (problem.block_hash, problem.shown) for problem in resolved.problems}
            rows: list[Completion] = []
            for info in model_infos:
                before = self.history.before(self.run, resolved.suite.name, info.model, self.than)
                earlier = RunFolder(self.state / before.data) if before is not None else None
                if earlier is None or not earlier.problems_path.exists():
                    continue
                earlier_shown = {problem.id: (problem.block_hash, problem.shown) for problem in earlier.problems()}
                named = (info.model, info.parameters)
                candidates = (row for row in earlier.completions() if (row.model, row.parameters) == named)
                same = (row for row in candidates if earlier_shown.get(row.problem_id, ()) == shown.get(row.problem_id))
                rows += [row for row in same if row.key not in stored]
            if rows:
                resolved.folder.path.mkdir(parents=True, exist_ok=True)
                write_rows(resolved.folder.completions_path, [*resolved.folder.completions(), *rows])
                self.progress.note(f"{resolved.suite.name}: {len(rows)} answers are carried over")

    def _report(self, built: Mapping[str, Path], notes: Sequence[str]) -> BenchResult:
        """Write the pages, compare with an earlier bench, and add to history and summaries."""
        rows: list[HistoryRow] = []
        notes = [*notes]
        for suite in built:
            folder = RunFolder(self.state / "runs" / self.run / suite)
            if not folder.scores_path.exists():
                continue
            loaded = load_run_folder(folder.path)
            summary = whole_summary(loaded)
            write_html(folder.path, loaded, summary)
            notes += [f"{suite}: {line}" for line in failures(summary, None)]
            rows += [row for model in self.models if (row := self._row(loaded, suite, model.name)) is not None]
        if not rows:
            raise DataError(f"{self.state}: no model has a verdict on any problem; {'; '.join(notes)}")
        self.history.add(rows)
        write_summaries(self.state, self.history, self.run, notes)
        # Of the tasks these and those before are kept: each folder has the whole project with its packages.
        for suite_folder in (self.state / "tasks").iterdir():
            folders = sorted(suite_folder.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
            for old in [folder for folder in folders if folder.name != self.snapshot][1:]:
                shutil.rmtree(old)
        return BenchResult(self.run, tuple(rows), tuple(notes), self.builds)

    def _row(self, loaded: LoadedRun, suite: str, model: str) -> HistoryRow | None:
        """Return the row of a model on a suite; None if it has no verdict."""
        whole = _rate(loaded, model)
        if whole is None:
            return None
        row = HistoryRow(
            run=self.run, date=self.date, revision=git_answer(self.root, "rev-parse", "--short", "HEAD"), suite=suite,
            model=model, all=whole, data=f"runs/{self.run}/{suite}", alpha=self.settings.alpha,
        )  # fmt: skip
        before = self.history.before(self.run, suite, model, self.than)
        if before is None:
            return row
        row = row.model_copy(update={"than": before.run})
        try:
            earlier = load_run_folder(self.state / before.data)
        except DataError as error:
            return row.model_copy(update={"verdict": "cannot be decided", "why": str(error)})
        blocks_before = {(problem.id, problem.block_hash) for problem in earlier.problems}
        old = {problem.id for problem in loaded.problems if (problem.id, problem.block_hash) in blocks_before}
        new = {problem.id for problem in loaded.problems} - old
        parts = {"old": _rate(loaded, model, old), "new": _rate(loaded, model, new)}
        return row.model_copy(update={**parts, **difference(earlier, loaded, model, self.settings.alpha)})


def _rate(run: LoadedRun, model: str, only: Collection[str] | None = None) -> ReportedNumber | None:
    entry = next(model_rates(run, [model], only=only), None)
    if entry is None or entry.rates.is_empty():
        return None
    return mean_estimate(entry.rates["rate"].to_list(), entry.rates, seed=0)


def difference(earlier: LoadedRun, later: LoadedRun, model: str, alpha: float) -> dict[str, Any]:
    """Return the fields of a row about the difference of two benches, over the problems that both have."""
    try:
        row = compare_runs([earlier, later], models=[model], align=["data", "isolation"]).overall[0]
    except IncomparableError as error:
        return {"verdict": "cannot be decided", "why": str(error)}
    # The earlier bench is first. Subtracted from 0.0, as no change is no -0.0 points.
    low, high = (None, None) if row.low is None or row.high is None else (0.0 - row.high, 0.0 - row.low)
    fields: dict[str, Any] = {"difference": 0.0 - row.difference, "low": low, "high": high, "p_value": row.p_value}
    verdict: Verdict = "not distinguishable"
    if 2.0 ** (1 - row.groups) >= alpha:
        # Both tests give at least 2 / 2^groups, where every group speaks for the same side.
        verdict, fields["why"] = "cannot be decided", f"{row.groups} independent groups are too few for p < {alpha:.2g}"
    elif row.distinguishable and row.p_value < alpha:
        verdict = "worse" if row.difference > 0 else "better"
    return {**fields, "verdict": verdict}
