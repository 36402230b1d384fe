"""Table of a run: one row per problem, model, parameters, sample, policy and profile.

All numbers of a report are computed from this table, so that terminal, CSV and page agree.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from caretbench.extraction.policies import REFUSED, get_policy
from caretbench.files import DataError, read_lines
from caretbench.judging.answers import JudgedText, inserted_texts
from caretbench.judging.criteria import CLAIMS
from caretbench.problem import AnyCompletion, Caret, CompletionKey, Judgement, MissingSample, Problem, Score
from caretbench.profiles import PROFILES, profile_named
from caretbench.runs.judging.ratings import HumanRating, read_ratings
from caretbench.runs.keyed_scores import keyed_scores
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.typing_stage import TypedModelAnswers, typed_answers
from caretbench.runs.verdict import REFERENCE_PASSED, decided_outcome, deciding_scores, needs_execution
from caretbench.suites import baselines_of_run, suite_of_run
from caretbench.suites.answer_kinds import ERROR_KINDS_SCORER
from caretbench.suites.validity import GATE_VERSION

LABELS = ("language", "category", "mode")
"""Labels by which the numbers of every suite are broken down, if its problems have them."""

KEY = ("problem_id", "model", "parameters", "sample", "policy", "profile")
GROUP = ("model", "parameters", "policy", "profile")
"""Key of one column of a report; policies and profiles are never mixed."""

FIXED_COLUMNS: Mapping[str, Any] = dict.fromkeys(
    (
        *KEY, *LABELS, "cluster", "overlap_group", "verdict", "valid", "status",
        "counted", "passed", "stage", "message", "flags", "fault", "refusal",
        "error_kinds",
    ),
    pl.String,
) | {
    "sample": pl.Int64, "valid": pl.Boolean, "counted": pl.Boolean, "passed": pl.Boolean, "flags": pl.List(pl.String),
    "error_kinds": pl.List(pl.String),
    REFERENCE_PASSED: pl.Float64,
}  # fmt: skip
"""Columns of every table; each similarity metric of the scores adds one."""

SCORE_COLUMNS: Mapping[str, Any] = dict.fromkeys(
    ("problem_id", "model", "parameters", "sample", "scorer", "policy", "profile", "counted", "outcome"), pl.String
) | {"sample": pl.Int64, "counted": pl.Boolean}
"""Columns of :func:`score_table` that every run has."""

_OF_PROBLEM = (*LABELS, "cluster", "overlap_group", "verdict", "valid")

PARSED = "parses"
"""Value of a score that is 1 if the program parses; its detail ``fault`` is the error. It is not a metric, but is used
to classify errors."""

METRIC_ALIASES: Mapping[str, str] = {"line0_cosine": "cosine", "line0_exact_match": "line0_match"}
"""Metrics of the ``paper`` profile (for first lines) that share a column with those of ``default`` (for full texts)."""

_KINDS = f"{ERROR_KINDS_SCORER.partition('@')[0]}@"

_MESSAGE_KEYS = ("stderr", "stderr_tail", "diagnostics", "reason", "message")


@dataclass(frozen=True)
class LoadedRun:
    """Content of a run's folder, with its problems."""

    name: str
    manifest: Mapping[str, Any]
    problems: Sequence[Problem]
    completions: Sequence[AnyCompletion]
    frame: pl.DataFrame
    missing: Sequence[MissingSample] = ()
    """Requested samples without an answer."""
    judgements: Sequence[Judgement] = ()
    """Judgements; the judges' texts are kept only if they list statements of answers."""
    judgements_missing: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """Number of missing judgements by judge, parameters and criterion."""
    ratings: Sequence[HumanRating] = ()
    """Human ratings of the judged texts (``human_ratings.jsonl``)."""
    older_verdicts: int = 0
    """Number of verdicts from an older version of the gate."""
    files: RunFolder | None = None
    mutant_strengths: Mapping[str, int] = field(default_factory=dict)
    """Number of valid problems by the strength of the killed mutant."""

    @cached_property
    def inserted(self) -> tuple[JudgedText, ...]:
        """Texts that the completions insert at carets, under the run's policy."""
        problems = {problem.id: problem for problem in self.problems}
        profile = profile_named(str(self.manifest.get("profile") or PROFILES[-1]))
        return tuple(inserted_texts(self.completions, problems, get_policy(str(self.manifest["policy"])), profile))

    @cached_property
    def typed(self) -> dict[tuple[str, str], TypedModelAnswers]:
        """Answers of typing sessions, by name and parameters of the model."""
        return {} if self.files is None else typed_answers(self.files, self.problems)

    @property
    def own_rows(self) -> pl.DataFrame:
        """Rows of the table under the run's own policy and profile."""
        return self.frame.filter(*(pl.col(name) == str(self.manifest.get(name)) for name in ("policy", "profile")))

    @cached_property
    def baselines(self) -> tuple[str, ...]:
        """Names of the baselines, in display order."""
        return baselines_in(self.manifest)


