"""Options as data, for the command line and for parameters of Inspect tasks."""

from __future__ import annotations

from typing import Any, NamedTuple

StringList = list[str]


class Option(NamedTuple):
    """One option of a command."""

    name: str
    value_type: Any  # ``str``, ``int``, ``float``, ``bool``, ``Path`` or :data:`StringList`
    help: str  # what it does, and its default
    table: str  # table of the run file that it belongs to; ``build`` for options of a suite's build
    field: str = ""  # field of the table; by default the option's name
    flags: tuple[str, ...] = ()  # flags on the command line; by default made from the name
    default: Any = None  # None: no default that a help text shows
    minimum: float | None = None
    maximum: float | None = None
    metavar: str | None = None  # placeholder of the value in a help text
    help_group: str = "Options"  # heading in the help text that lists the option
    in_inspect: bool = False  # also a parameter of Inspect tasks

    @property
    def field_name(self) -> str:
        """Name of the field that the option sets."""
        return self.field or self.name
