"""``caretbench run``: generation, judging, scoring and report in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import (
    AsJson,
    Html,
    StepProgress,
    check_access,
    exit_on_complaints,
    open_client,
    print_json,
    print_line,
    print_note,
    print_notes,
)
from caretbench.cli.options import (
    cost_option,
    group_by_role,
    judging_option,
    problems_option,
    sampling_option,
    with_options,
)
from caretbench.errors import UsageError
from caretbench.runs.plans.options import OPTIONS, OVERRIDES_RUN_FILE

if TYPE_CHECKING:
    from caretbench.runs.plans.config import RunConfig
    from caretbench.runs.runner import RunResult


# Long: a command is declared by its options.
@with_options(*(option.name for option in OPTIONS))
def run(
    command_line: typer.Context,
    target: Annotated[
        str,
        typer.Argument(help="Name of the suite; all: every suite; or a run file, FILE.toml.", metavar="SUITE|all|FILE"),
    ],
    model: Annotated[
        list[str] | None,
        sampling_option(
            "--model",
            "-m",
            metavar="SPEC",
            help="Model: PROVIDER/MODEL or NAME=PROVIDER/MODEL. judge=PROVIDER/MODEL adds a judge. May be repeated.",
        ),
    ] = None,
    judge_base_url: Annotated[
        str | None, judging_option(help="Address of the judges' provider. Default: the provider's own.")
    ] = None,
    project: Annotated[
        str | None,
        problems_option(
            metavar="SOURCE",
            help="Make problems of this project first, in tasks/, of at most --limit places, and run on them.",
        ),
    ] = None,
    detect: Annotated[
        float | None,
        problems_option(
            metavar="POINTS",
            min=0.1,
            max=100,
            help="Set --limit so that a difference of POINTS between two models is found in 8 of 10 comparisons.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, cost_option("--dry-run", help="Print the number of requests and their cost; send nothing.")
    ] = False,
    pilot: Annotated[
        int | None,
        cost_option(
            metavar="N",
            min=1,
            help="With --typing and --dry-run: ask about N problems, and estimate the requests of all by them.",
        ),
    ] = None,
    html: Html = True,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Send prompts to models, score the answers and write a report.

    Run the same command again to resume: no request is sent twice.

    Examples:
      caretbench run devbench -m gguf/smollm2 --limit 12
      caretbench run all -m server/MODEL@URL --minutes 20
    """
    source = Path(target) if target.endswith(".toml") else None
    if project is not None:
        if source or options["data"] or target == "all":
            raise UsageError("--project needs the name of one suite; it cannot be combined with --data or a run file")
        options["data"] = str(_build_project(target, project, options["limit"], quiet=as_json))
    config = (
        _config_from_file(source, model, judge_base_url, options, command_line)
        if source
        else _config_from_options(target, model, judge_base_url, options)
    )
    if detect is not None:
        config = _with_limit(config, source, detect)
    if pilot is not None and not (dry_run and config.typing):
        raise UsageError("--pilot: give it with --typing and --dry-run")
    if dry_run:
        if pilot is not None:
            _ask_pilot(config, source, pilot, quiet=as_json)
        _print_forecast(config, source, as_json=as_json)
    else:
        _run(config, source, html=html, as_json=as_json)


