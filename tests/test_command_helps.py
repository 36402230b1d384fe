"""Help texts of the documentation site: those of every command, under its verb."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.command_helps import helps
from tests.support.command_tree import COMMANDS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "verbs.md"


def test_every_command_has_its_help_under_its_verb() -> None:
    texts = helps()
    for words, command in COMMANDS.items():
        usage = rf"Usage: {' '.join(('caretbench', *words))} (?![a-z])"
        [text] = [text for text in texts["".join(words[:1])] if re.match(usage, text)]
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        options = {option for parameter in shown for option in parameter.opts if option.startswith("--")}
        assert not [option for option in options if option not in text]
    assert {*texts} - {""} == {*re.findall(r"(?m)^## (\w+)$", PAGE.read_text("utf-8"))}
