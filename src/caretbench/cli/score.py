"""``caretbench score``: recorded completions and baselines, executed and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli import scoring as shared
from caretbench.cli.common import (
    AsJson,
    Data,
    Engine,
    Limit,
    Select,
    Steps,
    SuiteName,
    Workers,
    counted,
    note,
)

if TYPE_CHECKING:
    from caretbench.inspect.tasks.logs import Log
    from caretbench.problem import Completion, Problem
    from caretbench.runs.folder import ModelInfo


def score(
    suite_name: SuiteName,
    data: Data = "starter",
    completions: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Recorded completions: a folder of the released layout, a JSONL file, or a log of Inspect; may be "
            "repeated.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this model of the recorded ones; may be repeated."),
    ] = None,
    baseline: shared.Baselines = shared.ALL_BASELINES,
    profile: shared.ProfileName = "default",
    policy: shared.PolicyNames = None,
    variant: shared.Variants = None,
    execute: shared.Execute = True,
    output: shared.Output = None,
    chosen: Select = None,
    limit: Limit = None,
    workers: Workers = None,
    engine: Engine = "local",
    use_cache: shared.UseCache = True,
    fail_under: shared.FailUnder = None,
    html: shared.Html = True,
    as_json: AsJson = False,
) -> None:
    """Score completions. The same command goes on after a stop; nothing is computed twice."""
    subject = shared.Subject.of(
        suite_name, data=data, chosen=chosen, limit=limit, policy=policy, profile=profile,
        variants=variant or (), execute=execute, output=output,
    )  # fmt: skip
    names = shared.baseline_names(baseline, [subject.suite])
    executor = shared.executor(workers, use_cache=use_cache, engine=engine) if subject.execute else None
    seen: dict[tuple[str, str], ModelInfo] = {}
    unknown: dict[Path, list[str]] = {}
    with Steps(quiet=as_json) as steps, shared.Sitting(subject, executor, steps) as sitting:
        # All is read and checked before anything is written.
        logs = _logs(subject, completions or [])
        gather = partial(_gather, subject, logs, completions or [], model or [], names, seen)
        sitting.scoring.check_completions(gather(unknown))
        _refuse_nothing(completions or [], model or [], seen)
        _name_unknown(unknown, {problem.id for problem in subject.data.problems}, subject.data.name)
        _name_unanswered(logs)
        sitting.begin(seen.values())
        sitting.scoring.add_completions(gather({}))
        sitting.score()
    summary = shared.show(subject.folder, html=html, as_json=as_json)
    shared.end(list(shared.failures(summary, fail_under)))


def _gather(
    subject: shared.Subject,
    logs: Mapping[Path, Log],
    paths: list[Path],
    models: list[str],
    baselines: list[str],
    seen: dict[tuple[str, str], ModelInfo],
    passed_over: dict[Path, list[str]],
) -> Iterator[Completion]:
    """All completions that are asked for; fills ``seen``, and by path the ids of the problems not chosen."""
    from caretbench.runs.folder import ModelInfo
    from caretbench.suites.baselines import NAMES, baseline, writers_of

    by_id = {problem.id: problem for problem in subject.problems}
    for name in baselines:
        for completion in baseline(name, subject.problems, writers_of(subject.suite)):
            seen.setdefault((name, "none"), ModelInfo(model=name, source="baseline"))
            yield completion
    for path in paths:
        pass_over = passed_over.setdefault(path, []).append
        if path in logs:
            yield from _from_log(logs[path], by_id, models, seen, pass_over)
            continue
        described = _described(path)
        for completion in subject.suite.recorded(path, by_id, models, pass_over):
            if completion.model in NAMES and completion.parameters == "none":
                continue  # another run's completions, to be scored anew: baselines are written anew too
            if completion.model in NAMES:
                raise ValueError(
                    f"{path}: {completion.model!r} is the name of a baseline; give the model another name, by the "
                    'field "model" or by the file\'s name'
                )
            key = (completion.model, completion.parameters)
            info = described.get(key) or ModelInfo(model=key[0], source="recorded", parameters=key[1])
            seen.setdefault(key, info)
            yield completion


def _described(path: Path) -> dict[tuple[str, str], ModelInfo]:
    """The models of the run that a file of completions belongs to: how they were asked stays known."""
    from caretbench.runs.folder import RunFolder

    folder = RunFolder(path.parent)
    if path.name != folder.completions_path.name or not folder.manifest_path.exists():
        return {}
    return {(info.model, info.parameters): info for info in folder.manifest().models}


def _logs(subject: shared.Subject, paths: list[Path]) -> dict[Path, Log]:
    """Those of ``paths`` that are logs of Inspect."""
    from caretbench.inspect.tasks.logs import Log, is_log

    return {path: Log(path, subject.suite.name, subject.data.hash) for path in paths if is_log(path)}


def _from_log(
    log: Log,
    problems: Mapping[str, Problem],
    models: list[str],
    seen: dict[tuple[str, str], ModelInfo],
    pass_over: Callable[[str], None],
) -> Iterator[Completion]:
    for completion in log.completions(problems, pass_over):
        if not models or completion.model in models:
            key = (completion.model, completion.parameters)
            seen.setdefault(key, log.models[key])
            yield completion


def _name_unanswered(logs: Mapping[Path, Log]) -> None:
    for path, log in logs.items():
        if log.unanswered:
            note(f"{path}: samples without an answer: {counted(log.unanswered)}")


def _refuse_nothing(paths: list[Path], models: list[str], seen: dict[tuple[str, str], ModelInfo]) -> None:
    if models and not paths:
        raise ValueError("--model chooses among recorded completions: say where they are with --completions")
    recorded = {info.model for info in seen.values() if info.source != "baseline"}
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
