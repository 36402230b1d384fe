"""Commands of the command line, with their options and examples."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import typer.main
from typer.core import TyperGroup

from caretbench.cli import app

ROOT: Any = typer.main.get_command(app)


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all commands and groups of commands, each with the words that call it."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), ROOT)]
    while waiting:
        words, command = waiting.pop()
        yield words, command
        if isinstance(command, TyperGroup):
            context = typer.Context(command)  # type: ignore[arg-type] # typer vendors its Context
            names = command.list_commands(context)  # type: ignore[arg-type] # as above
            waiting += [((*words, name), command.get_command(context, name)) for name in names]  # type: ignore[arg-type] # as above


COMMANDS = dict(commands())


def parse(arguments: list[str]) -> Any:
    """Return the context of the command that a command line calls, with its parsed parameters.

    Raises:
        UsageError: an option or argument does not exist, is missing, or has a wrong value.
    """
    context = ROOT.make_context("caretbench", arguments)
    while isinstance(context.command, TyperGroup) and context._protected_args:
        group: Any = context.command
        name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    return context


def examples(command: Any) -> list[list[str]]:
    """Return the command lines in the examples of a help text, without ``caretbench``."""
    _, _, text = (command.epilog or "").partition("Examples:\n")
    lines = [shlex.split(line) for line in text.splitlines()]
    assert all(words[0] == "caretbench" for words in lines)
    return [words[1:] for words in lines]
