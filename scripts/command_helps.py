"""Print the help texts of all commands as JSON, by verb: those of ``caretbench`` itself have the key ''."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import typer
import typer.main
from typer.core import TyperGroup

from caretbench.cli import app


def commands(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a command and all below it, each with the words that call it."""
    yield words, command
    if isinstance(command, TyperGroup):
        context: Any = typer.Context(command)  # type: ignore[arg-type]  # typer vendors its Context
        for name in command.list_commands(context):
            yield from commands((*words, name), command.get_command(context, name))


def helps() -> dict[str, list[str]]:
    """Return the help texts of each verb: its own, then those of its commands."""
    texts: dict[str, list[str]] = {}
    for words, command in commands(("caretbench",), typer.main.get_command(app)):
        context = typer.Context(command, info_name=" ".join(words), terminal_width=100)
        texts.setdefault("".join(words[1:2]), []).append(command.get_help(context).strip())
    return texts


if __name__ == "__main__":
    print(json.dumps(helps()))  # noqa: T201
