"""Strict reading of recipes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.build.projects.agent.recipe import Recipe, read_recipe

GOOD = {"commands": ["pip install x", "make"], "test_command": None, "environment": {"A": "b c"}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Here it is:\r\n```\r\n{json.dumps(GOOD, indent=1)}\r\n```\r\nDone.",
    ],
)
def test_a_recipe_is_one_object_alone_or_in_a_fence(text: str) -> None:
    recipe = read_recipe(text)
    assert recipe == Recipe(commands=("pip install x", "make"), environment={"A": "b c"})
    assert recipe.shown == "export A='b c' && (pip install x) && (make)"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty"),
        ("I cannot help.", "it is not JSON"),
        ("```json\n{}\n```\n```json\n{}\n```", "2 code fences"),
        ("[]", "not an object"),
        ("{}", "no command"),
        ('{"commands": [], "environment": {}}', "no command"),
        ('{"commands": ["a"], "commands": ["b"]}', "a field occurs twice"),
        ('{"commands": "pip install x"}', "commands"),
        ('{"commands": [1]}', "commands"),
        ('{"commands": [" "]}', "a command is empty"),
        ('{"commands": ["a\\u0000b"]}', "NUL"),
        ('{"commands": ["a"], "why": "x"}', "why"),
        ('{"commands": ["a"], "environment": {"A-B": "x"}}', "not the name of an environment variable"),
        ('{"commands": ["a"], "environment": {"A": 1}}', "environment"),
        (json.dumps({"commands": ["a"] * 21}), "commands"),
        (json.dumps({"commands": ["a" * 4001]}), "commands"),
        ("[" * 100_000, "not JSON|nested"),
    ],
)
def test_everything_else_is_named(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        read_recipe(text)


@given(st.text(max_size=200))
def test_no_text_does_anything_but_raise_a_value_error(text: str) -> None:
    try:
        recipe = read_recipe(text)
    except ValueError:
        return
    assert recipe.commands or recipe.test_command or recipe.environment