def _with_limit(config: RunConfig, source: Path | None, points: float) -> RunConfig:
    """Return the configuration with the limit that finds a difference; print it, what it is based on, and its cost.

    A run that was begun goes on with its own limit: another one would be a run of other problems.

    Raises:
        UsageError: the number of problems is set elsewhere.
    """
    from caretbench.models import without_sending
    from caretbench.reports.results.detection import detection_of
    from caretbench.runs.forecast import forecast_run
    from caretbench.runs.plans.config import ALL_SUITES
    from caretbench.runs.plans.plan import ResolvedRun
    from caretbench.runs.runner import begun_limit

    if len(config.suites) != 1 or config.suites[0].name == ALL_SUITES:
        raise UsageError("--detect: give it with the name of one suite; --minutes N chooses for several")
    if source is not None or config.suites[0].limit is not None or config.suites[0].per_cell is not None:
        where = f"{source}, where limit is set" if source else "--limit or --per-cell"
        raise UsageError(f"--detect chooses the number of problems: it cannot be combined with {where}")
    [resolved] = ResolvedRun.from_config(config).suites
    limit, basis = begun_limit(resolved), f"with which {resolved.folder.path} was begun"
    if limit is None:
        stored = [path.parent for path in resolved.folder.path.parent.glob("*/manifest.json")]
        limit, basis = detection_of(resolved, points / 100, stored)
        basis = f"by {basis}"
    line = f"--detect {points:g}: "
    if limit is None:
        further = resolved.suite.further_data if resolved.data.name == "starter" else ""
        more = f" (more: {further})" if further else ""
        line += f"all {len(resolved.problems):,} problems are too few{more}, {basis}"
    else:
        config = config.model_copy(update={"suites": (config.suites[0].model_copy(update={"limit": limit}),)})
        line += f"--limit {limit}, of {len(resolved.problems):,} problems, {basis}"
    plan = ResolvedRun.from_config(config)
    if any(map(plan.price, plan.models)) or any(map(plan.price, plan.judges)):
        forecast = forecast_run(plan, without_sending(open_client))
        line += f"; ${forecast.expected_cost:.2f} expected, ${forecast.worst_cost:.2f} at most"
    print_note(line)
    return config


def _ask_pilot(config: RunConfig, source: Path | None, problems: int, *, quiet: bool) -> None:
    """Ask about some problems of each suite; their answers are stored, so that the run asks about the others only."""
    from caretbench.runs.plans.plan import ResolvedRun
    from caretbench.runs.runner import run as run_plan
    from caretbench.runs.runner import with_limits

    unscored = config.model_copy(update={"score": False, "judges": (), "minutes": None})
    plan = ResolvedRun.from_config(unscored, source, check_access)
    limits = {place: problems for place, resolved in enumerate(plan.suites) if len(resolved.problems) > problems}
    with StepProgress(quiet=quiet) as steps:
        exit_on_complaints(run_plan(with_limits(plan, limits), open_client, steps).complaints)


def _print_forecast(config: RunConfig, source: Path | None, *, as_json: bool) -> None:
    from caretbench.cli.forecast import print_forecast
    from caretbench.models import without_sending
    from caretbench.runs.forecast import forecast_run
    from caretbench.runs.plans.plan import ResolvedRun

    plan = ResolvedRun.from_config(config, source)
    print_forecast(plan, forecast_run(plan, without_sending(open_client)), as_json=as_json)


def _run(config: RunConfig, source: Path | None, *, html: bool, as_json: bool) -> None:
    from caretbench.runs.plans.plan import ResolvedRun
    from caretbench.runs.runner import run as run_plan

    plan = ResolvedRun.from_config(config, source, check_access)
    with StepProgress(quiet=as_json) as steps:
        result = run_plan(plan, open_client, steps, _probe)
    complaints = [*result.complaints]
    if config.score:
        complaints += _show(result, config, several=plan.is_tolerant, html=html, as_json=as_json)
    exit_on_complaints(complaints)


def _build_project(suite: str, project: str, limit: int | None, *, quiet: bool) -> Path:
    """Return the folder with the problems of a project, which are built if they are not there.

    A limit bounds the candidates, too: a gate of all took nine minutes before a newcomer's first two answers.

    Raises:
        UsageError: the suite makes no problems of a project.
        DataError: the project cannot be used, or gives no problem.
    """
    from caretbench.api import build_problems
    from caretbench.build import load_builder
    from caretbench.build.project_sources import folder_names
    from caretbench.build.sources.fetching.source_spec import parse_source
    from caretbench.errors import AnotherBuildError, DataError

    if not any(option.name == "setup" for option in load_builder(suite).options):
        raise UsageError(f"--project: {load_builder(suite).suite.title} makes no problems of a project and its tests")
    [name] = folder_names([parse_source(project)])
    folder = Path("tasks") / (f"{suite}-{name}-{limit}" if limit else f"{suite}-{name}")
    values: dict[str, Any] = {"setup": "auto", **({"max_candidates": limit} if limit else {})}
    with StepProgress(quiet=quiet) as steps:
        try:
            result = build_problems(suite, [project], folder, progress=steps, **values)
        except AnotherBuildError:
            raise DataError(
                f"--project {project}: it changed since its problems were made in {folder}; remove that folder, or "
                f"make others: caretbench build {suite} {project} --setup auto -o NEW, then run with --data NEW"
            ) from None
    print_notes((*result.notes, *(() if quiet else result.lines)))
    if not result.usable:
        raise DataError(f"{project}: no problem passed the gate; nothing to run")
    return folder


