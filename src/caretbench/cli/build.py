"""``caretbench build SUITE SOURCE…``: a benchmark of your own code, made by the builder of a suite."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import (
    AsJson,
    StepProgress,
    check_access,
    exit_on_complaints,
    open_client,
    print_json,
    print_line,
    print_lines,
    print_notes,
    print_table,
)
from caretbench.cli.options import cost_option, option_parameter, output_option, sampling_option
from caretbench.errors import UsageError
from caretbench.runs.plans.options import OPTIONS_BY_NAME

if TYPE_CHECKING:
    from caretbench.build.builder import Builder
    from caretbench.build.models.config import BuildModelsConfig
    from caretbench.build.models.dry_run import BuildForecast, WholeForecast
    from caretbench.options import Option
    from caretbench.runs.plans.roles import NamedModel

_OUTPUT = Annotated[
    Path,
    output_option("--output", "-o", help="Folder of the problems; refused if it contains a build with other options."),
]


_MODEL_OPTIONS = ("max_tokens", "temperature", "top_p", "seed", "connections", "timeout", "retries", "mode", "threads",
           "context_tokens", "base_url", "tokenizer", "prices", "max_cost", "local_only")  # fmt: skip
"""Options of a build that asks models; a suite's own option replaces the one of the same name."""

_HELP = {
    "base_url": "Address of the provider. Default: the provider's own.",
    "max_cost": "Maximum cost of the whole build in US dollars; stops before a request that could exceed it.",
}
"""Help texts that differ from those of a run."""

_MAX_CHARACTERS = 400
"""Maximum number of characters of a text in the output of a dry run."""


class SuiteCommands(HelpGroup):
    """Group with one command per suite that builds problems; suites are imported on lookup."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override] # typer vendors its Context
        """Return the names of the suites that build problems."""
        del ctx
        from caretbench.build import usable_builders

        return [builder.name for builder in usable_builders() if builder.about]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override] # as above
        """Return the command of a suite; None if no suite has this name.

        Raises:
            UsageError: the suite builds no problems.
        """
        from caretbench.build import load_builder
        from caretbench.suites import suite_names

        if cmd_name not in suite_names():
            # Typer proposes the nearest of these names, and reads nothing else of it.
            self.commands = dict.fromkeys(self.list_commands(ctx))  # type: ignore[assignment]
            return None
        builder = load_builder(cmd_name)
        if not builder.about:
            known = ", ".join(self.list_commands(ctx))
            raise UsageError(f"{builder.suite.title} builds no problems of its own; suites that do: {known}")
        only = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        only.command(cmd_name, help=inspect.getdoc(builder.build), cls=HelpCommand)(_command(builder))
        return typer.main.get_command(only)


app = typer.Typer(
    cls=SuiteCommands,
    no_args_is_help=True,
    help="""Build a benchmark from your own code or its history. Options: caretbench build SUITE --help.

Examples:
  caretbench build simcopilot ~/code/project --setup auto -o tasks
  caretbench build efcb ~/code/project owner/name -o tasks""",
)


def _command(builder: Builder) -> Callable[..., None]:
    """Return the command of a suite, with the parameters that its options make."""

    def build(sources: list[str] | None, output: Path, as_json: bool, **options: Any) -> None:
        _build(builder, sources or (), output, options, as_json=as_json)

    keyword = inspect.Parameter.KEYWORD_ONLY
    about = builder.about
    parameters = [
        inspect.Parameter(
            "sources",
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[list[str] | None, typer.Argument(help=f"Source of {about}.", metavar="SOURCE")],
        ),
        inspect.Parameter("output", keyword, default=Path("tasks"), annotation=_OUTPUT),
        *(option_parameter(option) for option in builder.options),
        *_model_parameters(builder),
        inspect.Parameter("as_json", keyword, default=False, annotation=AsJson),
    ]
    build.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # read by typer
    build.__annotations__ = {entry.name: entry.annotation for entry in parameters} | {"return": None}
    return build


def _model_parameters(builder: Builder) -> list[inspect.Parameter]:
    """Return the parameters of a build that asks models; empty if the suite's build asks none."""
    if not builder.roles:
        return []
    several = builder.roles_with_several_models
    roles = "; ".join(
        f"{role} {purpose}{', several models' if role in several else ''}" for role, purpose in builder.roles.items()
    )
    model = sampling_option(
        "--model",
        "-m",
        metavar="ROLE=SPEC",
        help=f"Model of a role, ROLE=PROVIDER/MODEL; may be repeated. Roles: {roles}.",
    )
    dry_run = cost_option("--dry-run", help="Print the requests, their addresses and cost; send and write nothing.")
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter("model", keyword, default=None, annotation=Annotated[list[str] | None, model]),
        inspect.Parameter("dry_run", keyword, default=False, annotation=Annotated[bool, dry_run]),
        *(option_parameter(option) for option in model_options({option.name for option in builder.options})),
    ]


def model_options(own: Collection[str]) -> list[Option]:
    """Return the options for models of a build with its ``own`` options; it chooses the sampling that is not set."""
    options = [
        OPTIONS_BY_NAME[name]._replace(help=_HELP.get(name, OPTIONS_BY_NAME[name].help))
        for name in _MODEL_OPTIONS
        if name not in own
    ]
    return [
        option._replace(help=f"{option.help.partition(' Default:')[0]} Default: as the build defines.")
        if option.table == "sampling"
        else option
        for option in options
    ]


