"""``caretbench score``: recorded completions and baselines, executed and measured."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from caretbench.cli.common import AsJson, Data, Limit, Select, Steps, SuiteName, Workers, note, say, select

if TYPE_CHECKING:
    from caretbench.execution.types import Executor
    from caretbench.problem import Completion, Problem
    from caretbench.report.summary import Summary
    from caretbench.runs import Manifest, ModelInfo, RunFolder, ToolchainInfo
    from caretbench.suites.base import Suite

_POLICIES = {"paper": "released", "default": "syntax"}


def score(
    suite_name: SuiteName,
    data: Data = "starter",
    completions: Annotated[
        list[Path] | None,
        typer.Option(
            help="Recorded completions: a folder of the released layout, or a JSONL file; may be repeated."
        ),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Only this model of the recorded ones; may be repeated.")
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="Baselines beside the models: golden,empty,stub,copy-context; or none.")
    ] = "golden,empty,stub,copy-context",
    profile: Annotated[
        str, typer.Option(help="default: as it should be scored; paper: as the released code scores.")
    ] = "default",
    policy: Annotated[
        str | None,
        typer.Option(help="Truncation policy; by default syntax, and released under the paper profile."),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="A named build of a language: cpp=common_headers; may be repeated."),
    ] = None,
    execute: Annotated[
        bool, typer.Option(help="Run the programs; without, only similarity is measured.")
    ] = True,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The run's folder (runs/SUITE-DATA-PROFILE).")
    ] = None,
    chosen: Select = None,
    limit: Limit = None,
    workers: Workers = None,
    use_cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Take known verdicts from the cache.")
    ] = True,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Exit with 1 if a model's pass@1 (0 to 1) is lower; baselines do not count."
        ),
    ] = None,
    html: Annotated[bool, typer.Option(help="Write report.html too.")] = True,
    as_json: AsJson = False,
) -> None:
    """Score completions. The same command goes on after a stop; nothing is computed twice."""
    from caretbench.extraction.policies import policy as find_policy
    from caretbench.runs import DataInfo, Manifest, RunFolder, versions
    from caretbench.scoring import Scoring, check_resumable
    from caretbench.suites import suite

    if profile not in _POLICIES:
        raise ValueError(f"--profile {profile!r}: expected paper or default")
    named: Literal["paper", "default"] = "paper" if profile == "paper" else "default"
    house = suite(suite_name)
    loaded = house.load(data)
    problems = select(house, loaded.problems, chosen, limit)
    truncation = find_policy(policy or _POLICIES[named])
    folder = RunFolder(output or Path("runs") / f"{suite_name}-{loaded.name}-{named}")
    manifest = Manifest(
        suite=suite_name,
        data=DataInfo(
            name=loaded.name, hash=loaded.hash, problems=len(loaded.problems), selected=len(problems)
        ),
        policy=truncation.key,
        profile=named,
        executed=execute,
        variants=_variants(variant or []),
        versions=versions(),
    )
    names = [] if baseline == "none" else [name.strip() for name in baseline.split(",") if name.strip()]
    executor = _executor(workers, use_cache=use_cache) if execute else None
    seen: dict[tuple[str, str], ModelInfo] = {}
    unknown: dict[Path, list[str]] = {}
    with folder.locked(), Steps(quiet=as_json) as steps:
        # All is read and checked before anything is written.
        earlier = folder.manifest() if folder.manifest_path.exists() else None
        manifest = check_resumable(folder, manifest)
        scoring = Scoring(
            house, problems, folder, truncation, named, executor, dict(manifest.variants), report=steps
        )  # fmt: skip
        gather = partial(_gather, house, problems, completions or [], model or [], names, seen)
        scoring.check_completions(gather(unknown))
        _refuse_nothing(completions or [], model or [], seen)
        _name_unknown(unknown, {problem.id for problem in loaded.problems}, loaded.name)
        known = {(info.model, info.parameters) for info in manifest.models}
        manifest.models += [info for key, info in seen.items() if key not in known]
        stored = list(folder.problems()) if folder.problems_path.exists() else []
        together = {problem.id: problem for problem in (*stored, *problems)}
        manifest.data.selected = len(together)
        if earlier is not None:  # this command may be about some of the run's problems only
            manifest.toolchains, manifest.isolation = earlier.toolchains, earlier.isolation
            manifest.left_out = earlier.left_out
        if executor is not None:
            manifest.isolation = executor.isolation().model_dump()
            manifest.toolchains = manifest.toolchains | _toolchains(problems)
        folder.write_manifest(manifest)
        folder.write_problems(together.values())
        scoring.add_completions(gather({}))
        manifest.left_out = scoring.run()
        folder.write_manifest(manifest)
        _copy_verdicts(folder, manifest)
    _finish(folder, fail_under=fail_under, html=html, as_json=as_json)


def _gather(
    house: Suite,
    problems: list[Problem],
    paths: list[Path],
    models: list[str],
    baselines: list[str],
    seen: dict[tuple[str, str], ModelInfo],
    passed_over: dict[Path, list[str]],
) -> Iterator[Completion]:
    """All completions that are asked for; fills ``seen``, and by path the ids of the problems not chosen."""
    from caretbench.runs import ModelInfo
    from caretbench.suites.baselines import BASELINES, baseline

    by_id = {problem.id: problem for problem in problems}
    for name in baselines:
        for completion in baseline(name, problems):
            seen.setdefault((name, "none"), ModelInfo(model=name, source="baseline"))
            yield completion
    for path in paths:
        for completion in house.recorded(path, by_id, models, passed_over.setdefault(path, []).append):
            if completion.model in BASELINES and completion.parameters == "none":
                continue  # another run's completions, to be scored anew: baselines are written anew too
            if completion.model in BASELINES:
                raise ValueError(
                    f"{path}: {completion.model!r} is the name of a baseline; give the model another name, by the "
                    'field "model" or by the file\'s name'
                )
            key = (completion.model, completion.parameters)
            seen.setdefault(key, ModelInfo(model=key[0], source="recorded", parameters=key[1]))
            yield completion


def _refuse_nothing(paths: list[Path], models: list[str], seen: dict[tuple[str, str], ModelInfo]) -> None:
    if models and not paths:
        raise ValueError("--model chooses among recorded completions: say where they are with --completions")
    recorded = {info.model for info in seen.values() if info.source == "recorded"}
    named = ", ".join(map(str, paths))
    if paths and not recorded:
        raise ValueError(f"{named}: no completion belongs to the chosen problems")
    absent = [name for name in models if name not in recorded]
    if absent:
        raise ValueError(
            f"{named}: no completions of {', '.join(absent)}; models here: {', '.join(sorted(recorded))}"
        )


def _name_unknown(passed_over: dict[Path, list[str]], known: set[str], data: str) -> None:
    """A row about a problem that the data do not have is a slip of the pen; one that was not selected is none."""
    for path, identities in passed_over.items():
        unknown = [identity for identity in identities if identity not in known]
        if unknown:
            note(
                f"{path}: {len(unknown)} rows passed over, about problems that {data} does not have: "
                f"{unknown[0]!r} is the first"
            )


def _variants(options: list[str]) -> dict[str, str]:
    from caretbench.execution.runtimes import load_runtime
    from caretbench.languages import language

    chosen = {}
    for option in options:
        name, found, value = option.partition("=")
        if not found:
            raise ValueError(f"--variant {option!r}: expected language=name, cpp=common_headers for example")
        spoken = language(name).name
        known = load_runtime(spoken).variants
        if value not in known:
            raise ValueError(f"--variant {option!r}: {spoken} has {', '.join(known) or 'no variants'}")
        chosen[spoken] = value
    return chosen


def _executor(workers: int | None, *, use_cache: bool) -> Executor:
    from caretbench.execution.engine import LocalExecutor

    return LocalExecutor(workers=workers, use_cache=use_cache)


def _toolchains(problems: list[Problem]) -> dict[str, ToolchainInfo]:
    from caretbench.execution.runtimes import RUNTIMES, load_runtime
    from caretbench.runs import ToolchainInfo

    found: dict[str, ToolchainInfo] = {}
    for name in dict.fromkeys(problem.caret.language for problem in problems):
        if name not in RUNTIMES:
            note(f"{name} is skipped: programs in this language are not run")
            continue
        toolchain = load_runtime(name).toolchain()
        if toolchain.available:
            found[name] = ToolchainInfo(version=toolchain.version, fingerprint=toolchain.fingerprint)
        else:
            note(f"{name} is skipped: {toolchain.remedy}")
    return found


def _copy_verdicts(folder: RunFolder, manifest: Manifest) -> None:
    """The gate's stored verdicts on this data, so that the report can show the valid problems apart."""
    from caretbench.cli.validate import verdicts_path
    from caretbench.files import write_atomically

    stored = verdicts_path(manifest.suite, manifest.data.hash)
    if stored.exists():
        write_atomically(folder.validity_path, stored.read_bytes())


