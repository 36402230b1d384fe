"""``caretbench build SUITE SOURCE…``: a benchmark from one's own code, by the suite's hook ``build``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from caretbench.cli.common import AsJson, Steps, end, note, open_client, say, say_json, say_table
from caretbench.cli.options import parameter
from caretbench.runs.plans.options import BY_NAME

if TYPE_CHECKING:
    from caretbench.options import Option
    from caretbench.runs.building.config import BuildAsking
    from caretbench.runs.building.dry_run import BuildForecast
    from caretbench.suites.base import Suite

_OUTPUT = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="The folder of problems; one with a build of other options is refused."
    ),
]


_ASKING = ("max_tokens", "temperature", "top_p", "seed", "connections", "timeout", "retries", "mode", "threads",
           "context_tokens", "base_url", "tokenizer", "prices", "max_cost", "local_only")  # fmt: skip
"""Options of a build that asks models; a suite's own option of the same name replaces one."""

_HELP = {
    "base_url": "The provider's address.",
    "max_cost": "US dollars, over the whole build: nothing is sent that could cost more.",
}
"""Help texts that differ from those of a run."""

_SHOWN = 400
"""Characters of a text in the list of a dry run."""


class SuiteCommands(TyperGroup):
    """A command for each suite that builds problems. Suites are imported when a command is looked for."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override] # typer vendors its Context
        """Return the names of the suites that build problems."""
        del ctx
        from caretbench.suites import usable_suites

        return [one.name for one in usable_suites()[0] if one.build_about]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override] # as above
        """Return the command of a suite; None where there is no suite of this name.

        Raises:
            ValueError: the suite builds no problems.
        """
        from caretbench.suites import load_suite, suite_names

        if cmd_name not in suite_names():
            return None
        if not load_suite(cmd_name).build_about:
            known = ", ".join(self.list_commands(ctx))
            raise ValueError(
                f"{load_suite(cmd_name).title} builds no problems of its own; suites that do: {known}"
            )
        house = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        house.command(cmd_name, help=inspect.getdoc(load_suite(cmd_name).build))(
            _command(load_suite(cmd_name))
        )
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
        *_asking_parameters(house),
        inspect.Parameter("as_json", keyword, default=False, annotation=AsJson),
    ]  # fmt: skip
    build.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # read by typer
    build.__annotations__ = {entry.name: entry.annotation for entry in parameters} | {"return": None}
    return build


def _asking_parameters(house: Suite) -> list[inspect.Parameter]:
    """Return the parameters of a build that asks models; none where the suite's does not."""
    if not house.build_roles:
        return []
    roles = "; ".join(f"{role} {purpose}" for role, purpose in house.build_roles.items())
    model = typer.Option(
        "--model", "-m", metavar="ROLE=SPEC",
        help=f"The model of a role, ROLE=PROVIDER/MODEL; may be repeated. Roles: {roles}.",
    )  # fmt: skip
    dry_run = typer.Option(
        "--dry-run", help="Print which text would be sent where, and its cost; send and write nothing."
    )
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter("model", keyword, default=None, annotation=Annotated[list[str] | None, model]),
        inspect.Parameter("dry_run", keyword, default=False, annotation=Annotated[bool, dry_run]),
        *(parameter(option) for option in _asking_options(house)),
    ]


def _asking_options(house: Suite) -> list[Option]:
    """Return the options of asking; the suite chooses the sampling that is not given."""
    own = {option.name for option in house.build_options}
    found = [
        BY_NAME[name]._replace(help=_HELP.get(name, BY_NAME[name].help))
        for name in _ASKING
        if name not in own
    ]
    return [
        option._replace(help=f"{option.help.partition(' (')[0].rstrip('.')}; by default as the suite asks.")
        if option.group == "sampling"
        else option
        for option in found
    ]


def _build(
    house: Suite, sources: Sequence[str], output: Path, given: dict[str, Any], *, as_json: bool
) -> None:
    from caretbench.runs.building.build import build, own_options
    from caretbench.suites.build_models import AnswersMissingError

    asking = _asking(house, given)
    own = {option.name: given[option.name] for option in house.build_options}
    sources, values = own_options(house, sources, own, note)
    if given.get("dry_run"):
        from caretbench.runs.building.dry_run import dry_run

        with Steps(quiet=as_json) as steps:
            found = dry_run(house, sources, output, values, asking, open_client, steps)
        _print_dry_run(found, as_json=as_json)
        return
    try:
        with Steps(quiet=as_json) as steps:
            result = build(house, sources, output, values, asking, open_client, steps)
    except AnswersMissingError as error:
        end([str(error)])
        return
    for line in result.notes:
        note(line)
    if as_json:
        say_json(result.numbers)
    else:
        for line in result.lines:
            say(line)
    if not result.usable:
        raise typer.Exit(1)


def _asking(house: Suite, given: dict[str, Any]) -> BuildAsking:
    """Return the configuration of the models of a build.

    Raises:
        ValueError: a model or an option is refused.
        DataError: the price file is wrong.
    """
    from pydantic import ValidationError

    from caretbench.models import ClientOptions
    from caretbench.runs.building.config import BuildAsking, models_by_role
    from caretbench.runs.plans.config import SamplingConfig, in_words
    from caretbench.runs.plans.options import tables_of
    from caretbench.runs.plans.prices import Prices

    if not house.build_roles:
        return BuildAsking()
    options = {option.name: given[option.name] for option in _asking_options(house)}
    tables = tables_of(options)
    try:
        sampling = SamplingConfig.model_validate(tables["sampling"])
        client = ClientOptions.model_validate(tables["client"])
    except ValidationError as error:
        raise ValueError(in_words(error)) from None
    return BuildAsking(
        models=models_by_role(house.name, house.build_roles, given["model"] or ()),
        sampling=sampling,
        options=client,
        prices=Prices.load(options["prices"]) if options["prices"] else Prices(),
        max_cost=options["max_cost"],
        local_only=options["local_only"],
    )


def _print_dry_run(found: BuildForecast, *, as_json: bool) -> None:
    """Print everything that a build would send."""
    if as_json:
        say_json(asdict(found) | {"texts": [text._asdict() for text in found.texts]})
        return
    header = ("role", "model", "sent to", "requests", "stored", "to ask", "characters", "tokens in, about",
              "tokens out, at most", "cost, at most")  # fmt: skip
    rows = [
        (
            row.role, row.model, _place(row.place, row.address), str(row.requests), str(row.stored),
            str(row.requests - row.stored), f"{row.characters:,}", f"{row.tokens_in:,}", f"{row.tokens_out:,}",
            "no price" if row.cost is None else f"${row.cost:.4f}",
        )
        for row in found.roles.values()
    ]  # fmt: skip
    say_table(rows, header)
    for text in found.texts:
        row = found.roles[text.role]
        about = f", {text.about}" if text.about else ""
        say(f"\n--- {text.key}{about}: to {row.spec}, {_place(row.place, row.address)} ---")
        rest = len(text.text) - _SHOWN
        say(
            text.text
            if rest <= 0
            else f"{text.text[:_SHOWN]}\n[… {rest:,} characters more; --json prints all]"
        )
    say("")
    if found.spent:
        say(f"${found.spent:.4f} are spent already")
    if found.max_cost is not None:
        say(f"--max-cost ${found.max_cost:g}: nothing is sent that could cost more")
    if found.complete:
        say("all answers are stored: the same build asks nothing")
    else:
        say("Questions that depend on these answers are not known yet. Nothing was sent.")


def _place(place: str, address: str) -> str:
    if place == "local":
        return "this machine"
    return f"remote, {address or 'the default address of its provider'}"
