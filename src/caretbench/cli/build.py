"""``caretbench build SUITE SOURCE…``: a benchmark out of one's own code, by the suite's hook ``build``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from caretbench.cli.common import AsJson, Steps, note, say, say_json
from caretbench.cli.options import parameter

if TYPE_CHECKING:
    from caretbench.suites.base import Suite

_OUTPUT = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="The folder of problems; one with a build of other options is refused."
    ),
]


class SuiteCommands(TyperGroup):
    """A command for each suite that builds problems. Suites are imported when a command is looked for."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override] # typer vendors its Context
        """Return the names of the suites that build problems."""
        del ctx
        from caretbench.suites import suite, suite_names

        return [name for name in suite_names() if suite(name).build_about]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override] # as above
        """Return the command of a suite; None where no suite of this name builds problems."""
        if cmd_name not in self.list_commands(ctx):
            return None
        from caretbench.suites import suite

        house = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        house.command(cmd_name, help=inspect.getdoc(suite(cmd_name).build))(_command(suite(cmd_name)))
        return typer.main.get_command(house)


app = typer.Typer(
    cls=SuiteCommands, help="A benchmark out of a project, or out of its history.", no_args_is_help=True
)


@app.callback()
def builds() -> None:
    """Make a benchmark of one's own code. Each suite has its own options: caretbench build SUITE --help."""


def _command(house: Suite) -> Callable[..., None]:
    """Return the command of a suite, with the parameters that its options make."""

    def build(sources: list[str] | None, output: Path, as_json: bool, **given: Any) -> None:
        _build(house, sources or (), output, given, as_json=as_json)

    keyword = inspect.Parameter.KEYWORD_ONLY
    about = house.build_about
    parameters = [
        inspect.Parameter(
            "sources", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None,
            annotation=Annotated[list[str] | None, typer.Argument(help=f"Makes {about}.", metavar="SOURCE")],
        ),
        inspect.Parameter("output", keyword, default=Path("tasks"), annotation=_OUTPUT),
        *(parameter(option) for option in house.build_options),
        inspect.Parameter("as_json", keyword, default=False, annotation=AsJson),
    ]  # fmt: skip
    build.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # read by typer
    build.__annotations__ = {entry.name: entry.annotation for entry in parameters} | {"return": None}
    return build


def _build(
    house: Suite, sources: Sequence[str], output: Path, given: dict[str, Any], *, as_json: bool
) -> None:
    values = {option.name: given[option.name] for option in house.build_options if not option.instead}
    values["sources"] = list(sources)
    for option in house.build_options:
        if option.instead and (value := given[option.name]) not in (None, []):
            old = f"--{option.name.replace('_', '-')}"
            note(f"{old} is replaced by {option.instead}; it works for one release more")
            before = values[option.field]
            values[option.field] = [*before, *value] if isinstance(before, list) else value
    with Steps(quiet=as_json) as steps:
        result = house.build(values.pop("sources"), output, values, steps)
    for line in result.notes:
        note(line)
    if as_json:
        say_json(result.numbers)
    else:
        for line in result.lines:
            say(line)
    if not result.fit:
        raise typer.Exit(1)
