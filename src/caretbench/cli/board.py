"""``caretbench board``: models × suites from many runs as a static site; the check of a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import exit_on_complaints, print_line, print_lines
from caretbench.errors import UsageError


class _BoardGroup(HelpGroup):
    """Group whose own arguments are run folders, unless the first word is a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the group, or keep those of a command."""
        if args and args[0] in self.commands:
            super().parse_args(ctx, [])
            ctx._protected_args, ctx.args = args[:1], args[1:]  # as click's group leaves them
            return args[1:]
        ctx.allow_interspersed_args = True
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_BoardGroup, invoke_without_command=True)


@app.callback()
def board(
    context: typer.Context,
    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUN", help="Run folders, or folders of them.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the site.")] = Path("site"),
    suite_weights: Annotated[
        str | None,
        typer.Option(metavar="SUITE=WEIGHT,…", help="Also print means over suites by these weights. Default: none."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(metavar="SUITE", help="Also print ranks on the other suites against this one, and a paper's."),
    ] = None,
    organisation: Annotated[
        str, typer.Option(metavar="NAME", help="Name of who made the runs, for the records of board.json.")
    ] = "not stated",
    seed: Annotated[int, typer.Option(min=0, help="Random seed of bootstrap and permutation tests.")] = 0,
) -> None:
    """Write a board of models and suites as a static site; ranks are intervals.

    Runs of the same suite, data, profile, policy and kind of prompt are merged.

    Examples:
      caretbench board runs/first runs/second -o site
      caretbench board check submission
    """
    if context.invoked_subcommand is not None:
        return
    from caretbench.reports.board import board_site
    from caretbench.reports.board.board import make_board
    from caretbench.reports.board.board_site import board_table, write_site
    from caretbench.reports.output.text_output import print_tables

    printed = board_site.printed_shifts(base) if base else None
    extra = [printed] if printed else []
    if not runs:
        if not extra:
            raise UsageError("RUN is missing: name folders of runs, or only --base c3bench for printed ranks")
        print_tables(extra)
        return
    compared, rows = make_board(runs, seed)
    if suite_weights:
        weights = board_site.parse_weights(suite_weights)
        means = board_site.weighted_models(compared.columns, rows, weights, seed)
        extra.append(board_site.weights_table(means, weights))
    if base:
        extra.append(board_site.measured_shifts(compared.columns, base))
    path = write_site(compared, rows, output, extra, organisation)
    print_tables([*map(board_table, compared.columns), *extra])
    print_line(f"\nboard: {path}")


@app.command("check", cls=HelpCommand)
def check(
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION", help="Folder with runs and their board's files.")],
    data: Annotated[
        str | None,
        typer.Option(
            help="Problems, as in `caretbench score`; their hash must be the runs'. Default: what a run names."
        ),
    ] = None,
    sample: Annotated[int, typer.Option(min=0, help="Number of answers of each run that are run again.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sample.")] = 0,
) -> None:
    """Compute every rate of a submission again, run a sample of its answers again, and name what differs.

    Exits with status 1 if something differs, or could not be confirmed.

    Examples:
      caretbench board check submission
      caretbench board check submission --data released --sample 50
    """
    from caretbench.reports.board.submission import check_submission

    report = check_submission(submission, data, sample, seed)
    print_lines(report.checked)
    # Data that are not here make everything differ: the cause first.
    exit_on_complaints([*report.unconfirmed, *report.differences])
    print_line("confirmed: nothing differs")
