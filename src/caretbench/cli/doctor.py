"""``caretbench doctor``: checks of this machine, with remedies."""

from __future__ import annotations

import typer

from caretbench.cli.common import AsJson, say, say_json


def doctor(as_json: AsJson = False) -> None:
    """What this machine has and lacks, each lack with its fix.

    Looks at sandbox, memory limit, tools, toolchains and bundles. Exit status 1 without a sandbox.
    """
    from caretbench.execution.machine_checks import machine_checks

    rows = machine_checks()
    if as_json:
        say_json([row.model_dump() for row in rows])
    else:
        width = max(len(row.name) for row in rows)
        for row in rows:
            say(f"{'ok  ' if row.ok else 'MISS'}  {row.name.ljust(width)}  {row.detail}")
            if row.fix:
                say(f"      {' ' * width}  fix: {row.fix}")
    if not rows[0].ok:  # the sandbox: without it nothing runs
        raise typer.Exit(1)
