"""``caretbench doctor``: checks of this machine, with fixes."""

from __future__ import annotations

import typer

from caretbench.cli.common import AsJson, print_json, print_line


def doctor(as_json: AsJson = False) -> None:
    """Check this machine: sandbox, memory limit, tools, toolchains, bundles; print a fix for each failed check.

    Exit status 1 if the sandbox does not work.

    Examples:
      caretbench doctor
    """
    from caretbench.execution.machine_checks import machine_checks

    rows = machine_checks()
    if as_json:
        print_json([row.model_dump() for row in rows])
    else:
        width = max(len(row.name) for row in rows)
        for row in rows:
            print_line(f"{'ok  ' if row.ok else 'MISS'}  {row.name.ljust(width)}  {row.detail}")
            if row.fix:
                print_line(f"      {' ' * width}  fix: {row.fix}")
    if not rows[0].ok:  # the sandbox: without it no program runs
        raise typer.Exit(1)
