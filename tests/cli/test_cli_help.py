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


def described(command: Any) -> list[Any]:
    """The parameters of a command that its help text lists."""
    return [entry for entry in command.params if not getattr(entry, "hidden", False)]


def test_help_and_version_work_everywhere() -> None:
    """Help ends with one or two examples, which parse."""
    for words, command in COMMANDS.items():
        short, found = caretbench(*words, "-h"), examples(command)
        assert short.returncode == 0, (words, short.stderr)
        assert "-h, --help" in short.stdout, words
        assert 1 <= len(found) <= 2, words
        assert short.stdout.rstrip().endswith(" ".join(found[-1][-1:])), words
        for example in found:
            assert example[: len(words)] == list(words), example
            assert isinstance(command, TyperGroup) or parse(example).command.name == words[-1], example
        version = caretbench(*words, "--version")
        if words == ("dataset", "release"):  # has a version of its own
            assert (version.returncode, "--set-version" in version.stderr) == (2, True)
        else:
            assert (version.returncode, version.stdout.split()[0]) == (0, "caretbench"), words


@pytest.mark.smoke
def test_both_options_for_help_are_the_same() -> None:
    """For one group and one command: they are declared in one place for all."""
    for words in ((), ("run",)):
        assert caretbench(*words, "-h").stdout == caretbench(*words, "--help").stdout


def test_descriptions_open_with_a_noun_or_a_verb() -> None:
    for words, command in COMMANDS.items():
        for text in (command.help, *(entry.help for entry in described(command))):
            assert text, f"{words}: no description"
            assert not _QUESTION.match(text), (words, text)


def test_long_lists_of_options_are_in_groups() -> None:
    for words, command in COMMANDS.items():
        options = [entry for entry in described(command) if entry.param_type_name == "option"]
        ungrouped = [entry.name for entry in options if entry.rich_help_panel in (None, "Options")]
        assert len(options) < MAX_UNGROUPED or not ungrouped, (words, ungrouped)


def test_a_wrong_option_of_an_example_would_be_noticed() -> None:
    with pytest.raises(Exception, match="--nonsense"):
        parse(["report", "runs/mine", "--nonsense"])