def _finish(folder: RunFolder, *, fail_under: float | None, html: bool, as_json: bool) -> None:
    from caretbench.cli.report import load, print_summary, summarised, write_html

    run = load(folder.path)
    summary = summarised(run)
    print_summary(summary, form="json" if as_json else "terminal")
    if html:
        path = write_html(folder.path, run, summary)
        if not as_json:
            say(f"\nreport: {path}")
    failures = list(_failures(summary, fail_under))
    if run.manifest.get("executed") and all(column.coverage is None for column in summary.columns):
        failures.append("no problem can be judged on this machine; the causes stand above")
    for line in failures:
        note(line)
    if failures:
        raise typer.Exit(1)


def _failures(summary: Summary, fail_under: float | None) -> Iterator[str]:
    """Why the run counts as failed: too few verdicts, or a model below the wanted rate."""
    from caretbench.report.summary import COVERAGE_WANTED

    for column in summary.columns:
        if column.coverage is not None and column.coverage < COVERAGE_WANTED:
            absent = column.samples * summary.problems - column.completions
            why = f" ({absent} answers are not there; --select chooses problems)" if absent > 0 else ""
            yield (
                f"{column.title}: coverage {column.coverage:.1%} is below {COVERAGE_WANTED:.0%}{why}; "
                "this run has failed"
            )
        rate = column.overall.pass_at.get(1)
        if fail_under is None or column.baseline:
            continue
        if rate is None:
            yield f"{column.title}: no verdict at all, so its pass@1 is not known to reach {fail_under}"
        elif rate.value < fail_under:
            yield f"{column.title}: pass@1 {rate.value:.3f} is below {fail_under}"
