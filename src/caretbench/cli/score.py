"""``caretbench score``: scoring of recorded completions and baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from caretbench.cli.common import AsJson, Html, Steps, SuiteName, end
from caretbench.cli.options import with_options


@with_options(
    "data", "baseline", "profile", "policy", "variant", "execute", "output", "select", "limit", "per_cell",
    "sample_seed", "workers", "engine", "use_cache", "fail_under",
)  # fmt: skip
def score(
    suite_name: SuiteName,
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
    html: Html = True,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Score completions. The same command goes on after a stop; nothing is computed twice.

    Example: caretbench score devbench --completions completions.jsonl
    """
    from caretbench.cli.report import show
    from caretbench.inspect.tasks.logs import read_log
    from caretbench.reports.run_summary import failures
    from caretbench.runs.plans.config import config_of
    from caretbench.runs.plans.plan import Plan
    from caretbench.runs.recorded import score as score_recorded

    plan = Plan.of(config_of(suite_name, options))
    with Steps(quiet=as_json) as steps:
        folder = score_recorded(plan, completions or [], model or [], steps, read_log)
    end(list(failures(show(folder, html=html, as_json=as_json), plan.config.fail_under)))
