"""The group ``caretbench review``, and what its commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.command_help import HelpGroup

if TYPE_CHECKING:
    from caretbench.people.review.database import ReviewDatabase

app = typer.Typer(
    cls=HelpGroup,
    no_args_is_help=True,
    help="""Let people review problems and answers in a browser.

Examples:
  caretbench review demo
  caretbench review new reviews/mine --protocol devbench-instance""",
)

Folder = Annotated[Path, typer.Argument(help="Folder of the review.", metavar="FOLDER")]


def open_review(folder: Path) -> ReviewDatabase:
    """Return the open database of a review.

    Raises:
        DataError: there is no review in the folder.
    """
    from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase

    return ReviewDatabase(folder / DATABASE_NAME)
