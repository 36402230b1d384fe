"""Scenarios of requests, drawn from a seeded grid: each value of an axis is used before one of them occurs again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeVar

from caretbench.problem import Row
from caretbench.suites.devbench.cells.cell_tables import CellKind, cell_categories, cell_languages, domains
from caretbench.syntax.caret_boundary import CaretBoundary

Mode = Literal["suffix", "no_suffix"]

BOUNDARY_WORDS: Final[Mapping[CaretBoundary, str]] = {
    "operator": "directly behind an operator, such as = or +",
    "call": "directly behind the opening bracket of a call",
    "declaration": "directly behind the head of a declaration, where its body begins",
    "new_line": "at the beginning of a line, behind its indentation",
    "line": "within a line, behind a whole word or a bracket",
    "word": "within a word: the prefix ends with its first letters, and the reference begins with the rest",
}
"""Boundaries of the caret, in words for generators."""
_BOUNDARIES: Final[tuple[CaretBoundary, ...]] = (
    "new_line", "operator", "new_line", "call", "declaration", "new_line", "line", "operator", "new_line", "call",
    "declaration", "word",
)  # fmt: skip
_MODES: Final[tuple[Mode, ...]] = ("suffix", "suffix", "suffix", "no_suffix")
_NAMES: Final = 3
_NUMBERS: Final = 3
ValueT = TypeVar("ValueT")


class Scenario(Row):
    """Properties that one instance shall have: the cell, and one value of each axis.

    ``names`` are invented words and ``numbers`` values for the program, so that every build is new. ``sibling_of`` is
    the id of the instance whose shape this one repeats in another domain.
    """

    id: str
    language: str
    category: str
    number: int
    kind: str
    domain: str
    language_construct: str
    band: str
    documentation: str
    mode: Mode
    boundary: CaretBoundary
    names: tuple[str, ...]
    numbers: tuple[int, ...]
    seed: int
    sibling_of: str | None = None

    @property
    def cell(self) -> str:
        """The cell: language and category."""
        return f"{self.language}/{self.category}"

    @property
    def original_id(self) -> str:
        """Id of the scenario without regard to siblings: that of the original and its sibling are the same."""
        return f"{self.cell}/{self.number}"


def scenario(language: str, category: str, number: int, seed: int) -> Scenario:
    """Return a scenario of a cell by its number, from 1; the same seed gives the same scenario.

    Raises:
        KeyError: the tables have no such category or language.
    """
    table, kinds = cell_languages()[language], cell_categories()[category].kinds
    cell = f"{language}/{category}"

    def drawn(axis: str, values: Sequence[ValueT]) -> ValueT:
        return _in_turn(values, number, f"{seed} {cell} {axis}")

    rng = random.Random(f"{seed} {cell} {number}")  # noqa: S311  # a draw, no secret
    return Scenario(
        id=f"{cell}/{number}",
        language=language,
        category=category,
        number=number,
        kind=drawn("kind", _by_share(kinds)),
        domain=_in_turn(
            domains().domains, number, f"{seed} {language}", offset=list(cell_categories()).index(category)
        ),
        language_construct=drawn("construct", table.constructs[category]),
        band=drawn("band", tuple(cell_categories()[category].bands)),
        documentation=drawn("documentation", table.documentation_styles),
        mode="suffix" if table.has_assertions_in_suffix else drawn("mode", _MODES),
        boundary=drawn("boundary", _BOUNDARIES),
        names=tuple(_name(rng) for _ in range(_NAMES)),
        numbers=tuple(rng.randint(11, 997) for _ in range(_NUMBERS)),
        seed=seed,
    )


def sibling_scenario(original: Scenario, instance_id: str) -> Scenario:
    """Return the scenario of an instance's sibling: another domain, other names and numbers, all else alike."""
    rng = random.Random(f"{original.seed} {original.id} sibling")  # noqa: S311  # a draw, no secret
    others = [one for one in domains().domains if one != original.domain]
    return original.model_copy(
        update={
            "id": f"{original.id}-sibling",
            "domain": rng.choice(others),
            "names": tuple(_name(rng) for _ in range(_NAMES)),
            "numbers": tuple(rng.randint(11, 997) for _ in range(_NUMBERS)),
            "sibling_of": instance_id,
        }
    )


def _by_share(kinds: Mapping[str, CellKind]) -> list[str]:
    """Return the kinds, each as often as its share says, relative to the smallest share."""
    least = min(kind.share for kind in kinds.values())
    return [name for name, kind in kinds.items() for _ in range(round(kind.share / least))]


def _in_turn(values: Sequence[ValueT], number: int, seed: str, offset: int = 0) -> ValueT:
    """Return the value of a number, from 1: the values in random order, then in another order, and so on."""
    lap, index = divmod(number - 1, len(values))
    order = list(values)
    random.Random(f"{seed} {lap}").shuffle(order)  # noqa: S311  # a draw, no secret
    # Cells of one language begin at different places, so that they do not share their domains.
    return order[(index + offset * len(values) // 7) % len(order)]


def _name(rng: random.Random) -> str:
    return "".join(rng.choice(domains().syllables) for _ in range(rng.choice((2, 3))))


def cells(languages: Sequence[str] = (), categories: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield the cells of some languages and categories, in the order of the paper; by default all."""
    for language in cell_languages():
        for category in cell_categories():
            if (not languages or language in languages) and (not categories or category in categories):
                yield language, category
