"""``caretbench bench``: the problems of a repository, built, asked and compared with last time, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from caretbench.cli.common import (
    AsJson,
    StepProgress,
    exit_on_complaints,
    print_json,
    print_line,
    print_note,
    print_table,
)
from caretbench.cli.options import panel_option, with_options
from caretbench.runs.plans.options import COST, PROBLEMS, SAMPLING

_OPTIONS = ("base_url", "header", "prompt", "connections", "timeout", "retries", "threads", "context_tokens", "prices",
            "max_cost", "batch", "local_only", "workers")  # fmt: skip
_COMPARISON = "Comparison"


# Long: a command is declared by its options.
@with_options(*_OPTIONS)
def bench(
    root: Annotated[Path, typer.Argument(metavar="[REPOSITORY]", help="Folder of the repository.")] = Path(),
    model: Annotated[
        list[str] | None,
        panel_option(SAMPLING)(
            "--model", "-m", metavar="SPEC", help="Model, as in run; may be repeated. Default: of caretbench.toml."
        ),
    ] = None,
    new: Annotated[
        bool,
        panel_option(PROBLEMS)(
            "--new", help="Ask only about problems that are new or changed; other answers are those of the last bench."
        ),
    ] = False,
    than: Annotated[
        str,
        panel_option(_COMPARISON)(metavar="LAST|DAY", help="Bench to compare with: the last, or the last up to a day."),
    ] = "LAST",
    alpha: Annotated[
        float | None,
        panel_option(_COMPARISON)(
            min=0.000001, max=0.5, help="Level of each test. Default: 0.05 divided by 26, for a year of weekly benches."
        ),
    ] = None,
    dry_run: Annotated[
        bool, panel_option(COST)("--dry-run", help="Build, and print the prompts and their cost; send nothing.")
    ] = False,
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
    from caretbench.bench.bench import Bench, bench, check_than, shown_texts
    from caretbench.bench.settings import bench_settings
    from caretbench.runs.plans.roles import group_by_role

    settings = bench_settings(root)
    if alpha is not None:
        settings = settings.model_copy(update={"alpha": alpha})
    models = group_by_role(model or settings.models, []).get(None, [])
    with StepProgress(quiet=as_json) as steps:
        if dry_run:
            check_than(than)
            planned = Bench(root, settings, models, options, None, steps)
            built, faults = planned.build()
            config = planned.config(built)
        else:
            result = bench(root, settings, models, options, new_only=new, than=than, progress=steps)
    if dry_run:
        for line in faults:
            print_note(line)
        _print_prompts(config, [*shown_texts(config)], as_json=as_json)
        return
    if as_json:
        print_json({
            "run": result.run, "rows": [row.model_dump(mode="json") for row in result.rows], "notes": result.notes,
            "steps": result.steps,
        })  # fmt: skip
    else:
        rows = [(row.suite, row.model, row.all.text(), row.than or "—", row.change) for row in result.rows]
        print_table(rows, ("suite", "model", "pass@1 (problems)", "against", "change"))
        print_line(f"\nsummary: {root / '.caretbench' / 'summary.md'}")
    for line in result.notes:
        print_note(line)
    exit_on_complaints([f"worse: {line}" for line in result.worse])


def _print_prompts(config: Any, texts: list[tuple[str, str, int]], *, as_json: bool) -> None:
    """Print the problems that prompts show, and the forecast of the run."""
    from caretbench.cli.common import open_client
    from caretbench.cli.forecast import print_forecast
    from caretbench.models import without_sending
    from caretbench.runs.forecast import forecast_run
    from caretbench.runs.plans.plan import ResolvedRun

    plan = ResolvedRun.from_config(config)
    if not as_json:
        print_table([(suite, name, f"{size:,}") for suite, name, size in texts], ("suite", "prompt of", "characters"))
        folders = " ".join(f"{one.name}: --data {one.data}" for one in config.suites)
        print_line(f"\nwhole texts: caretbench show SUITE --prompts FILE, with {folders}\n")
    print_forecast(plan, forecast_run(plan, without_sending(open_client)), as_json=as_json)
