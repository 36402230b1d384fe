"""``caretbench run``: generation, judging, scoring and report in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import AsJson, Html, Steps, end, note, open_client, say, say_json
from caretbench.cli.options import with_options
from caretbench.runs.plans.options import OPTIONS, OVER_A_FILE

if TYPE_CHECKING:
    from caretbench.runs.plans.config import RunConfig
    from caretbench.runs.runner import RunResult


@with_options(*(option.name for option in OPTIONS))
def run(
    command_line: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            help="The suite, devbench for example; or a run file, FILE.toml.", metavar="SUITE|FILE"
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="SPEC",
            help="A model: PROVIDER/MODEL, or NAME=PROVIDER/MODEL; may be repeated. grader=… judges.",
        ),
    ] = None,
    grader_base_url: Annotated[str | None, typer.Option(help="The graders' address.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; send nothing.")
    ] = False,
    html: Html = True,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Ask models, then score what they answered.

    The same command goes on after a stop; nothing is asked twice.

    Example: caretbench run devbench -m gguf/smollm2 --limit 12
    """
    from caretbench.cli.forecast import print_forecast
    from caretbench.runs.forecast import forecast
    from caretbench.runs.plans.plan import Plan
    from caretbench.runs.runner import run as carry_out

    source = Path(target) if target.endswith(".toml") else None
    config = (
        _of_file(source, model, grader_base_url, options, command_line)
        if source
        else _of_options(target, model, grader_base_url, options)
    )
    plan = Plan.of(config, source)
    if dry_run:
        print_forecast(plan, forecast(plan, open_client), as_json=as_json)
        return
    with Steps(quiet=as_json) as steps:
        result = carry_out(plan, open_client, steps, _probe)
    complaints = [*result.complaints]
    if config.score:
        complaints += _show(result, config, several=len(plan.benchmarks) > 1, html=html, as_json=as_json)
    end(complaints)


def _of_file(
    path: Path,
    models: list[str] | None,
    grader_base_url: str | None,
    options: dict[str, Any],
    command_line: typer.Context,
) -> RunConfig:
    """The configuration of a run file, and over it the options that may win.

    Raises:
        ValueError: an option belongs into the file.
        DataError: the file is wrong.
    """
    from caretbench.cli.options import said
    from caretbench.runs.plans.config import RunConfig
    from caretbench.runs.plans.options import BY_NAME, tables_of

    given = said(command_line, options)
    flags = {name: (BY_NAME[name].flags or (f"--{name.replace('_', '-')}",))[0] for name in given}
    refused = [flags[name] for name in given if name not in OVER_A_FILE]
    refused += [
        flag for flag, value in (("--model", models), ("--grader-base-url", grader_base_url)) if value
    ]
    if refused:
        raise ValueError(f"{', '.join(refused)}: a run file says this itself; change it there")
    return RunConfig.load(path, **tables_of(given)["run"])


def _of_options(
    suite: str, models: list[str] | None, grader_base_url: str | None, options: dict[str, Any]
) -> RunConfig:
    """The configuration that options make.

    Raises:
        ValueError: an option is wrong.
    """
    from caretbench.runs.plans.config import config_of
    from caretbench.runs.plans.roles import GRADER, by_role

    named = by_role(models or (), [GRADER])
    graders = named.get(GRADER, [])
    if grader_base_url and not graders:
        raise ValueError("--grader-base-url: nobody judges; name a grader: -m grader=PROVIDER/MODEL")
    if options["base_url"] and graders and not grader_base_url:
        note(
            "--base-url is for the models that are measured; graders are asked at their provider's own address, or at "
            "--grader-base-url"
        )
    return config_of(suite, options, named.get(None, []), graders, grader_base_url)


def _probe(asking: Any) -> None:
    """Ask a model some short things, and say what is amiss.

    Raises:
        ValueError: it does not answer.
        MachineError: it cannot be asked.
    """
    from caretbench.inspect.probe import probe

    report = probe(asking.client, asking.strategy)
    if not report.answers:
        raise ValueError(report.warning or f"{asking.name} does not answer")
    note(f"{asking.name}: the probe got {report.answered} answers to {report.asked} requests")
    if report.warning:
        note(report.warning)


def _show(result: RunResult, config: RunConfig, *, several: bool, html: bool, as_json: bool) -> list[str]:
    """Print the numbers of every folder; gives what is to be complained of. Several are one list in JSON."""
    from caretbench.cli.report import show
    from caretbench.reports.run_summary import failures

    summaries = []
    for folder in result.folders:
        if len(result.folders) > 1 and not as_json:
            say(f"\n{folder.path}")
        summaries.append(show(folder, html=html, as_json=as_json, quiet=several and as_json))
    if several and as_json:
        say_json([summary.model_dump(mode="json") for summary in summaries])
    return [line for summary in summaries for line in failures(summary, config.fail_under)]
