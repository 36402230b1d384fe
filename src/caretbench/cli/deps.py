"""``caretbench deps``: bundles of packages that programs may use."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.common import AsJson, note, say, say_json, say_table

app = typer.Typer(
    help="Dependency bundles: show them, build them.", invoke_without_command=True, no_args_is_help=False
)


@app.callback()
def bundle_status(context: typer.Context, as_json: AsJson = False) -> None:
    """Which bundles are there, and how to get the others."""
    if context.invoked_subcommand is not None:
        return
    from caretbench.execution.bundles import bundle_status as bundle_status

    rows = bundle_status()
    if as_json:
        say_json([row.model_dump() for row in rows])
        return
    table = [
        [row.name, row.state, str(row.packages), f"{row.size_bytes / 1e6:.0f} MB", row.detail] for row in rows
    ]
    say_table(table, ("bundle", "state", "packages", "size", ""))
    for row in rows:
        if row.fix:
            say(f"{row.name}: {row.fix}")


@app.command("build")
def build_bundle(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Bundles, devbench/python for example; all by default."),
    ] = None,
    install_system: Annotated[
        bool,
        typer.Option(
            "--install-system", help="Run apt-get for the system packages that are missing (needs root)."
        ),
    ] = False,
) -> None:
    """Build bundles. Needs the package registries; a build that broke off begins anew, nothing is half-built."""
    from caretbench.execution.bundles import BundleError, bundle_spec, bundle_specs
    from caretbench.execution.bundles import build_bundle as build_bundle

    specs = [bundle_spec(name) for name in names or bundle_specs()]  # an unknown name ends here
    failed = False
    for spec in specs:
        name = spec.name
        try:
            bundle = build_bundle(
                spec, system_packages="install" if install_system else "never", progress=note
            )
        except BundleError as error:
            note(f"{name}: {error}")
            failed = True
            continue
        say(f"{name}: ready ({bundle.lock_hash[:12]})")
    if failed:
        raise typer.Exit(1)


@app.command("lock")
def lock(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The bundle, devbench/python for example.")],
) -> None:
    """Resolve a bundle's packages anew and write its lock file. Needs the package registry, and uv or npm."""
    from caretbench.execution.bundles import bundle_spec, write_lock_file

    say(f"{name}: wrote {write_lock_file(bundle_spec(name))}")