def _config_from_file(
    path: Path,
    models: list[str] | None,
    judge_base_url: str | None,
    options: dict[str, Any],
    command_line: typer.Context,
) -> RunConfig:
    """Return the configuration of a run file, with the options that override it.

    Raises:
        UsageError: an option must be set in the file.
        DataError: the file is wrong.
    """
    from caretbench.cli.options import explicit_options
    from caretbench.runs.plans.config import RunConfig
    from caretbench.runs.plans.options import OPTIONS_BY_NAME, options_to_tables

    explicit = explicit_options(command_line, options)
    flags = {name: (OPTIONS_BY_NAME[name].flags or (f"--{name.replace('_', '-')}",))[0] for name in explicit}
    refused = [flags[name] for name in explicit if name not in OVERRIDES_RUN_FILE]
    refused += [flag for flag, value in (("--model", models), ("--judge-base-url", judge_base_url)) if value]
    if refused:
        raise UsageError(f"{', '.join(refused)}: set it in the run file instead")
    return RunConfig.load(path, **options_to_tables(explicit)["run"])


def _config_from_options(
    suite: str, models: list[str] | None, judge_base_url: str | None, options: dict[str, Any]
) -> RunConfig:
    """Return the configuration of command-line options.

    Raises:
        UsageError: there is no such suite; an option is wrong.
    """
    from caretbench.runs.plans.config import ALL_SUITES, config_from_options
    from caretbench.runs.plans.roles import JUDGE_ROLE
    from caretbench.suites import load_suite

    if suite != ALL_SUITES:
        load_suite(suite)  # a misspelled name is reported before a missing key
    named = group_by_role(models or (), [JUDGE_ROLE])
    judges = named.get(JUDGE_ROLE, [])
    if judge_base_url and not judges:
        raise UsageError("--judge-base-url: there is no judge; name one: -m judge=PROVIDER/MODEL")
    if options["base_url"] and judges and not judge_base_url:
        print_note(
            "--base-url applies to the models under test; judges use their provider's own address, or --judge-base-url"
        )
    return config_from_options(suite, options, named.get(None, []), judges, judge_base_url)


def _probe(tested_model: Any) -> None:
    """Probe a model, and print a warning if something is wrong.

    Raises:
        UsageError: it does not answer.
        MachineError: it cannot be reached.
    """
    from caretbench.inspect.probe import probe

    report = probe(tested_model.client, tested_model.strategy)
    if not report.answers:
        raise UsageError(report.warning or f"{tested_model.name} does not answer")
    print_note(f"{tested_model.name}: the probe got {report.answered} answers to {report.asked} requests")
    if report.warning:
        print_note(report.warning)


def _show(result: RunResult, config: RunConfig, *, several: bool, html: bool, as_json: bool) -> list[str]:
    """Print the summary of every folder (in JSON: one list, if several) and an overview; return the complaints."""
    from caretbench.cli.report import show, show_overview
    from caretbench.reports.run_summary import failures

    summaries = {}
    for folder in result.folders:
        if several and not as_json:
            print_line(f"\n{folder.path}")
        summaries[folder.path] = show(folder, html=html, as_json=as_json, of_several=several)
    complaints = [
        f"{path.name}: {line}" if several else line
        for path, summary in summaries.items()
        for line in failures(summary, config.fail_under)
    ]
    if several and as_json:
        print_json([summary.model_dump(mode="json") for summary in summaries.values()])
    elif several and summaries:
        print_line(f"\n{config.root}")
    if several and summaries:
        show_overview(config.root, summaries, form="" if as_json else "terminal", html=html)
    return complaints
