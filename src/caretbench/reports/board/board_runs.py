"""Runs of a board: those that may be compared are merged into one, by what decides their numbers."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from caretbench.files import DataError
from caretbench.grouping import grouped
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import KEY, LoadedRun
from caretbench.reports.overview import run_folders
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.problem_lists import excluded_in
from caretbench.reports.results.run_settings import ModelKey, identity_of, selection_options, variant_titles
from caretbench.reports.run_summary import load_run_folder
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.verdict import has_verdicts

RECORDED = "recorded"
"""Kind of prompt of answers that were not asked for here."""


class BoardRun(NamedTuple):
    """Merged run of one suite: same data, policy, profile, variants, isolation and kind of prompt."""

    run: LoadedRun
    prompt: str
    folders: Mapping[ModelKey, Sequence[str]]
    """Names of the folders with answers of each model."""
    manifests: Mapping[ModelKey, Mapping[str, Any]]
    """Manifest of the first one of them."""
    verdicts: Mapping[ModelKey, int]
    expected: Mapping[ModelKey, int]
    """Number of verdicts that the runs of each model should have."""
    notes: Sequence[str] = ()


def board_folders(paths: Iterable[Path]) -> list[Path]:
    """Return the run folders that are named, or lie in named folders, each once, by name.

    Raises:
        DataError: a path is no run and contains none.
    """
    by_path: dict[Path, Path] = {}
    for path in paths:
        folders = [path] if RunFolder(path).manifest_path.exists() else run_folders(path)
        if not folders:
            raise DataError(f"{path}: neither a run's folder nor a folder of scored runs")
        by_path |= {folder.resolve(): folder for folder in folders}
    return sorted(by_path.values(), key=lambda folder: (folder.resolve().name, str(folder)))


def board_runs(folders: Sequence[Path]) -> Iterator[BoardRun]:
    """Yield the runs of these folders, merged: one for each kind of prompt of runs that `compare` would accept."""
    alike: dict[tuple[str, ...], list[LoadedRun]] = defaultdict(list)
    for folder in folders:
        run = load_run_folder(folder)
        alike[(str(run.manifest.get("suite")), *identity_of(run).values())].append(run)
    for _, runs in sorted(alike.items()):
        yield from _by_prompt(_merged(runs))


def _merged(runs: Sequence[LoadedRun]) -> BoardRun:
    """Return one run with the rows of all; what a run excludes is not in it, so that others can have it."""
    folders: dict[ModelKey, list[str]] = defaultdict(list)
    verdicts, expected = Counter[ModelKey](), Counter[ModelKey]()
    texts: dict[tuple[Any, ...], str | None] = {}
    frames, manifests, notes = list[pl.DataFrame](), dict[ModelKey, Mapping[str, Any]](), list[str]()
    whole = replace(runs[0], completions=[], missing=[], judgements=[], judgements_missing={}, ratings=[])
    for read in runs:
        run = _with_own_names(read, texts)
        if run is not read:
            notes.append(f"{run.name} has other answers of a model than an earlier run; the model has a row for both.")
        excluded = excluded_in(run, str(run.manifest.get("profile")))
        frames.append(run.own_rows.filter(~pl.col("problem_id").is_in(list(excluded))))
        there = {problem.id for problem in run.problems if has_verdicts(problem)} - excluded
        for (model, parameters), rows in frames[-1].partition_by("model", "parameters", as_dict=True).items():
            key = (str(model), str(parameters))
            folders[key].append(run.name)
            manifests.setdefault(key, run.manifest)
            # A baseline may have no answer to some problems.
            due = there & set(rows["problem_id"]) if model in run.baselines else there
            verdicts[key] += rows.filter(pl.col("passed").is_not_null(), pl.col("problem_id").is_in(list(due))).height
            expected[key] += rows["sample"].n_unique() * len(due)
        new = [row for row in run.completions if row.key not in texts]
        texts |= {row.key: row.text for row in new}
        whole = replace(
            whole,
            completions=[*whole.completions, *new],
            missing=[*whole.missing, *run.missing],
            judgements=[*{row.key: row for row in (*whole.judgements, *run.judgements)}.values()],
            judgements_missing=Counter(whole.judgements_missing) + Counter(run.judgements_missing),
            ratings=[*whole.ratings, *run.ratings],
        )
    frame = pl.concat(frames, how="diagonal_relaxed").unique(list(KEY), keep="first", maintain_order=True).sort(*KEY)
    # One run may have the gate's verdicts, and another of the same problems none.
    gate_columns = [pl.col(name).drop_nulls().first().over("problem_id").alias(name) for name in ("verdict", "valid")]
    problems = {problem.id: problem for run in runs for problem in run.problems}
    whole = replace(
        whole,
        manifest={**whole.manifest, "models": [_info(*stated) for stated in manifests.items()], "excluded": {}},
        problems=[problems[identity] for identity in sorted(problems)],
        frame=frame.with_columns(gate_columns),
    )
    return BoardRun(whole, "", folders, manifests, verdicts, expected, notes)


def _info(key: ModelKey, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a manifest says about a model."""
    infos = (info for info in manifest.get("models") or () if (info["model"], info.get("parameters", "none")) == key)
    return next(infos, {"model": key[0], "parameters": key[1]})


