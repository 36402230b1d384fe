"""Weights of usage: shares of kinds of block, scenarios, cuts, parts of a line, languages and categories.

A file of weights is TOML; ``usage`` and ``even`` ship. Shares of one table need not add up to anything.
"""

from __future__ import annotations

import math
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field, ValidationError, model_validator

from caretbench.errors import DataError
from caretbench.files import describe_validation_error, read_toml
from caretbench.problem import Row

SHIPPED: Final = ("even", "usage")
"""Names of the weights that ship."""


def _checked(shares: dict[str, float]) -> dict[str, float]:
    values = shares.values()
    if not all(math.isfinite(value) and value >= 0 for value in values) or (shares and not sum(values)):
        raise ValueError("shares are finite numbers of 0 or more, and one of them is more than 0")
    return shares


NamedShares = Annotated[dict[str, float], AfterValidator(_checked)]
"""Shares by names that a suite knows; an empty table says nothing about shares."""


class _Shares(Row):
    @model_validator(mode="after")
    def _some(self) -> _Shares:
        _checked(self.model_dump())
        return self


class BlockShares(_Shares):
    """Shares by kind of block."""

    method: float = 0.0
    if_: float = Field(default=0.0, alias="if")
    for_: float = Field(default=0.0, alias="for")
    while_: float = Field(default=0.0, alias="while")
    try_: float = Field(default=0.0, alias="try")
    catch: float = 0.0
    statement: float = 0.0
    argument_list: float = 0.0
    partial_line: float = 0.0
    comment: float = 0.0


class ScenarioShares(_Shares):
    """Shares by scenario."""

    full_block: float = 0.0
    inner_block: float = 0.0
    incomplete_suffix: float = 0.0
    rag: float = 0.0


class CutShares(_Shares):
    """Shares by cut of an inner block, of the problems that are drawn."""

    statement: float = 0.0
    token: float = 0.0
    operator: float = 0.0
    empty: float = 0.0


class LineShares(_Shares):
    """Shares of answers that begin a line, and of those that go on in one."""

    whole: float = 1.0
    partial: float = 1.0


class Weights(Row):
    """The weights of a mix; ``source`` says where the shares come from.

    Codev-Bench reads the tables of blocks, scenarios, cuts and lines; DevBench those of languages and categories. A
    table that a file lacks says nothing about shares.
    """

    schema_version: int = Field(default=1, ge=1, le=1)
    name: str
    source: str
    block: BlockShares = BlockShares.model_construct()
    scenario: ScenarioShares = ScenarioShares.model_construct()
    cut: CutShares = CutShares.model_construct()
    line: LineShares = LineShares()
    language: NamedShares = Field(default_factory=dict)
    category: NamedShares = Field(default_factory=dict)


def read_weights(name: str) -> Weights:
    """Return weights that ship, by name, or those of a file, which has ``name`` and ``source`` of its own or not.

    Raises:
        DataError: the file is missing or malformed.
    """
    file = resources.files(__package__).joinpath(f"weights/{name}.toml") if name in SHIPPED else Path(name)
    if not file.is_file():
        raise DataError(f"{name}: no such file of weights; give one, or {' or '.join(SHIPPED)}")
    try:
        return Weights.model_validate({"name": Path(name).stem, "source": name} | read_toml(file))
    except ValidationError as error:
        example = resources.files(__package__).joinpath("weights/even.toml")
        raise DataError(f"{name}: {describe_validation_error(error)}; {example} has all names") from None
