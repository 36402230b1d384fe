"""``caretbench compare``: paired comparison of models or runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from caretbench.cli.common import AsJson, check_file_is_writable, print_line, print_lines
from caretbench.errors import UsageError


# Long: a command is declared by its options.
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Folders of runs. The others are compared with the first model.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this model; may be repeated. Default: all models, without baselines."),
    ] = None,
    align: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Compare runs that differ in this field: data, policy, profile, variants or isolation. May be "
            "repeated. Default: such runs are refused.",
        ),
    ] = None,
    every_pair: Annotated[bool, typer.Option("--every-pair", help="Compare every model with every other one.")] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL[,LABEL…]",
            help="Break the comparison down by this label, or by several at once. May be repeated. Default: the "
            "suite's labels.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of bootstrap and permutation tests.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Write an HTML page to this path.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare models or runs: paired differences with confidence intervals.

    Only common problems with verdicts of both count. "Not distinguishable": no significant difference was found.

    Examples:
      caretbench compare runs/first runs/second
      caretbench compare runs/mine --every-pair --by category
    """
    from caretbench.reports.compare import compare_runs, comparison_sentences, comparison_tables
    from caretbench.reports.output.page import render_comparison
    from caretbench.reports.output.text_output import print_tables
    from caretbench.reports.results.run_settings import ALIGNABLE, Alignable
    from caretbench.reports.run_summary import breakdown_labels, load_run_folder, suite_stratification
    from caretbench.suites import suite_of_run

    for name in align or ():
        if name not in ALIGNABLE:
            raise UsageError(f"--align {name!r}: expected one of {', '.join(ALIGNABLE)}")
    if html is not None:
        check_file_is_writable(html, "choose another file with --html")
    loaded = [load_run_folder(run) for run in runs]
    breakdowns = breakdown_labels(by, loaded[0].problems)
    strata = suite_stratification(str(loaded[0].manifest.get("suite")))
    labels = tuple(names[0] for names in breakdowns if len(names) == 1)
    compared = compare_runs(
        loaded,
        models=model or (),
        align=cast("list[Alignable]", align or []),
        every_pair=every_pair,
        seed=seed,
        suite=suite_of_run(str(loaded[0].manifest.get("suite"))),
        stratification=strata._replace(
            labels=labels if breakdowns else tuple(name for name in strata.labels if not name.endswith("@paper")),
            crossed=tuple(names for names in breakdowns if len(names) > 1),
        ),
    )
    if as_json:
        print_line(compared.model_dump_json(indent=2))
    else:
        print_lines(comparison_sentences(compared))
        print_tables(comparison_tables(compared), compared.notes)
    if html is not None:
        from caretbench.files import write_atomically

        write_atomically(html, render_comparison(compared))
        if not as_json:
            print_line(f"page: {html}")
