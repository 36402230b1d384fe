"""One bench of a repository: builds what is new, asks the models, reports, and compares with an earlier bench."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from caretbench import api
from caretbench.bench.history import LAST, History, HistoryRow, Rate, Verdict, write_summaries
from caretbench.bench.settings import STATE, BenchSettings
from caretbench.errors import CaretBenchError, DataError, UsageError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import read_rows, write_atomically, write_rows
from caretbench.models import ClientOpener
from caretbench.people.strengths.report_sections import whole_summary
from caretbench.problem import Completion, Problem
from caretbench.progress import FolderProgress, Progress
from caretbench.projects.project import store_project
from caretbench.projects.settings import read_settings
from caretbench.reports.compare import compare_runs
from caretbench.reports.estimates import mean_estimate
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

_KEPT_TASKS: Final = 2
"""Number of folders of tasks of each suite that are kept: the newest, and the one before."""
_PROBLEMS_OF_BLOCK: Final = {"codevbench": 2}
_GIT_S: Final = 30.0


class BenchResult(NamedTuple):
    """Rows of a bench, notes about suites that could not be built or asked, and the number of steps by suite."""

    run: str
    rows: tuple[HistoryRow, ...]
    notes: tuple[str, ...]
    steps: Mapping[str, Mapping[str, Any]]

    @property
    def worse(self) -> list[str]:
        """Sentences about the models that are distinguishably worse than before."""
        return [f"{row.model} on {row.suite}: {row.change}" for row in self.rows if row.verdict == "worse"]


class Bench:
    """Bench of a repository in its present state.

    Args:
        root: The repository; nothing in it changes but the folder ``.caretbench``.
        settings: Settings of ``caretbench.toml``, overridden by options.
        models: Models that are asked.
        options: Options of ``run`` by name, such as ``base_url`` and ``prices``.
        opener: Opens models; None: Inspect's providers.
        progress: Receives steps and notes.
    """

    def __init__(
        self, root: Path, settings: BenchSettings, models: Sequence[NamedModel], options: Mapping[str, Any],
        opener: ClientOpener | None, progress: Progress,
    ) -> None:  # fmt: skip
        self.root, self.settings, self.models, self.options = root, settings, models, options
        self.opener, self.progress = opener, progress
        self.state = root / STATE
        self.snapshot = store_project(root, SnapshotStore(), read_settings(root).ignore).snapshot.id
        self.date = datetime.now(UTC).date().isoformat()
        self.run = f"{self.date}-{self.snapshot[:8]}"
        self.folder = self.state / "runs" / self.run
        self.steps: dict[str, Mapping[str, Any]] = {}

    def build(self) -> tuple[dict[str, Path], list[str]]:
        """Build the problems of each suite that are not there; return their folders, and why others have none.

        Raises:
            DataError: no suite can be built.
        """
        self.state.mkdir(exist_ok=True)
        if not (self.state / ".gitignore").exists():
            write_atomically(self.state / ".gitignore", "*\n")
        built: dict[str, Path] = {}
        faults: list[str] = []
        for suite in self.settings.suites:
            load_suite(suite)
            folder = self.state / "tasks" / suite / self.snapshot[:12]
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
        progress = FolderProgress(self.progress, suite)
        options |= {"max_candidates": blocks, "kept": self.state / "kept"}
        result = api.build_problems(suite, [str(self.root)], folder, progress=progress, **options)
        self.steps[suite] = result.numbers
        self.progress.note(f"{suite}: {result.lines[-1].strip()}")

    def config(self, built: Mapping[str, Path]) -> RunConfig:
        """Return the configuration of the run on the problems of some suites."""
        own = {"temperature": self.settings.temperature, "max_tokens": self.settings.max_tokens, "baseline": "none"}
        options = own | {name: value for name, value in self.options.items() if value is not None}
        parts = []
        for suite, folder in built.items():
            config = config_from_options(suite, options | {"data": str(folder)}, self.models)
            parts.append(config.suites[0].model_copy(update={"folder": suite}))
        return config.model_copy(update={"suites": tuple(parts), "output": self.folder, "together": True})

    def ask(self, config: RunConfig, *, new_only: bool, than: str) -> list[str]:
        """Ask the models and score their answers; with ``new_only`` only about problems that are new or changed.

        Returns complaints.
        """
        if new_only:
            self._carry(ResolvedRun.from_config(config), History(self.state / "history.jsonl"), than)
        return api.run(config, opener=self.opener, progress=self.progress).complaints

    def _carry(self, plan: ResolvedRun, history: History, than: str) -> None:
        """Take the answers to problems that are shown as they were from the bench before."""
        with Clients(plan, self.opener or api._open_client) as clients:
            infos = clients.check()
        for benchmark, own in zip(plan.benchmarks, infos, strict=True):
            stored = {row.key for row in benchmark.folder.completions()}
            shown = {one.id: (one.block_hash, one.shown) for one in benchmark.problems}
            rows: list[Completion] = []
            for info in own:
                before = history.before(self.run, benchmark.suite.name, info.model, than)
                earlier = RunFolder(self.state / before.data) if before is not None else None
                if earlier is None or not earlier.problems_path.exists():
                    continue
                same = {one.id for one in earlier.problems() if shown.get(one.id) == (one.block_hash, one.shown)}
                rows += [
                    row
                    for row in earlier.completions()
                    if row.problem_id in same
                    and (row.model, row.parameters) == (info.model, info.parameters)
                    and row.key not in stored
                ]
            if rows:
                benchmark.folder.path.mkdir(parents=True, exist_ok=True)
                write_rows(benchmark.folder.completions_path, [*benchmark.folder.completions(), *rows])
                self.progress.note(f"{benchmark.suite.name}: {len(rows)} answers are carried over")

    def report(self, built: Mapping[str, Path], than: str, notes: Sequence[str]) -> BenchResult:
        """Write the pages, compare with an earlier bench, and add to history and summaries.

        Raises:
            DataError: no model has a verdict.
        """
        history = History(self.state / "history.jsonl")
        rows: list[HistoryRow] = []
        for suite in built:
            folder = RunFolder(self.folder / suite)
            if not folder.scores_path.exists():
                continue
            loaded = load_run_folder(folder.path)
            summary = whole_summary(loaded)
            write_html(folder.path, loaded, summary)
            found = [*failures(summary, None)]
            for model in dict.fromkeys(one.name for one in self.models):
                about = tuple(line for line in found if model in line)
                if row := self._row(history.before(self.run, suite, model, than), loaded, suite, model):
                    rows.append(row.model_copy(update={"complaints": about}))
        if not rows:
            raise DataError(f"{self.folder}: no model has a verdict on any problem; {'; '.join(notes)}")
        history.add(rows)
        write_summaries(self.state, history, self.run, notes)
        self._remove_old_tasks()
        return BenchResult(self.run, tuple(rows), tuple(notes), self.steps)

    def _row(self, before: HistoryRow | None, loaded: LoadedRun, suite: str, model: str) -> HistoryRow | None:
        """Return the row of a model on a suite; None if it has no verdict."""
        whole = _rate(loaded, model)
        if whole is None:
            return None
        row = HistoryRow(
            run=self.run, date=self.date, revision=_revision(self.root), suite=suite, model=model,
            data=f"runs/{self.run}/{suite}", all=whole, alpha=self.settings.alpha,
        )  # fmt: skip
        if before is None:
            return row
        row = row.model_copy(update={"than": before.run})
        try:
            earlier = load_run_folder(self.state / before.data)
        except DataError as error:
            return row.model_copy(update={"verdict": "cannot be decided", "why": str(error)})
        known = {(one.id, one.block_hash) for one in earlier.problems}
        old = {one.id for one in loaded.problems if (one.id, one.block_hash) in known}
        fresh = {one.id for one in loaded.problems} - old
        parts = {"old": _rate(loaded, model, old), "new": _rate(loaded, model, fresh)}
        return row.model_copy(update={**parts, **_difference(earlier, loaded, model, self.settings.alpha)})

    def _remove_old_tasks(self) -> None:
        """Remove the tasks of older benches: each folder has the whole project with its packages."""
        for suite in (self.state / "tasks").iterdir():
            folders = sorted(suite.iterdir(), key=lambda place: place.stat().st_mtime, reverse=True)
            for place in [one for one in folders if one.name != self.snapshot[:12]][_KEPT_TASKS - 1 :]:
                shutil.rmtree(place)


def _rate(run: LoadedRun, model: str, only: Collection[str] | None = None) -> Rate | None:
    found = next(model_rates(run, [model], only=only), None)
    if found is None or found.rates.is_empty():
        return None
    estimate = mean_estimate(found.rates["rate"].to_list(), found.rates, seed=0)
    return Rate(problems=estimate.problems, value=estimate.value, low=estimate.low, high=estimate.high)


def _difference(earlier: LoadedRun, later: LoadedRun, model: str, alpha: float) -> dict[str, Any]:
    """Return the fields of a row about the difference of two benches, over the problems that both have."""
    try:
        [row] = compare_runs([earlier, later], models=[model], align=["data", "isolation"]).overall[:1]
    except IncomparableError as error:
        return {"verdict": "cannot be decided", "why": str(error)}
    # The earlier bench is first.
    low, high = (None, None) if row.low is None or row.high is None else (-row.high, -row.low)
    found: dict[str, Any] = {"difference": -row.difference, "low": low, "high": high, "p_value": row.p_value}
    verdict: Verdict = "not distinguishable"
    if 2.0 ** (1 - row.groups) >= alpha:
        # Both tests give at least 2 / 2^groups, where every group speaks for the same side.
        verdict, found["why"] = "cannot be decided", f"{row.groups} independent groups are too few for p < {alpha:.2g}"
    elif row.distinguishable and row.p_value < alpha:
        verdict = "worse" if row.difference > 0 else "better"
    return {**found, "verdict": verdict}


def _revision(root: Path) -> str:
    """Return the commit that a repository is at; empty without git."""
    command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def bench(
    root: Path,
    settings: BenchSettings,
    models: Sequence[NamedModel],
    options: Mapping[str, Any],
    *,
    new_only: bool = False,
    than: str = LAST,
    opener: ClientOpener | None = None,
    progress: Progress | None = None,
) -> BenchResult:
    """Carry out one bench; the same call goes on after a stop. Arguments as of :class:`Bench`.

    ``than`` is ``LAST``, or a day: the last bench up to it is compared with.

    Raises:
        UsageError: there is no model, or a value is wrong.
        DataError: no suite can be built, or nothing has a verdict.
    """
    check_than(than)
    if not models:
        raise UsageError("no model: name one with -m, or in the table [bench] of caretbench.toml: models = […]")
    own = Bench(root, settings, models, options, opener, progress or Progress())
    built, faults = own.build()
    complaints = own.ask(own.config(built), new_only=new_only, than=than)
    return own.report(built, than, [*faults, *complaints])


def check_than(than: str) -> None:
    """Raise UsageError if ``--than`` is neither LAST nor a day."""
    if than != LAST:
        try:
            datetime.strptime(than, "%Y-%m-%d")  # noqa: DTZ007  a day, without a time
        except ValueError:
            raise UsageError(f"--than {than!r}: expected {LAST}, or a day: 2026-03-31") from None


def shown_texts(config: RunConfig) -> Iterator[tuple[str, str, int]]:
    """Yield the problems of a run: suite, id, and number of characters that prompts show."""
    for benchmark in ResolvedRun.from_config(config).benchmarks:
        for problem in benchmark.problems:
            caret = problem.caret
            yield (
                benchmark.suite.name,
                problem.id,
                len(caret.prefix) + len(caret.suffix) + sum(len(file.text) for file in caret.context),
            )
