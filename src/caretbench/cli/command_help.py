"""Help texts of commands: options in groups, outputs last, examples at the end; options that every command has."""

from __future__ import annotations

from copy import copy
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from caretbench.runs.plans.options import OUTPUT

MAX_UNGROUPED = 13
"""Maximum number of options, ``--help`` included, that a help text lists without groups."""

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}

DEBUG = "--debug"

_EXAMPLES = "Examples:\n"


class _HelpLayout:
    """Layout of a help text, for commands and for groups of commands.

    The section ``Examples:`` at the end of a docstring is printed below the options, line by line.
    """

    params: list[Any]
    epilog: str | None
    _version: Any = None
    _debug: Any = None

    def __init__(self, **attributes: Any) -> None:
        text, heading, examples = (attributes.get("help") or "").partition(_EXAMPLES)
        if heading:
            attributes |= {"help": text.rstrip(), "epilog": f"\b\n{heading}{examples}".rstrip()}
        super().__init__(**attributes)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command, with ``--debug``, and ``--version`` unless a version is one of its own.

        The help text of the main command alone lists both.
        """
        *params, help_option = super().get_params(ctx)  # type: ignore[misc] # defined by the other base class
        if self._debug is None:
            self._debug = _flag_like(help_option, DEBUG, "Print the traceback of an error.", ctx)
            self._debug.callback = None  # the main function looks for it, where errors arrive
            self._version = _flag_like(help_option, "--version", "Show the version and exit.", ctx)
            self._version.callback = _print_version
        if any(option.endswith("-version") for param in params for option in param.opts):
            return [*params, self._debug, help_option]
        return [*params, self._debug, self._version, help_option]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options under the headings of their groups, and the other options."""
        shown = [(param, record) for param in self.get_params(ctx) if (record := param.get_help_record(ctx))]
        options = sum(param.param_type_name == "option" for param, _ in shown)
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for param, record in shown:
            heading = "Arguments"
            if param.param_type_name == "option":
                heading = (options > MAX_UNGROUPED and param.rich_help_panel) or "Options"
            groups.setdefault(heading, []).append(record)
        for heading in (OUTPUT, "Options"):
            groups[heading] = groups.pop(heading, [])
        for heading, rows in groups.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)


class HelpCommand(_HelpLayout, TyperCommand):
    """Command with a grouped help text."""


class HelpGroup(_HelpLayout, TyperGroup):
    """Group of commands with the same layout."""


def _flag_like(option: Any, name: str, text: str, context: Any) -> Any:
    """Return a flag made as another one, so that it is no parameter of the command's function."""
    flag = copy(option)
    flag.name, flag.opts, flag.help, flag.hidden = name.removeprefix("--"), [name], text, context.parent is not None
    return flag


def _print_version(context: typer.Context, _option: Any, value: bool) -> None:  # called by typer
    if value and not context.resilient_parsing:
        from caretbench.versions import versions

        typer.echo(f"caretbench {versions()['caretbench']}")
        context.exit()
