"""Check of a submission: rates again from the rows, a sample of the answers run again, the hash of the data."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final

import polars as pl

from caretbench.errors import CaretBenchError
from caretbench.files import DataError, write_rows
from caretbench.problem import AnyCompletion, Completion, CompletionKey
from caretbench.progress import Progress
from caretbench.reports.board.board import make_board
from caretbench.reports.board.board_records import board_records, changes, read_records, results_of
from caretbench.reports.board.board_site import BOARD_FILE, DATA_FILE
from caretbench.reports.frame import LoadedRun, read_verdicts
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.answer_counts import incomplete_warnings
from caretbench.reports.results.problem_lists import excluded_in
from caretbench.reports.run_summary import load_run_folder
from caretbench.runs.plans.config import RunConfig, SuiteConfig
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.recorded import score_recorded
from caretbench.runs.run_folder import Manifest, RunFolder
from caretbench.runs.verdict import has_verdicts
from caretbench.suites import load_problems, load_suite
from caretbench.suites.validity import verdicts_path

_SHOWN: Final = 10
"""Maximum number of differences of one kind that are named."""
_WORDS: Final = {None: "no verdict", True: "passed", False: "failed"}


@dataclass
class SubmissionReport:
    """Findings of a check. It is confirmed if nothing differs and nothing was impossible to check."""

    checked: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)

    def differ(self, about: str, faults: Iterable[str]) -> None:
        """Add differences of one kind; only the first ones are named."""
        lines = list(faults)
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        self.differences += [f"{about}: {line}" for line in (*lines[:_SHOWN], *more)]


def check_submission(path: Path, data: str | None = None, sample: int = 200, seed: int = 0) -> SubmissionReport:
    """Check the runs in a folder, and the board's files next to them.

    Args:
        path: Folder with run folders and, if a board was made of them, its ``board.json`` and ``data.parquet``.
        data: Problems to compare with, as ``--data``; by default those that each run names.
        sample: Number of answers of each run that are run again.
        seed: Random seed of the sample.

    Raises:
        DataError: there is no run in the folder, or a file is damaged.
    """
    folders = sorted({file.parent for file in path.rglob("manifest.json")})
    if not folders:
        raise DataError(f"{path}: no run in it (no manifest.json): without rows nothing can be computed again")
    report = SubmissionReport()
    _check_claims(path, folders, report)
    for folder in folders:
        run, manifest = load_run_folder(folder), RunFolder(folder).manifest()
        report.differ(folder.name, _missing_rows(run, manifest))
        source = data or manifest.data.name
        if problem := _unlike_data(run, manifest, source):
            report.unconfirmed.append(f"{folder.name}: nothing is confirmed: {problem}")
            continue
        report.differ(folder.name, _unlike_gate(run, report))
        # A choice is decided without running anything.
        if manifest.executed or run.frame["passed"].is_not_null().any():
            _check_verdicts(run, manifest, source, Random(seed), sample, report)  # noqa: S311  # no secret
        else:
            report.unconfirmed.append(f"{folder.name}: no answer could be run again")
    return report


def _check_claims(path: Path, folders: Sequence[Path], report: SubmissionReport) -> None:
    """Compare ``board.json`` and the data file with a board of the runs."""
    claims = next(iter(sorted(path.rglob(BOARD_FILE))), None)
    file = claims and claims.with_name(DATA_FILE)
    if claims is None or file is None or not file.exists():
        report.unconfirmed.append(f"{BOARD_FILE} or {DATA_FILE} is missing: no rate is claimed")
        return
    board, rows = make_board(folders)
    claimed = read_records(claims)
    # Only the numbers are compared: who made a record may say so in other words.
    report.differ(BOARD_FILE, changes(claimed, board_records(board, "")))
    report.differ(DATA_FILE, _row_differences(pl.read_parquet(file), rows))
    report.checked.append(f"{len(results_of(claimed))} rates computed again from {rows.height} rows")


def _row_differences(stated: pl.DataFrame, ours: pl.DataFrame) -> Iterator[str]:
    key = ["board", "model", "parameters", "problem_id"]
    if missing := {*key, "rate", "leads"} - {*stated.columns}:
        yield f"it has no column {', '.join(sorted(missing))}"
        return
    # Rounded: machines may sum in another order.
    said, true = (
        {row[:4]: (round(row[4], 9), row[5]) for row in rows.select(*key, "rate", "leads").iter_rows()}
        for rows in (stated, ours)
    )
    for row_key in sorted(said.keys() | true.keys()):
        if said.get(row_key) != true.get(row_key):
            words = (
                f"{row[0]:g}{'' if row[1] else ', not in the rate'}" if row else "no row"
                for row in (said.get(row_key), true.get(row_key))
            )
            yield f"{row_key[1]} on {row_key[3]}: {' in the file, '.join(words)} by the run"


def _missing_rows(run: LoadedRun, manifest: Manifest) -> Iterator[str]:
    if len(run.problems) != manifest.data.selected:
        yield f"{len(run.problems)} problems are stored, the manifest says {manifest.data.selected}"
    scored = set(run.frame.select("problem_id", "model", "parameters", "sample").unique().iter_rows())
    stored = {row.key for row in run.completions}
    for key in sorted(stored ^ scored):
        yield f"{key[1]} on {key[0]}, sample {key[3]}: there is only {'an answer' if key in stored else 'a score'}"
    yield from incomplete_warnings(ReportSource(run).recordings)


def _unlike_data(run: LoadedRun, manifest: Manifest, source: str) -> str:
    """Return the reason why these data are not those of the run; empty if they are."""
    stated = manifest.data.hash[:16] or "missing"
    try:
        loaded = load_problems(load_suite(manifest.suite), source)
    except CaretBenchError as error:
        return f"the data {source} (hash {stated}) are not here ({error})"
    if loaded.hash != manifest.data.hash:
        return f"the run's data have the hash {stated}, those here {loaded.hash[:16]}"
    by_id = {problem.id: problem for problem in loaded.problems}
    others = (problem.id for problem in run.problems if by_id.get(problem.id) != problem)
    return next((f"the run has another {other} than the data" for other in others), "")


def _unlike_gate(run: LoadedRun, report: SubmissionReport) -> Iterator[str]:
    """Yield problems with other verdicts of the gate than here: they decide which problems lead."""
    stated = dict(
        run.frame.filter(pl.col("verdict").is_not_null()).select("problem_id", "verdict").unique().iter_rows()
    )
    stored = verdicts_path(str(run.manifest["suite"]), str(run.manifest["data"]["hash"]))
    here = read_verdicts(stored)[0] if stored.exists() else {}
    if missing := stated.keys() - here.keys():
        about = f"{len(missing)} verdicts of the gate are not known here; `caretbench validate` finds them"
        report.unconfirmed.append(f"{run.name}: {about}")
    for identity in sorted(stated.keys() & here.keys()):
        if stated[identity] != here[identity]:
            yield f"{identity}: the gate says {stated[identity]} in the run, {here[identity]} here"


def _check_verdicts(
    run: LoadedRun, manifest: Manifest, source: str, random: Random, sample: int, report: SubmissionReport
) -> None:
    """Run a sample of the answers again, with baselines and excluded problems, which decide what counts."""
    decidable = {problem.id for problem in run.problems if has_verdicts(problem)}
    answers = [row for row in run.completions if row.model not in run.baselines and row.problem_id in decidable]
    chosen = random.sample(answers, min(sample, len(answers)))
    excluded = excluded_in(run, manifest.profile)
    ids = {row.problem_id for row in chosen} | {*random.sample(sorted(excluded), min(sample, len(excluded)))}
    again = _run_again(run, manifest, source, chosen, ids)
    before, after = _verdicts(run), _verdicts(again)
    counted = [row.key for row in chosen if row.problem_id not in excluded]
    decided = [key for key in counted if after.get(key) is not None]
    report.checked.append(f"{run.name}: {len(decided)} of {len(answers)} answers run again")
    if len(decided) < len(counted):
        about = f"{len(counted) - len(decided)} sampled answers have no verdict on this machine"
        report.unconfirmed.append(f"{run.name}: {about}")
    # They decide which problems count: an edited baseline raised a rate without a change to the model's own rows.
    baselines = [
        key for key, passed in after.items() if key[1] in again.baselines and key in before and passed is not None
    ]
    report.differ(
        run.name,
        (
            f"{key[1]} on {key[0]}, sample {key[3]}: {_WORDS[before.get(key)]} in the run, {_WORDS[after[key]]} here"
            for key in (*decided, *baselines)
            if after[key] is not before.get(key)
        ),
    )
    gained = sorted(excluded & ids - excluded_in(again, manifest.profile))
    report.differ(run.name, (f"{name}: excluded in the run, not here" for name in gained))


def _verdicts(run: LoadedRun) -> dict[CompletionKey, bool | None]:
    rows = run.own_rows.select("problem_id", "model", "parameters", "sample", "passed")
    return {(row[0], row[1], row[2], row[3]): row[4] for row in rows.iter_rows()}


def _run_again(
    run: LoadedRun, manifest: Manifest, source: str, answers: Sequence[AnyCompletion], ids: Collection[str]
) -> LoadedRun:
    """Return a run of these answers and the run's baselines that is scored anew, without the cache of verdicts."""
    with tempfile.TemporaryDirectory(prefix="caretbench-check-") as temporary:
        root = Path(temporary)
        write_rows(root / "answers.jsonl", [Completion(**row._asdict()) for row in answers])  # type: ignore[union-attr]
        suite = SuiteConfig(
            name=manifest.suite,
            data=source,
            profile=manifest.profile,
            policy=manifest.policy,
            variants=tuple(f"{language}={build}" for language, build in manifest.variants.items()),
        )
        plan = ResolvedRun.from_config(
            RunConfig(suites=(suite,), baselines=run.baselines, output=root / "run", cache=False)
        )
        [resolved] = plan.suites
        resolved = resolved._replace(problems=[problem for problem in resolved.problems if problem.id in ids])
        folder = score_recorded(replace(plan, suites=[resolved]), [root / "answers.jsonl"], (), Progress())
        return load_run_folder(folder.path)
