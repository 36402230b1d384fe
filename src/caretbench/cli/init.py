"""``caretbench init``: settings and workflows of a bench, for the repository here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caretbench.cli.common import AsJson, print_json, print_line, print_table


def init(
    root: Annotated[Path, typer.Argument(metavar="[REPOSITORY]", help="Folder of the repository.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Say which suites fit a repository, and write the settings and workflows of `bench` that are not there.

    Nothing is executed, and no file is changed.

    Examples:
      caretbench init
      caretbench init ~/code/project --json
    """
    from caretbench.bench.initial_files import cost_line, survey, write_files

    surveyed = survey(root)
    written, there = write_files(root, surveyed)
    cost = cost_line(root, surveyed)
    if as_json:
        fits = [fit._asdict() for fit in surveyed.fits]
        print_json(surveyed._asdict() | {"fits": fits, "written": written, "there": there, "cost": cost})
        return
    print_table([(fit.suite, "fits" if fit.fits else "no", fit.why) for fit in surveyed.fits], ("suite", "", "why"))
    print_line(f"\nlicence: {surveyed.licence or 'unknown'}\n{cost}")
    for path in (*written, *there):
        print_line(f"{'written' if path in written else 'left as it is'}: {path}")
    print_line(f"\nnext: caretbench bench {'' if root == Path() else f'{root} '}-m MODEL")
