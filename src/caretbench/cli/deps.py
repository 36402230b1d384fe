"""``caretbench deps``: bundles of packages that programs may import."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import AsJson, print_json, print_line, print_note, print_table

app = typer.Typer(cls=HelpGroup, invoke_without_command=True)


@app.callback()
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """List the dependency bundles, with the remedy for each missing one.

    Examples:
      caretbench deps
      caretbench deps build devbench/python
    """
    if context.invoked_subcommand is not None:
        return
    from caretbench.execution.bundles.bundle_building import bundle_status

    rows = bundle_status()
    if as_json:
        print_json([row.model_dump() for row in rows])
        return
    table = [[row.name, row.state, str(row.packages), f"{row.size_bytes / 1e6:.0f} MB", row.detail] for row in rows]
    print_table(table, ("bundle", "state", "packages", "size", ""))
    for row in rows:
        if row.fix:
            print_line(f"{row.name}: {row.fix}")


@app.command("build", cls=HelpCommand)
def build(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Bundles, devbench/python for example. Default: all.")
    ] = None,
    install_system: Annotated[
        bool, typer.Option("--install-system", help="Install missing system packages with apt-get (needs root).")
    ] = False,
) -> None:
    """Build bundles from the package registries. An interrupted build starts again from the beginning.

    Examples:
      caretbench deps build devbench/python
      caretbench deps build --install-system
    """
    from caretbench.execution.bundles.bundle_building import build_bundle
    from caretbench.execution.bundles.bundle_model import BundleError, bundle_spec, bundle_specs

    specs = [bundle_spec(name) for name in names or bundle_specs()]  # raises for an unknown name
    failed = False
    for spec in specs:
        name = spec.name
        try:
            bundle = build_bundle(spec, system_packages="install" if install_system else "never", progress=print_note)
        except BundleError as error:
            print_note(f"{name}: {error}")
            failed = True
            continue
        print_line(f"{name}: ready ({bundle.lock_hash[:12]})")
    if failed:
        raise typer.Exit(1)


@app.command("lock", cls=HelpCommand)
def lock(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the bundle, devbench/python for example.")],
) -> None:
    """Resolve the packages of a bundle again and write its lock file. Needs the package registry, and uv or npm.

    Examples:
      caretbench deps lock devbench/python
    """
    from caretbench.execution.bundles.bundle_building import write_lock_file
    from caretbench.execution.bundles.bundle_model import bundle_spec

    print_line(f"{name}: wrote {write_lock_file(bundle_spec(name))}")