def baselines_in(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the baselines in a run's manifest, in display order."""
    stated = (info["model"] for info in manifest.get("models") or () if info.get("source") == "baseline")
    return baselines_of_run(manifest.get("suite"), stated)


def load_run(folder: Path, problems: Sequence[Problem]) -> LoadedRun:
    """Return the content of a run's folder: manifest, completions, scores, judgements and verdicts of the gate.

    Raises:
        DataError: a file is missing or malformed, or a row names a problem that is not among ``problems``.
    """
    manifest_path = folder / "manifest.json"
    try:
        manifest = json.loads(manifest_path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{manifest_path}: cannot be read ({error}); is {folder} a run's folder?") from None
    if not isinstance(manifest, dict):
        raise DataError(f"{manifest_path}: expected a JSON object, found {type(manifest).__name__}")
    files = RunFolder(folder)
    _check_is_scored(files)
    if not files.completions_path.exists():
        raise DataError(f"{files.completions_path}: cannot be read (No such file or directory)")
    completions = list(files.stored_completions())
    verdicts_path = folder / "validity.jsonl"
    suite = suite_of_run(manifest.get("suite"))
    version = suite.gate_version if suite else GATE_VERSION
    verdicts, older, strengths = read_verdicts(verdicts_path, version) if verdicts_path.exists() else ({}, 0, {})
    return LoadedRun(
        folder.name,
        manifest,
        problems,
        completions,
        frame=_frame(problems, keyed_scores(files.scores_path), verdicts),
        missing=list(files.missing()),
        judgements=[
            row if CLAIMS in row.values else row.model_copy(update={"text": None}) for row in files.judgements()
        ],
        judgements_missing=missing_judgement_counts(files),
        ratings=read_ratings(files),
        files=files,
        older_verdicts=older,
        mutant_strengths=Counter(strengths[problem.id] for problem in problems if problem.id in strengths),
    )


def missing_judgement_counts(folder: RunFolder) -> Counter[tuple[str, str, str]]:
    """Return the number of missing judgements by judge, parameters and criterion."""
    return Counter((row.judge, row.parameters, row.criterion) for row in folder.missing_judgements())


def read_verdicts(path: Path, version: int = GATE_VERSION) -> tuple[dict[str, str], int, dict[str, str]]:
    """Return the gate's verdicts by problem, the number of outdated ones, and strengths of mutants by valid problem.

    Raises:
        DataError: a row has no problem or no verdict.
    """
    verdicts, gates, strengths = {}, {}, {}
    for number, row in read_lines(path, allow_partial_last_line=True):
        try:
            verdicts[str(row["problem_id"])] = str(row["verdict"])
        except KeyError as error:
            raise DataError(f"{path}:{number}: the row has no {error}") from None
        gates[row["problem_id"]] = row.get("gate", 1)
        strengths[str(row["problem_id"])] = (row.get("details") or {}).get("strength", "")
    of_valid = {name: strength for name, strength in strengths.items() if strength and verdicts[name] == "valid"}
    return verdicts, sum(gate != version for gate in gates.values()), of_valid


def score_table(folder: Path) -> pl.DataFrame:
    """Return all score rows of a run's folder, one per row, without their details.

    Returns:
        The fields of a score row but ``details``, then a column of numbers for each value, null where a row does not
        have it. Rows are in the order of the file.

    Raises:
        DataError: this is no run, it is not scored yet, or a row is damaged.
    """
    files = RunFolder(folder)
    files.manifest()
    _check_is_scored(files)
    keys: list[tuple[object, ...]] = []
    values: list[Mapping[str, float]] = []
    for key, score in keyed_scores(files.scores_path):
        keys.append((*key, score.scorer, score.policy, score.profile, score.counted, score.outcome))
        values.append(score.values)
    names = dict.fromkeys(name for row in values for name in row)
    if taken := sorted(names.keys() & SCORE_COLUMNS):
        raise DataError(f"{files.scores_path}: a value is called {taken[0]!r}, as a field of the rows is; rename it")
    measured = pl.DataFrame({name: pl.Series([row.get(name) for row in values], dtype=pl.Float64) for name in names})
    return pl.DataFrame(keys, schema=SCORE_COLUMNS, orient="row").hstack(measured)


def _check_is_scored(files: RunFolder) -> None:
    if not files.scores_path.exists():
        raise DataError(
            f"{files.path}: not scored yet (no scores.jsonl); repeat the command that began the run to continue it"
        )


def build_frame(
    problems: Iterable[Problem], scores: Iterable[Score], verdicts: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return the table of a run.

    Args:
        problems: Problems of the run.
        scores: Score rows; rows of several scorers for one completion become one row of the table.
        verdicts: Verdicts of the gate by problem; ``valid`` is null without one.

    Returns:
        One row per completion, policy and profile. ``passed`` is true if all checks passed, and null without a
        verdict; ``status`` is that of the decisive check (:func:`caretbench.runs.verdict.decided_outcome`);
        ``error_kinds`` are the kinds by the text, null if they were not measured.

    Raises:
        DataError: a score names an unknown problem.
    """
    return _frame(problems, ((score.completion_key, score) for score in scores), verdicts or {})


def _frame(
    problems: Iterable[Problem], scores: Iterable[tuple[CompletionKey, Score]], verdicts: Mapping[str, str]
) -> pl.DataFrame:
    lines = [_problem_columns(problem, verdicts) for problem in problems]
    executed = {line["problem_id"]: line.pop("executed") for line in lines}
    grouped: dict[tuple[object, ...], list[Score]] = defaultdict(list)
    for completion, score in scores:
        if completion[0] not in executed:
            raise DataError(f"a score names the problem {completion[0]!r}, which the suite does not have")
        grouped[(*completion, score.policy, score.profile)].append(score)
    # Equal answers share their scores: 80,940 completions of nine models have 11,000 groups of them.
    places: dict[tuple[object, ...], int] = {}
    measured: list[dict[str, Any]] = []
    rows: list[int] = []
    for key, group in grouped.items():
        ran = executed[str(key[0])]
        index = places.setdefault((ran, *map(id, group)), len(measured))
        if index == len(measured):
            measured.append(_measured_columns(group, executed=ran))
        rows.append(index)
    metrics = dict.fromkeys(name for columns in measured for name in columns if name not in FIXED_COLUMNS)
    schema = {**FIXED_COLUMNS, **dict.fromkeys(metrics, pl.Float64)}
    of_problem = ("problem_id", *_OF_PROBLEM)
    of_scores = [name for name in schema if name not in KEY and name not in of_problem]
    keys = pl.DataFrame(list(grouped), schema={name: schema[name] for name in KEY}, orient="row")
    of_rows = pl.DataFrame(measured, schema={name: schema[name] for name in of_scores})[rows]
    labels = pl.DataFrame(lines, schema={name: schema[name] for name in of_problem})
    return (
        pl.concat([keys, of_rows], how="horizontal").join(labels, on="problem_id", how="left").select(*schema).sort(KEY)
    )


def model_titles(models: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the titles of models by name and parameters; names with several parameters get the start of the hash."""
    keys = sorted(set(models))
    names = Counter(name for name, _ in keys)
    return {key: f"{key[0]} ({key[1][:8]})" if names[key[0]] > 1 else key[0] for key in keys}


def metric_columns(frame: pl.DataFrame) -> list[str]:
    """Return the similarity metrics of the table."""
    return [name for name in frame.columns if name not in FIXED_COLUMNS]


def main_labels(problem: Problem) -> dict[str, str | None]:
    """Return the :data:`LABELS` of a problem; the language of a caret is known without a label."""
    labels = {name: problem.label(name) if name in problem.labels else None for name in LABELS}
    if labels["language"] is None and isinstance(problem.shown, Caret):
        labels["language"] = problem.shown.language
    return labels


def _problem_columns(problem: Problem, verdicts: Mapping[str, str]) -> dict[str, Any]:
    verdict = verdicts.get(problem.id)
    return {
        "problem_id": problem.id,
        "executed": needs_execution(problem),
        **main_labels(problem),
        "cluster": problem.cluster,
        "overlap_group": problem.overlap_group,
        "verdict": verdict,
        "valid": None if verdict is None else verdict == "valid",
    }


def _measured_columns(scores: Sequence[Score], *, executed: bool) -> dict[str, Any]:
    """Return what the scores of one completion say: its verdict, its error kinds and its similarities."""
    row = _check_columns(scores, executed=executed) | {"refusal": _refusal(scores)}
    for score in scores:
        if score.scorer.startswith(_KINDS):
            row["error_kinds"] = [name for name, value in score.values.items() if value]
            continue
        if PARSED in score.values:
            row["fault"] = str(score.details.get("fault") or ("" if score.values[PARSED] >= 1.0 else "syntax"))
        row |= {
            METRIC_ALIASES.get(name, name): value
            for name, value in score.values.items()
            if name not in FIXED_COLUMNS and name != PARSED
        }
    return row


def _check_columns(scores: Sequence[Score], *, executed: bool) -> dict[str, Any]:
    """Return the verdict of all check scorers of one completion; a check without a verdict outweighs a failure."""
    checks = deciding_scores(scores, executed=executed)
    if not checks:
        return dict.fromkeys(("status", "counted", "passed", REFERENCE_PASSED, "stage", "message", "flags"))
    decision = decided_outcome(checks)
    decisive = checks[decision.decisive]
    messages = (decisive.details.get(key) for key in _MESSAGE_KEYS)
    stage = decisive.details.get("stage")
    return {
        "status": decision.outcome,
        "counted": decisive.counted,
        "passed": decision.passed,
        REFERENCE_PASSED: next(
            (check.values[REFERENCE_PASSED] for check in checks if REFERENCE_PASSED in check.values), None
        ),
        "stage": None if stage is None else str(stage),
        "message": next((str(message) for message in messages if message), None),
        "flags": _flags(checks),
    }


def _refusal(scores: Iterable[Score]) -> str | None:
    """Return the reason for which an answer was refused, its length for example; None if it was not."""
    reasons = (str(score.details.get("reason") or "") for score in scores)
    return next((reason.removeprefix(REFUSED) for reason in reasons if reason.startswith(REFUSED)), None)


def _flags(checks: Sequence[Score]) -> list[str]:
    """Return the flags of an answer's static scan, each once; an empty list if there are none."""
    listed = (check.details.get("flags") for check in checks)
    return list(dict.fromkeys(str(flag) for flags in listed if isinstance(flags, list) for flag in flags))
