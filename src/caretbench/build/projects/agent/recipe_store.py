"""Recipes of a build: the fault that each question showed, and the recipe that works, in one file of the folder.

A row is appended before a question is asked and after a trial, so that a stopped build repeats neither.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from caretbench.build.projects.agent.recipe import Recipe
from caretbench.files import RowAppender, read_rows
from caretbench.problem import SCHEMA_VERSION, Row

RECIPES_FILE: Final = "recipes.jsonl"


class RecipeRow(Row):
    """Outcome of one trial, a line of ``recipes.jsonl``: a fault with its log, or a recipe that works.

    ``case`` identifies the project with the options of its set-up; ``after`` everything that was said before.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
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
        known = read_rows(self.path, RecipeRow, allow_partial_last_line=True) if self.path.exists() else ()
        self._rows = {row.key: row for row in known}

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
