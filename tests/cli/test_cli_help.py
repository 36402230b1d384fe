"""Help texts of all commands: examples that parse, groups of options, plain descriptions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.core import TyperGroup

from caretbench.cli.command_help import MAX_UNGROUPED
from tests.support.command_run import in_this_process as caretbench
from tests.support.command_tree import COMMANDS, examples, parse

_QUESTION = re.compile(r"(What|Which|Whether|Where|When|Who|Whose|How|Why)\b", re.IGNORECASE)

every_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


def described(command: Any) -> list[Any]:
    """The parameters of a command that its help text lists."""
    return [entry for entry in command.params if not getattr(entry, "hidden", False)]


@every_command
def test_help_and_version_work_everywhere(words: tuple[str, ...]) -> None:
    short, long = caretbench(*words, "-h"), caretbench(*words, "--help")
    assert short.returncode == 0, short.stderr
    assert short.stdout == long.stdout
    assert "-h, --help" in short.stdout
    version = caretbench(*words, "--version")
    if words == ("dataset", "release"):  # has a version of its own
        assert (version.returncode, "--set-version" in version.stderr) == (2, True)
        return
    assert (version.returncode, version.stdout.split()[0]) == (0, "caretbench")


@every_command
def test_help_ends_with_examples_that_parse(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    found = examples(command)
    assert 1 <= len(found) <= 2
    assert caretbench(*words, "-h").stdout.rstrip().endswith(" ".join(found[-1][-1:]))
    for example in found:
        assert example[: len(words)] == list(words)
        assert isinstance(command, TyperGroup) or parse(example).command.name == words[-1]


@every_command
def test_descriptions_open_with_a_noun_or_a_verb(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    assert command.help
    for text in (command.help, *(entry.help for entry in described(command))):
        assert text
        assert not _QUESTION.match(text), text


@every_command
def test_long_lists_of_options_are_in_groups(words: tuple[str, ...]) -> None:
    options = [entry for entry in described(COMMANDS[words]) if entry.param_type_name == "option"]
    if len(options) >= MAX_UNGROUPED:
        ungrouped = [entry.name for entry in options if entry.rich_help_panel in (None, "Options")]
        assert not ungrouped


def test_a_wrong_option_of_an_example_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["report", "runs/mine", "--nonsense"])
