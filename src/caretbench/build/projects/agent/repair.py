"""Protocol of what repairs a project that cannot be set up or tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from caretbench.build.projects.agent.recipe import Recipe
from caretbench.build.projects.agent.recipe_store import RecipeStore
from caretbench.build.projects.setup.project_setup import SetupError
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.files import sha256_text

ResultT = TypeVar("ResultT")


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


class SetupRepair(Protocol):
    """Repair of a project's set-up by recipes."""

    def repair(self, case: RepairCase, fault: SetupError, attempt: Callable[[Recipe], ResultT]) -> ResultT:
        """Return the result of the first recipe that works.

        Args:
            case: The project.
            fault: Fault of the project without a recipe.
            attempt: Tries a recipe from a clean copy of the project; raises SetupError if it does not work.

        Raises:
            DataError: no recipe works within the budget; the message has the faults of all.
        """
        ...
