"""Options as data: an entry is an option of the command line and a parameter of Inspect's tasks."""

from __future__ import annotations

from typing import Any, NamedTuple

Words = list[str]


class Option(NamedTuple):
    """One option.

    Args:
        name: The parameter's name.
        kind: Its type: ``str``, ``int``, ``float``, ``bool``, ``Path`` or :data:`Words`.
        help: What it does, with its default.
        group: The part of a configuration that it belongs to.
        field: The field that it fills, where that has another name.
        flags: Those of the command line, where they are not made from the name.
        default: Its value where it is not given; None: not said.
        minimum: The least number.
        maximum: The greatest number.
        metavar: What stands for the value in a help text.
        in_inspect: Whether it is a parameter of Inspect's tasks, too.
        instead: What replaces it: it works for one release, and a note says so.
    """

    name: str
    kind: Any
    help: str
    group: str
    field: str = ""
    flags: tuple[str, ...] = ()
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    metavar: str | None = None
    in_inspect: bool = False
    instead: str = ""

    @property
    def place(self) -> str:
        """The name of the field that it fills."""
        return self.field or self.name
