"""Parameters of commands, made from the options of a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from caretbench.options import Option
from caretbench.runs.plans.options import BY_NAME


def with_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these names, in the place of its parameter ``**options``.

    The command gets them as keyword arguments, as far as they are said on the command line.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [entry for entry in signature.parameters.values() if entry.kind is not entry.VAR_KEYWORD]
        made = [parameter(BY_NAME[name]) for name in names]
        parameters = [
            entry.replace(kind=inspect.Parameter.KEYWORD_ONLY) if number else entry
            for number, entry in enumerate((*own, *made))
        ]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # read by typer
        command.__annotations__ = {entry.name: entry.annotation for entry in parameters} | {"return": None}
        return command

    return decorate


def parameter(option: Option) -> inspect.Parameter:
    """Return an option as a parameter that typer reads."""
    replaced = f"Replaced by {option.instead}; works for one release more." if option.instead else ""
    given: dict[str, Any] = {"help": option.help or replaced, "hidden": bool(replaced)}
    given |= {
        name: value
        for name, value in (("min", option.minimum), ("max", option.maximum), ("metavar", option.metavar))
        if value is not None
    }
    flags = option.flags or (f"--{option.name.replace('_', '-')}",)
    kind = option.kind if option.default is not None else option.kind | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[kind, typer.Option(*flags, **given)],
    )


def said(context: typer.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given on the command line, even where they say what holds by default."""
    sources = {name: context.get_parameter_source(name) for name in values}
    return {name: values[name] for name, source in sources.items() if source and source.name != "DEFAULT"}