def _build(builder: Builder, sources: Sequence[str], output: Path, options: dict[str, Any], *, as_json: bool) -> None:
    from caretbench.build.build_models import AnswersMissingError
    from caretbench.build.models.build import build, resolve_build_options

    models = _model_config(builder, output, options)
    chosen = {option.name: options[option.name] for option in builder.options}
    values = resolve_build_options(builder, chosen)
    if options.get("dry_run"):
        from caretbench.build.models.dry_run import dry_run
        from caretbench.models import without_sending

        with StepProgress(quiet=as_json) as steps:
            forecast = dry_run(builder, sources, output, values, models, without_sending(open_client), steps)
        print_dry_run(forecast, as_json=as_json)
        return
    models.check_access(check_access)
    try:
        with StepProgress(quiet=as_json) as steps:
            result = build(builder, sources, output, values, models, open_client, steps)
    except AnswersMissingError as error:
        exit_on_complaints([str(error)])
        return
    print_notes(result.notes)
    if as_json:
        print_json(result.numbers)
    else:
        print_lines(result.lines)
    if not result.usable:
        raise typer.Exit(1)


def _model_config(builder: Builder, output: Path, values: dict[str, Any]) -> BuildModelsConfig:
    from caretbench.build.models.build import with_remembered_models
    from caretbench.build.models.config import BuildModelsConfig, models_by_role

    if not builder.roles:
        return BuildModelsConfig()
    option_names = {option.name for option in builder.options}
    named = with_remembered_models(builder, output, values["model"] or ())
    models = models_by_role(builder.suite.name, builder.roles, named, builder.roles_with_several_models)
    return models_config(models, {option.name: values[option.name] for option in model_options(option_names)})


def models_config(models: Mapping[str, tuple[NamedModel, ...]], options: Mapping[str, Any]) -> BuildModelsConfig:
    """Return the configuration of the models of a build from the values of :func:`model_options`.

    Raises:
        UsageError: a model or an option is refused.
        DataError: the price file is wrong.
    """
    from pydantic import ValidationError

    from caretbench.build.models.config import BuildModelsConfig
    from caretbench.models import ClientOptions
    from caretbench.runs.plans.config import SamplingConfig, validation_message
    from caretbench.runs.plans.options import options_to_tables
    from caretbench.runs.plans.prices import Prices

    tables = options_to_tables(options)
    try:
        sampling = SamplingConfig.model_validate(tables["sampling"])
        client = ClientOptions.model_validate(tables["client"])
    except ValidationError as error:
        raise UsageError(validation_message(error)) from None
    prices = Prices.load(options["prices"])
    return BuildModelsConfig(models, sampling, client, prices, options["max_cost"], options["local_only"])


def print_dry_run(forecast: BuildForecast, *, as_json: bool) -> None:
    """Print the requests of a build."""
    if as_json:
        print_json(asdict(forecast) | {"texts": [text._asdict() for text in forecast.texts]})
        return
    header = ("role", "model", "sent to", "requests", "stored", "to ask", "characters", "tokens in, about",
              "tokens out, at most", "cost of these, at most")  # fmt: skip
    rows = [
        (
            row.role, row.model, _place(row.place, row.address), str(row.requests), str(row.stored),
            str(row.requests - row.stored), f"{row.characters:,}", f"{row.tokens_in:,}", f"{row.tokens_out:,}",
            "no price" if row.cost is None else f"${row.cost:.4f}",
        )
        for row in forecast.roles.values()
    ]  # fmt: skip
    print_table(rows, header)
    for text in forecast.texts:
        row = forecast.roles[text.row]
        about = f", {text.about}" if text.about else ""
        print_line(f"\n--- {text.key}{about}: to {row.spec}, {_place(row.place, row.address)} ---")
        rest = len(text.text) - _MAX_CHARACTERS
        print_line(
            text.text
            if rest <= 0
            else f"{text.text[:_MAX_CHARACTERS]}\n[… {rest:,} characters more; --json prints all]"
        )
    print_line("")
    if forecast.spent:
        print_line(f"${forecast.spent:.4f} already spent")
    if forecast.max_cost is not None:
        print_line(f"--max-cost ${forecast.max_cost:g}: stops before a request that could exceed it")
    if forecast.complete:
        print_line("all answers are stored: the build sends no request")
        return
    if forecast.whole is not None:
        print_lines(_whole_lines(forecast.whole))
    print_line("Requests that depend on these answers are not known yet. Nothing was sent.")


def _whole_lines(whole: WholeForecast) -> tuple[str, str]:
    """Return the bounds of all requests of a build, each with what it assumes."""
    least, most = ("no price" if cost is None else f"${cost:,.2f}" for cost in (whole.least_cost, whole.most_cost))
    return (
        f"whole build, at least: {whole.least_requests:,} requests, {least} with answers of full length: "
        f"{whole.least_about}",
        f"whole build, at most: {whole.most_requests:,} requests, {most}: {whole.most_about}",
    )


def _place(place: str, address: str) -> str:
    if place == "local":
        return "this machine"
    return f"remote, {address or 'the default address of its provider'}"
