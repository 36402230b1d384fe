"""Options as data, for the command line and for parameters of Inspect's tasks."""

from __future__ import annotations

from typing import Any, NamedTuple

Words = list[str]


class Option(NamedTuple):
    """One option."""

    name: str
    kind: Any  # ``str``, ``int``, ``float``, ``bool``, ``Path`` or :data:`Words`
    help: str  # what it does, with its default
    group: str  # the part of a configuration that it belongs to
    field: str = ""  # the field that it fills, where that has another name
    flags: tuple[str, ...] = ()  # those of the command line, where they are not made from the name
    default: Any = None  # None: not said
    minimum: float | None = None
    maximum: float | None = None
    metavar: str | None = None  # placeholder of the value in a help text
    in_inspect: bool = False  # it is a parameter of Inspect's tasks, too
    instead: str = ""  # its replacement: the old option works for one release, with a note

    @property
    def place(self) -> str:
        """Name of the field that the option fills."""
        return self.field or self.name
