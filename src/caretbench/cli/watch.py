"""``caretbench watch``: checkpoints of a training, asked once each and compared with their base."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
)
from caretbench.cli.options import panel_option, with_options
from caretbench.errors import UsageError
from caretbench.runs.plans.options import OPTIONS

_EXCLUDED = ("output", "data", "add", "score", "probe", "fail_under", "prices", "max_cost", "criterion", "blind")
"""Options of a run that are no options of a watch: its own, those of judges, and of one folder."""
_option = panel_option("Checkpoints")


# Long: a command is declared by its options.
@with_options(*(option.name for option in OPTIONS if option.name not in _EXCLUDED))
def watch(
    folder: Annotated[Path, typer.Argument(metavar="CHECKPOINTS", help="Folder of GGUF files, adapters, or others.")],
    suite: Annotated[
        list[str], _option(metavar="SUITE[=DATA]", help="Suite; may be repeated. DATA: starter, released, a folder.")
    ],
    base: Annotated[
        str | None, _option(metavar="SPEC", help="Base: gguf/smollm2, for example. Default: the first checkpoint.")
    ] = None,
    model: Annotated[
        str | None,
        _option(
            "--model",
            "-m",
            metavar="TEMPLATE",
            help="Model of a checkpoint, with {} for its path: hf/{}. Default: gguf/PATH, and BASE+PATH of an adapter.",
        ),
    ] = None,
    output: Annotated[
        Path | None, _option("--output", "-o", help="Folder of the runs. Default: runs/watch-CHECKPOINTS.")
    ] = None,
    html: Html = True,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Run suites on the checkpoints of a folder: the first that is better than the base, and where a suite got worse.

    All checkpoints of a suite are one family of tests. Give the same command again for new checkpoints, or after a
    stop: nothing is asked twice.

    Examples:
      caretbench watch checkpoints --suite c3bench --base gguf/smollm2
      caretbench watch checkpoints --suite c3bench --suite humaneval-infilling=released -m hf/{} --base hf/base
    """
    from caretbench.files import write_atomically
    from caretbench.reports.compare import comparison_tables
    from caretbench.reports.output.text_output import print_tables
    from caretbench.runs.plans.config import config_from_options
    from caretbench.runs.plans.roles import NamedModel
    from caretbench.suites import load_suite
    from caretbench.training.checkpoint_watch import BASE, Checkpoint, find_checkpoints, watch_page
    from caretbench.training.checkpoint_watch import watch as watched

    checkpoints = find_checkpoints(folder, base, model)
    if base is not None:
        checkpoints = [Checkpoint(BASE, base), *checkpoints]
    if len(checkpoints) == 1:
        raise UsageError(f"{folder}: one checkpoint, and nothing to compare it with; name its base: --base SPEC")
    configs = []
    for name, _, data in (option.partition("=") for option in suite):
        load_suite(name)
        first = [NamedModel(checkpoints[0].name, checkpoints[0].spec)]
        configs.append(config_from_options(name, options | {"data": data or None}, first))
    config = configs[0].model_copy(update={"suites": tuple(of_suite.suites[0] for of_suite in configs)})
    runs_folder = output or Path("runs") / f"watch-{folder.resolve().name}"
    with StepProgress(quiet=as_json) as steps:
        curves, complaints = watched(
            checkpoints, config, runs_folder, opener=open_client, check_access=check_access, progress=steps
        )
    if as_json:
        print_json({"curves": [curve.to_json() for curve in curves], "complaints": complaints})
    for curve in () if as_json else curves:
        print_tables(comparison_tables(curve.comparison), [*curve.sentences(), *curve.comparison.notes])
    if html and curves:
        write_atomically(runs_folder / "watch.html", watch_page(curves))
        if not as_json:
            print_line(f"\nreport: {runs_folder / 'watch.html'}")
    exit_on_complaints(complaints)
