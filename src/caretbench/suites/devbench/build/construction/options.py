"""Options of ``caretbench build devbench``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from caretbench.errors import UsageError
from caretbench.languages import language as language_named
from caretbench.options import Option, StringList
from caretbench.problem import Row
from caretbench.suites.devbench.cells.cell_tables import (
    RELEASED_LANGUAGES,
    canonical_category,
    cell_categories,
    cell_languages,
)

GENERATOR_ROLE: Final = "generator"

_CELLS, _REQUESTS, _CHECKS = "Cells", "Requests", "Checks"

OPTIONS: Final = (
    Option("language", StringList, "Language of the instances; may be repeated. Default: all.", "build",
           metavar="NAME", help_group=_CELLS),
    Option("category", StringList, "Category of the instances; may be repeated. Default: all.", "build",
           metavar="NAME", help_group=_CELLS),
    Option("per_cell", int, "Number of instances up to which each cell (a language and a category) is filled; what the "
           "folder has already counts. Default: the folder's, at first 10; with --again as many as there were.",
           "build",
           flags=("--per-cell", "-n"), minimum=1, metavar="N", help_group=_CELLS),
    Option("weights", Path, "File of weights by language and category: cells with a higher share get more of "
           "the same total.", "build", metavar="FILE", help_group=_CELLS),
    Option("siblings", bool, "Also write a sibling of each instance: the same shape in another domain.", "build",
           flags=("--siblings",), default=False, help_group=_CELLS),
    Option("scenario_seed", int, "Random seed of the scenarios of a new folder. Default: a random one.", "build",
           minimum=0, metavar="N", help_group=_REQUESTS),
    Option("template", Path, "Folder with a template of the requests, template.toml. Default: the shipped one.",
           "build", metavar="DIR", help_group=_REQUESTS),
    Option("every_generator", bool, "Request each scenario from every generator, to measure generator bias. "
           "Default: one generator per scenario; the next one follows if it fails.", "build",
           flags=("--every-generator",), default=False, help_group=_REQUESTS),
    Option("repairs", int, "Maximum number of retries per generator after an unusable answer; each retry quotes the "
           "diagnosis.", "build", default=1, minimum=0, metavar="N", help_group=_REQUESTS),
    Option("patience", int, "Maximum number of scenarios that are tried for each instance.", "build", default=3,
           minimum=1, metavar="N", help_group=_REQUESTS),
    Option("again", Path, "Export of a review: removes the rejected instances and requests replacements, quoting the "
           "reviewers' reasons.", "build", metavar="PATH", help_group=_CHECKS),
    Option("compare", StringList, "Public set in which twins are searched: starter, released, humaneval-infilling, "
           "none, or a folder; may be repeated. Default: those that are in the cache.", "build",
           metavar="SET", help_group=_CHECKS),
    Option("licence", str, "Licence of the instances, for their rows and a release.", "build", metavar="NAME",
           help_group=_CHECKS),
    Option("unverified", bool, "Also keep instances that this machine cannot run.", "build", flags=("--unverified",),
           default=False, help_group=_CHECKS),
    Option("jobs", int, "Maximum number of programs that run at the same time. Default: the number of processors.",
           "build", flags=("--jobs", "-j"), minimum=1, help_group="Execution"),
)  # fmt: skip
"""Options of ``caretbench build devbench``."""


class ConstructionOptions(Row):
    """Options of one build of instances."""

    languages: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    per_cell: int | None = None
    """None: the folder's number."""
    weights: Path | None = None
    siblings: bool = False
    scenario_seed: int | None = None
    template: Path | None = None
    every_generator: bool = False
    repairs: int = Field(default=1, ge=0)
    patience: int = Field(default=3, ge=1)
    again: Path | None = None
    compare: tuple[str, ...] = ()
    licence: str | None = None
    unverified: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ConstructionOptions:
        """Return the options from the values of :data:`OPTIONS`.

        Raises:
            UsageError: there is no such language or category.
        """
        named = {name: values[name] for name in cls.model_fields if name in values}
        named["compare"] = tuple(values["compare"] or ())
        languages = tuple(_known_language(name) for name in values["language"] or ())
        categories = tuple(_known_category(name) for name in values["category"] or ())
        return cls(languages=languages, categories=categories, **named)


def _known_language(name: str) -> str:
    try:
        found = RELEASED_LANGUAGES.get(name) or language_named(name).name
    except UsageError:
        found = name
    if found not in cell_languages():
        raise UsageError(f"--language {name}: no such cells; languages: {', '.join(cell_languages())}")
    return found


def _known_category(name: str) -> str:
    try:
        return canonical_category(name)
    except UsageError:
        raise UsageError(f"--category {name}: no such cells; categories: {', '.join(cell_categories())}") from None
