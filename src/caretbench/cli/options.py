"""Conversion of options that are declared as data to parameters of typer commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.errors import UsageError
from caretbench.options import Option
from caretbench.runs.plans.options import COST, JUDGING, OPTIONS_BY_NAME, OUTPUT, PROBLEMS, SAMPLING

if TYPE_CHECKING:
    from caretbench.runs.plans.roles import NamedModel


def with_options(*options: str | Option) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: replace the parameter ``**options`` of a command by these options, or those with these names."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        declared = [entry for entry in signature.parameters.values() if entry.kind is not entry.VAR_KEYWORD]
        added = [option_parameter(OPTIONS_BY_NAME[option] if isinstance(option, str) else option) for option in options]
        parameters = [
            entry.replace(kind=inspect.Parameter.KEYWORD_ONLY) if number else entry
            for number, entry in enumerate((*declared, *added))
        ]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # read by typer
        command.__annotations__ = {entry.name: entry.annotation for entry in parameters} | {"return": None}
        return command

    return decorate


def panel_option(heading: str) -> Callable[..., Any]:
    """Return ``typer.Option`` for options that the help shows under a heading."""
    return partial(typer.Option, rich_help_panel=heading)


problems_option, sampling_option, judging_option = map(panel_option, (PROBLEMS, SAMPLING, JUDGING))
cost_option, output_option = panel_option(COST), panel_option(OUTPUT)


def option_parameter(option: Option) -> inspect.Parameter:
    """Return an option as a parameter of a function's signature, with the annotation that typer reads."""
    settings: dict[str, Any] = {"help": option.help, "rich_help_panel": option.help_group}
    settings |= {
        name: value
        for name, value in (("min", option.minimum), ("max", option.maximum), ("metavar", option.metavar))
        if value is not None
    }
    flags = option.flags or (f"--{option.name.replace('_', '-')}",)
    value_type = option.value_type if option.default is not None else option.value_type | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[value_type, typer.Option(*flags, **settings)],
    )


def explicit_options(context: typer.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options on the command line, including those whose value equals the default."""
    sources = {name: context.get_parameter_source(name) for name in values}
    return {name: values[name] for name, source in sources.items() if source and source.name != "DEFAULT"}


def group_by_role(options: Iterable[str], allowed: Iterable[str] = ()) -> dict[str | None, list[NamedModel]]:
    """Return the models by role; those under test under None.

    Raises:
        UsageError: a role has no meaning here.
    """
    from caretbench.runs.plans.roles import parse_model_option

    roles = tuple(allowed)
    by_role: dict[str | None, list[NamedModel]] = {}
    for option in options:
        model = parse_model_option(option)
        if model.role is not None and model.role not in roles:
            raise UsageError(
                f"-m {option!r}: the role {model.role!r} has no part here; "
                + (f"roles here: {', '.join(roles)}" if roles else "no role has")
            )
        by_role.setdefault(model.role, []).append(model)
    return by_role
