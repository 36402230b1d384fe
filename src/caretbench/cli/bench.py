"""``caretbench bench``: the problems of a repository, built, asked and compared with last time, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from caretbench.cli.common import (
    AsJson,
    StepProgress,
    exit_on_complaints,
    open_client,
    print_json,
    print_line,
    print_notes,
    print_table,
)
from caretbench.cli.options import group_by_role, panel_option, with_options
from caretbench.runs.plans.options import COST, PROBLEMS, SAMPLING

_OPTIONS = ("base_url", "header", "prompt", "connections", "timeout", "retries", "threads", "context_tokens", "prices",
            "max_cost", "batch", "local_only", "workers")  # fmt: skip
_COMPARISON = "Comparison"
_MODEL = panel_option(SAMPLING)(
    "--model", "-m", metavar="SPEC", help="Model, as in run; may be repeated. Default: of caretbench.toml."
)
_NEW = panel_option(PROBLEMS)(
    "--new", help="Ask only about problems that are new or changed; other answers are those of the last bench."
)
_LIMIT = panel_option(PROBLEMS)(
    metavar="N", min=1, help="Build about N problems of each suite. Default: of caretbench.toml, 60."
)
_THAN = panel_option(_COMPARISON)(metavar="LAST|DAY", help="Bench to compare with: the last, or the last up to a day.")
_ALPHA = panel_option(_COMPARISON)(
    min=0.000001, max=0.5, help="Level of each test. Default: 0.05 divided by 26, for a year of weekly benches."
)
_DRY_RUN = panel_option(COST)("--dry-run", help="Build, and print the prompts and their cost; send nothing.")


@with_options(*_OPTIONS)
def bench(
    root: Annotated[Path, typer.Argument(metavar="[REPOSITORY]", help="Folder of the repository.")] = Path(),
    model: Annotated[list[str] | None, _MODEL] = None,
    new: Annotated[bool, _NEW] = False,
    limit: Annotated[int | None, _LIMIT] = None,
    than: Annotated[str, _THAN] = "LAST",
    alpha: Annotated[float | None, _ALPHA] = None,
    dry_run: Annotated[bool, _DRY_RUN] = False,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Build what is new in a repository, run, report, and compare with an earlier bench.

    Exit status 1 means that a model is distinguishably worse. All files are in .caretbench; give the same command again
    after a stop.

    Examples:
      caretbench bench -m openai/gpt-4o-mini
      caretbench bench -m server/MODEL@URL --new --than 2026-03-31
    """
    from caretbench.bench.bench import Bench
    from caretbench.bench.history import rates_table
    from caretbench.bench.settings import bench_settings
    from caretbench.reports.output.text_output import print_tables

    given = {name: value for name, value in (("alpha", alpha), ("problems", limit)) if value is not None}
    settings = bench_settings(root).model_copy(update=given)
    models = group_by_role(model or settings.models, []).get(None, [])
    with StepProgress(quiet=as_json) as steps:
        repository_bench = Bench(root, settings, models, options, than, None, steps)
        built, faults = repository_bench.build() if dry_run else ({}, [])
        result = None if dry_run else repository_bench.carry_out(new_only=new)
    print_notes(result.notes if result else faults)
    if result is None:
        _print_prompts(repository_bench.config(built), as_json=as_json)
        return
    if as_json:
        rows = [row.model_dump(mode="json") for row in result.rows]
        print_json({"run": result.run, "rows": rows, "notes": result.notes, "builds": result.builds})
    else:
        print_tables([rates_table(result.run, result.rows)])
        print_line(f"\nsummary: {repository_bench.state / 'summary.md'}")
    worse = [row for row in result.rows if row.verdict == "worse"]
    exit_on_complaints([f"worse: {row.model} on {row.suite}: {row.change}" for row in worse])


def _print_prompts(config: Any, *, as_json: bool) -> None:
    """Print the problems that prompts are about, where their whole texts are, and the forecast of the run."""
    from caretbench.cli.forecast import print_forecast
    from caretbench.models import without_sending
    from caretbench.runs.forecast import forecast_run
    from caretbench.runs.plans.plan import ResolvedRun

    plan = ResolvedRun.from_config(config)
    for entry in () if as_json else plan.suites:
        sizes = [(problem.id, f"{len(problem.shown.model_dump_json()):,}") for problem in entry.problems]
        print_table(sizes, (f"prompts of {entry.suite.name}", "characters"))
    for entry in () if as_json else config.suites:
        print_line(f"whole texts: caretbench show {entry.name} --data {entry.data} --prompts FILE")
    print_forecast(plan, forecast_run(plan, without_sending(open_client)), as_json=as_json)
