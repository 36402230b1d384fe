"""``caretbench memory``: probes for memory of the benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caretbench.cli.common import AsJson, print_json, print_line, print_table


def memory(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run on an edition of the record.")],
    cutoff: Annotated[
        str, typer.Option(metavar="DATE", help="First day, YYYY-MM-DD, of releases that a model cannot have seen.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the permutations.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a model's results before and after a date, with original and changed names, and its recall.

    Each probe is a difference with an interval. With fewer than ten projects on a side it decides nothing.

    Examples:
      caretbench memory runs/record --cutoff 2026-01-01
    """
    from caretbench.people.releases.memory import ABOUT, memory_report
    from caretbench.reports.run_summary import load_run_folder

    report = memory_report(load_run_folder(run), cutoff, seed=seed)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    rows = [
        (
            row.model,
            row.probe,
            f"{row.projects[0]} / {row.projects[1]}",
            str(row.problems),
            "" if row.difference is None else f"{row.difference:+.1%}",
            "" if row.low is None or row.high is None else f"{row.low:+.1%} to {row.high:+.1%}",
            "" if row.p_value is None else f"{row.p_value:.3f}",
            row.verdict,
        )
        for row in report.rows
    ]
    head = ("model", "probe", "projects before / after", "problems", "difference", "95% interval", "p", "verdict")
    print_table(rows, head)
    for name, about in ABOUT.items():
        print_line(f"{name}: {about}.")
