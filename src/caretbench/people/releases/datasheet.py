"""Datasheet of a released set: its facts and figures, and what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from caretbench.people.releases.built_set import BuiltSet
from caretbench.people.releases.generation_figures import GenerationFigures, generation_figures
from caretbench.people.releases.part_figures import PartFigures
from caretbench.people.releases.review_figures import ReviewFigures
from caretbench.problem import Row

Part = Literal["public", "holdout"]


class Datasheet(Row):
    """Datasheet of one part of a set: ``datasheet.json``."""

    schema_version: Literal[1] = 1
    name: str
    version: str
    part: Part
    suite: str
    licence: str
    licences: Mapping[str, int]
    terms: Mapping[str, str]
    canary: str
    url: str | None = None
    holdout_problems: int
    holdout_share: float
    figures: PartFigures
    generation: GenerationFigures
    review: ReviewFigures | None = None
    changes: Mapping[str, int] | None = None
    """Number of problems that were added, removed or changed since the earlier version."""
    versions: Mapping[str, JsonValue] = Field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def unknown_facts(built: BuiltSet, review: ReviewFigures | None) -> tuple[str, ...]:
    """Return what the folder does not tell, as phrases."""
    generation = generation_figures(built)
    facts = {
        "generator, scenario, checks and cost of the instances: the folder has no instances.jsonl": not built.instances,
        "attempts and yields: the folder has no attempts.jsonl": generation.attempts is None,
        f"cost of the generation{_unpriced(generation)}": generation.cost is None,
        "hours of the generation on the clock: the manifest has none": generation.wall_hours is None,
        "results of a review by people: none was given with --review": review is None,
    }
    return tuple(text for text, missing in facts.items() if missing)


def _unpriced(generation: GenerationFigures) -> str:
    return f": {generation.unpriced} answers have no known price" if generation.unpriced else ""
