"""``caretbench score``: scoring of recorded completions and baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from caretbench.cli.common import AsJson, Html, StepProgress, SuiteName, exit_on_complaints
from caretbench.cli.options import panel_option, with_options

_option = panel_option("Completions")


@with_options(
    "data", "baseline", "profile", "policy", "metric", "variant", "execute", "output", "add", "select", "limit",
    "per_cell", "sample_seed", "workers", "engine", "use_cache", "fail_under",
)  # fmt: skip
def score(
    suite_name: SuiteName,
    completions: Annotated[
        list[Path] | None,
        _option(
            metavar="PATH",
            help="Recorded completions: a JSONL file, a folder in the released layout, or an Inspect log; may be "
            "repeated. Default: only baselines.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None, _option(metavar="NAME", help="Only this recorded model; may be repeated. Default: all.")
    ] = None,
    html: Html = True,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Score recorded completions and baselines, and write a report. Run the same command again to resume.

    Examples:
      caretbench score devbench --completions completions.jsonl
      caretbench score devbench --select language=python --no-execute
    """
    from caretbench.cli.report import show
    from caretbench.inspect.tasks.inspect_logs import read_log
    from caretbench.reports.run_summary import failures
    from caretbench.runs.plans.config import config_from_options
    from caretbench.runs.plans.plan import ResolvedRun
    from caretbench.runs.recorded import score_recorded as score_recorded

    plan = ResolvedRun.from_config(config_from_options(suite_name, options))
    with StepProgress(quiet=as_json) as steps:
        folder = score_recorded(plan, completions or [], model or [], steps, read_log)
    exit_on_complaints(list(failures(show(folder, html=html, as_json=as_json), plan.config.fail_under)))