def _with_own_names(run: LoadedRun, texts: Mapping[tuple[Any, ...], str | None]) -> LoadedRun:
    """Return the run with its name in the names of models that have other answers in an earlier run."""
    clashing = {
        row.model
        for row in run.completions
        if row.model not in run.baselines and row.key in texts and texts[row.key] != row.text
    }
    if not clashing:
        return run
    names = {model: f"{model} ({run.name})" for model in clashing}
    models = [{**info, "model": names.get(info["model"], info["model"])} for info in run.manifest.get("models") or ()]
    completions = [
        row._replace(model=names[row.model]) if row.model in names else row  # type: ignore[union-attr]  # stored ones
        for row in run.completions
    ]
    frame = run.frame.with_columns(pl.col("model").replace(names)).sort(*KEY)
    return replace(run, manifest={**run.manifest, "models": models}, completions=completions, frame=frame)


def _by_prompt(merged: BoardRun) -> Iterator[BoardRun]:
    """Yield a run for each kind of prompt, with all baselines: FIM and chat are never on one board."""
    run = merged.run
    prompts = {(row.model, row.parameters): row.prompt for row in run.completions if row.prompt}
    kinds = grouped(
        (prompts.get(key, RECORDED).partition("@")[0].partition("/")[0], key)
        for key in merged.folders
        if key[0] not in run.baselines
    )
    baselines = [key for key in merged.folders if key[0] in run.baselines]
    for kind, models in sorted(kinds.items()) or [("", [])]:
        chosen = {*models, *baselines}
        keys = pl.DataFrame(sorted(chosen), schema=["model", "parameters"], orient="row")
        part = replace(
            run,
            frame=run.frame.join(keys, on=["model", "parameters"], how="semi", maintain_order="left"),
            completions=[row for row in run.completions if (row.model, row.parameters) in chosen],
            missing=[row for row in run.missing if (row.model, row.parameters) in chosen],
        )
        yield merged._replace(run=part, prompt=kind)


class BoardModel(ReportValue):
    """Facts of a model with its parameters in a merged run, which no problem's verdict decides."""

    model: str
    parameters: str
    title: str
    baseline: bool
    coverage: float | None = None
    empty: float | None = None
    """Share of answers that are empty."""
    cost: float | None = None
    """Cost in US dollars of the answers whose price is known."""
    seconds: float | None = None
    """Median time of an answer."""
    date: str = ""
    """Day on which its first run got it, if the run says it."""
    command: str
    settings: Mapping[str, float] = {}
    """Sampling settings that are numbers."""
    runs: tuple[str, ...] = ()


def board_models(source: BoardRun) -> dict[ModelKey, BoardModel]:
    """Return the facts of the models and baselines of a merged run."""
    run = source.run
    counts = run.frame.group_by("model", "parameters").agg(pl.col("sample").n_unique())
    samples = {(model, parameters): number for model, parameters, number in counts.iter_rows()}
    report = ReportSource(run)
    empty = {(entry.model, entry.parameters): entry.empty_share for entry in report.recordings}
    facts = {}
    for key, title in sorted(variant_titles(run.manifest, samples).items()):
        info, used = _info(key, source.manifests[key]), report.usage.get(key)
        sampling = (info.get("settings") or {}).get("sampling") or {}
        facts[key] = BoardModel(
            model=key[0],
            parameters=key[1],
            title=title,
            baseline=key[0] in run.baselines,
            coverage=source.verdicts[key] / source.expected[key] if source.expected[key] else None,
            empty=empty.get(key),
            cost=used.cost if used else None,
            seconds=used.last_token.median_s if used and used.last_token else None,
            date=info.get("date", ""),
            command=_command(source.manifests[key], info, samples[key]),
            settings={name: value for name, value in sampling.items() if isinstance(value, int | float)},
            runs=tuple(source.folders[key]),
        )
    return facts


def _command(manifest: Mapping[str, Any], info: Mapping[str, Any], samples: int) -> str:
    """Return a command that makes a model's row again, from what the manifest says."""
    settings, suite, model = info.get("settings") or {}, manifest.get("suite"), shlex.quote(info["model"])
    asked = shlex.quote((settings.get("client") or {}).get("model") or info["model"])
    by_source = {"baseline": f"score {suite} --baseline {model}", "model": f"run {suite} -m {asked}"}
    verb = by_source.get(info.get("source", ""), f"score {suite} --completions FOLDER --model {model}")
    options = {"data": manifest["data"]["name"], "profile": manifest.get("profile"), "policy": manifest.get("policy")}
    options |= _settings_options(settings) | ({"samples": samples} if settings and samples > 1 else {})
    words = [f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in options.items() if value]
    words += [f"--variant {language}={build}" for language, build in (manifest.get("variants") or {}).items()]
    first, *more = [selection_options(selection) for selection in manifest.get("selections") or ()] or ["all"]
    added = f"(then with --add: {', '.join(more)})" if more else ""
    return " ".join(filter(None, ("caretbench", verb, *words, "" if first == "all" else first, added)))


def _settings_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model's settings; versions of names are the installed ones."""
    names = {name: str(settings.get(name, "")).partition("@")[0] for name in ("prompt", "context", "instruction")}
    sampling = {name: str(value) for name, value in (settings.get("sampling") or {}).items()}
    # A manifest has no settings that were not sent, and the defaults of the command are numbers.
    sampling |= {name: "none" for name in ("temperature", "top_p") if sampling and name not in sampling}
    tokens, address = (settings.get("budget") or {}).get("tokens"), (settings.get("client") or {}).get("address")
    return {**sampling, **names, "prompt_tokens": tokens, "base_url": address}
