"""``caretbench compare``: paired comparison of models or runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from caretbench.cli.common import AsJson, say


# Long: a command is declared by its options.
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Run folders; the first model is the yardstick.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this model; may be repeated. Baselines only where named."),
    ] = None,
    align: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Compare although this differs: data, policy, profile, variants or isolation; may be repeated.",
        ),
    ] = None,
    every_pair: Annotated[bool, typer.Option("--every-pair", help="Every model with every other.")] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL[,LABEL…]",
            help="Test parts by this label, or by several at once, instead of the suite's own; may be repeated.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seeds bootstrap and permutations.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Write the comparison as a page to this path.")] = None,
    as_json: AsJson = False,
) -> None:
    """Paired differences between models or runs, with intervals.

    Looks at the problems that both sides have verdicts for; says "not distinguishable" where nothing can be told apart.
    """
    from caretbench.reports.compare import compare_runs
    from caretbench.reports.output.comparison import comparison_tables
    from caretbench.reports.output.page import render_comparison
    from caretbench.reports.output.terminal import print_tables
    from caretbench.reports.results.identity import ALIGNABLE, Alignable
    from caretbench.reports.run_summary import breakdown_labels, load_run_folder, suite_stratification

    for name in align or ():
        if name not in ALIGNABLE:
            raise ValueError(f"--align {name!r}: expected one of {', '.join(ALIGNABLE)}")
    loaded = [load_run_folder(run) for run in runs]
    wanted = breakdown_labels(by, loaded[0].problems)
    strata = suite_stratification(str(loaded[0].manifest.get("suite")))
    labels = tuple(names[0] for names in wanted if len(names) == 1)
    compared = compare_runs(
        loaded,
        models=model or (),
        align=cast("list[Alignable]", align or []),
        every_pair=every_pair,
        seed=seed,
        stratification=strata._replace(
            labels=labels if wanted else tuple(name for name in strata.labels if not name.endswith("@paper")),
            crossed=tuple(names for names in wanted if len(names) > 1),
        ),
    )
    if as_json:
        say(compared.model_dump_json(indent=2))
    else:
        print_tables(comparison_tables(compared), compared.notes)
    if html is not None:
        from caretbench.files import write_atomically

        write_atomically(html, render_comparison(compared))
        if not as_json:
            say(f"page: {html}")
