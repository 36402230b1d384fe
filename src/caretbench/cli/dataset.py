"""``caretbench dataset``: releases and versions of a problem set, verification and export of editions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import AsJson, StepProgress, print_json, print_line, print_lines, print_notes, print_table
from caretbench.cli.options import panel_option

app = typer.Typer(
    cls=HelpGroup,
    no_args_is_help=True,
    help="""Release a problem set, and compare versions of it.

Examples:
  caretbench dataset release mine -o releases/1.0.0 --holdout 0.2
  caretbench dataset diff releases/1.0.0 releases/1.1.0""",
)

_content_option, _stated_option = panel_option("Content"), panel_option("Stated facts")


# Long: a command is declared by its options.
@app.command("release", cls=HelpCommand)
def release(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of a built set, or of programs in its layout.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="New folder of the release; the hold-out is next to it, DIR-holdout.")
    ],
    holdout: Annotated[
        float, _content_option(help="Share of the problems that is held out, balanced over cells.")
    ] = 0.0,
    seed: Annotated[int, _content_option(help="Random seed of the hold-out.")] = 0,
    review: Annotated[
        Path | None,
        _content_option(help="Folder that caretbench review export wrote; rejected problems are not released."),
    ] = None,
    previous: Annotated[
        Path | None, _content_option(help="Earlier release, whose problems stay in their part, renamed ones too.")
    ] = None,
    publish_holdout: Annotated[
        bool, _content_option("--publish-holdout", help="Release a folder that is the hold-out of a release.")
    ] = False,
    set_version: Annotated[str, _stated_option(help="Version of the set.")] = "1.0.0",
    licence: Annotated[
        str | None, _stated_option(metavar="SPDX", help="Licence of the problems that state none.")
    ] = None,
    url: Annotated[str | None, _stated_option(help="Address at which the set will be found.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a release: problems, rows, datasheet, Croissant metadata and hashes.

    Examples:
      caretbench dataset release mine -o releases/1.0.0 --holdout 0.2
      caretbench dataset release mine -o releases/1.1.0 --previous releases/1.0.0 --set-version 1.1.0
    """
    from caretbench.people.releases.release import ReleaseOptions, release_set

    options = ReleaseOptions(set_version, holdout, seed, licence, url, review, previous, publish_holdout)
    released = release_set(folder, output, options)
    print_notes(released.notes)
    if as_json:
        print_json(released.public.model_dump(mode="json"))
        return
    print_lines(released.lines)


@app.command("diff", cls=HelpCommand)
def diff(
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="Earlier release, folder of a built set, or edition of the record.")
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Later one.")],
    as_json: AsJson = False,
) -> None:
    """Print the problems that two versions of a set do not share. Hold-outs next to the folders count too.

    Examples:
      caretbench dataset diff releases/1.0.0 releases/1.1.0
      caretbench dataset diff 2026.12 my-record
    """
    from caretbench.people.releases.difference import folder_difference
    from caretbench.people.releases.record_editions import edition_difference, is_edition
    from caretbench.people.releases.release import holdout_folder

    if is_edition(str(old)) and is_edition(str(new)):
        difference = edition_difference(str(old), str(new))
    else:
        difference = folder_difference(old, new, holdout_folder(old), holdout_folder(new))
    if as_json:
        print_json(difference.model_dump(mode="json"))
        return
    for name, (before, after) in difference.facts.items():
        print_line(f"{name}: {before} → {after}")
    rows = [
        *(("added", name, "") for name in difference.added),
        *(("removed", name, "") for name in difference.removed),
        *(("renamed", name, other) for name, other in difference.renamed.items()),
        *(("changed", name, ", ".join(parts)) for name, parts in difference.changed.items()),
        *(("published", name, "was held out") for name in difference.published),
        *(("held out", name, "was public") for name in difference.held),
    ]
    print_table(rows, ("change", "problem", "detail"))
    print_line(f"{difference.same} problems are the same")


@app.command("holdout", cls=HelpCommand)
def holdout(
    folder: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="Folder of the release; the hold-out is next to it.")
    ],
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Runs on the two parts, or one run on the whole set.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the permutations.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare the scores of models on the public part of a release and on its hold-out.

    A model that remembers the public part scores higher there.

    Examples:
      caretbench dataset holdout releases/1.0.0 runs/public runs/hidden
    """
    from caretbench.people.releases.built_set import BuiltSet
    from caretbench.people.releases.holdout import holdout_report
    from caretbench.people.releases.release import holdout_folder
    from caretbench.reports.run_summary import load_run_folder

    parts = [{problem.id for problem in BuiltSet(path).problems} for path in (folder, holdout_folder(folder))]
    report = holdout_report([load_run_folder(run) for run in runs], *parts, seed=seed)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    head = ("model", "compared with", "public", "hold-out", "difference", "95% interval", "p", "verdict")
    rows = [
        (
            row.model,
            "the others" if row.against_others else "itself",
            f"{row.public:.1%} of {row.public_problems}",
            f"{row.holdout:.1%} of {row.holdout_problems}",
            f"{row.difference:+.1%}",
            "unknown" if row.low is None or row.high is None else f"{row.low:+.1%} to {row.high:+.1%}",
            f"{row.p_value:.3f}",
            row.verdict,
        )
        for row in report.rows
    ]
    print_table(rows, head)
    print_lines(report.notes)


@app.command("verify", cls=HelpCommand)
def verify(
    suite_name: Annotated[str, typer.Argument(metavar="SUITE", help="Suite with editions: record.")],
    data: Annotated[
        str, typer.Option(metavar="EDITION", help="Edition, or a folder of build record. Default: the newest.")
    ] = "starter",
    sample: Annotated[int, typer.Option(min=0, help="Number of problems that are run; 0: all.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sample.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of commands at the same time.")] = None,
    cached: Annotated[bool, typer.Option("--cached", help="Take stored verdicts. Default: everything runs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the problems of an edition again from its projects, and run references and masks of a sample.

    Fails unless all problems are byte for byte those of the edition, references pass and masks fail.

    Examples:
      caretbench dataset verify record --sample 200
    """
    from functools import partial

    from caretbench.build import load_builder
    from caretbench.execution.dispatcher import open_executor

    opened = partial(open_executor, workers, use_cache=cached, engine="local")
    with StepProgress(quiet=as_json) as steps:
        result = load_builder(suite_name).verify(data, sample, seed, opened, steps)
    print_notes(result.notes)
    if as_json:
        print_json(result.numbers)
    else:
        print_lines(result.lines)
    if not result.usable:
        raise typer.Exit(1)


@app.command("export", cls=HelpCommand)
def export(
    output: Annotated[Path, typer.Argument(metavar="FOLDER", help="New folder in the layout of a data set hub.")],
    data: Annotated[
        str, typer.Option(metavar="EDITION", help="Edition of the record. Default: the newest.")
    ] = "starter",
) -> None:
    """Write an edition of the record for a hub: rows, card, datasheet and Croissant metadata, without any program text.

    Examples:
      caretbench dataset export hub/
    """
    from caretbench.people.releases.record_editions import export_edition

    print_lines(export_edition(data, output))
