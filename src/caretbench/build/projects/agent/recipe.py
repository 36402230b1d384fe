"""Recipe of a set-up, proposed from outside: strict reading, its file in a build folder, the project to repair."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, ValidationError, field_validator

from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.extraction.code_fences import closed_fences
from caretbench.files import RowAppender, describe_validation_error, read_appended, replace_surrogates, sha256_text
from caretbench.problem import Row, StoredRow

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Recipes come from a model: without bounds one answer could fill the folder and the sandbox's script.
MAX_COMMANDS: Final = 20
_MAX_CHARACTERS: Final = 4_000
Command = Annotated[str, Field(min_length=1, max_length=_MAX_CHARACTERS)]


class Recipe(Row):
    """Commands that set a project up, in order; its test command, and environment variables of both.

    Each command is a line for a ``/bin/sh`` of its own in the project's root. Without ``test_command`` the usual one of
    the project is detected from its files.
    """

    commands: tuple[Command, ...] = Field(default=(), max_length=MAX_COMMANDS)
    test_command: Command | None = None
    environment: Mapping[str, Annotated[str, Field(max_length=_MAX_CHARACTERS)]] = Field(
        default_factory=dict, max_length=30
    )

    @field_validator("environment")
    @classmethod
    def _are_variables(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        wrong = next((name for name in value if not _VARIABLE.fullmatch(name)), None)
        if wrong is not None:
            raise ValueError(f"{wrong!r} is not the name of an environment variable")
        if any("\0" in text for text in value.values()):
            raise ValueError("a value contains a NUL character")
        return value

    @field_validator("commands", "test_command")
    @classmethod
    def _are_lines(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        for line in (value,) if isinstance(value, str) else value or ():
            if not line.strip():
                raise ValueError("a command is empty")
            if "\0" in line:
                raise ValueError("a command contains a NUL character")
        return value

    @property
    def key(self) -> str:
        """Hash of the content."""
        return sha256_text(self.model_dump_json())

    @property
    def shown(self) -> str:
        """The set-up as one line for a shell, with the environment variables."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in self.environment.items()]
        lines += self.commands if len(self.commands) == 1 else [f"({line})" for line in self.commands]
        return " && ".join(lines)


def read_recipe(text: str) -> Recipe:
    """Return the recipe in a text: one JSON object, alone or in the only code fence.

    Raises:
        ValueError: there is none or several, or it has another form; the message names the fault.
    """
    fenced = closed_fences(text.replace("\r\n", "\n"))
    # Which of several fences is the recipe would be a guess.
    if len(fenced) > 1:
        raise ValueError(f"it has {len(fenced)} code fences; one is expected, with the JSON object of the recipe")
    source = (fenced[0] if fenced else text).strip()
    if not source:
        raise ValueError("it is empty")
    try:
        value = json.loads(source, object_pairs_hook=_without_repeats)
    # JSON nested thousands deep ends Python's parser, and would end the build.
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError("its JSON is not an object")  # noqa: TRY004  the text is wrong, not a type
    try:
        recipe = Recipe.model_validate(replace_surrogates(value))
    except ValidationError as error:
        raise ValueError(describe_validation_error(error)) from None
    if not (recipe.commands or recipe.test_command or recipe.environment):
        raise ValueError("the recipe has no command, no test command and no environment variable")
    return recipe


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Python's JSON takes the last of two equal fields; what a person reads first would not run.
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field occurs twice")
    return fields


RECIPES_FILE: Final = "recipes.jsonl"


class RecipeRow(StoredRow):
    """Outcome of one trial, a line of ``recipes.jsonl``: a fault with its log, or a recipe that works.

    ``case`` identifies the project with the options of its set-up; ``after`` everything that was said before.
    """

    case: str
    after: str
    fault: str = ""
    log: str = ""
    recipe: Recipe | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Unique key of the row."""
        return (self.case, self.after)


class RecipeStore:
    """The file of recipes in a build's folder.

    Raises:
        DataError: a line is malformed.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / RECIPES_FILE
        self._rows = {row.key: row for row in read_appended(self.path, RecipeRow)}

    def working(self, case: str) -> Recipe | None:
        """Return the recipe that works for a case, or None."""
        return next((row.recipe for row in self._rows.values() if row.case == case and row.recipe is not None), None)

    def get(self, case: str, after: str) -> RecipeRow | None:
        """Return the outcome of an earlier trial, or None."""
        return self._rows.get((case, after))

    def add(self, row: RecipeRow) -> RecipeRow:
        """Append a row and return it; return the earlier one if there is one with its key."""
        if row.key not in self._rows:
            with RowAppender(self.path) as appender:
                appender.append(row)
            self._rows[row.key] = row
        return self._rows[row.key]


@dataclass(frozen=True)
class RepairCase:
    """A project that is to be repaired.

    Args:
        name: Name of the project, for messages.
        project: Its files, before any set-up.
        setup: Set-up command that ran; empty if none did.
        test_command: Test command that the user or the project states; a recipe cannot replace it.
        options: What else determines whether a recipe works, as text.
        store: Recipes of the build.
    """

    name: str
    project: Snapshot
    setup: str
    test_command: str
    options: str
    store: RecipeStore

    @property
    def key(self) -> str:
        """Identifier of the case in the store."""
        return sha256_text(self.project.id, self.test_command, self.options)
