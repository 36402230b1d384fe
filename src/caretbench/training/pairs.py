"""Training pairs: an instruction, the text around a place, and the text that belongs there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from caretbench.problem import Row

PAIRS_FILE: Final = "pairs.jsonl"
MANIFEST_FILE: Final = "pairs.json"

Boundary = Literal["character", "token", "line", "block", "instruction", "rewrite"]
"""Place where a middle begins and ends; ``instruction``: a middle with the instruction for it, by C3-Bench or a model.

``rewrite``: a rewrite of C3-Bench in the place of what the file has there, with its instruction.
"""

DEFAULT_SHARES: Final[Mapping[Boundary, float]] = {
    "character": 0.1, "token": 0.1, "line": 0.25, "block": 0.25, "instruction": 0.3, "rewrite": 0.0
}  # fmt: skip
"""Share of the pairs of each boundary."""

TOKEN: Final = re.compile(r"\w+|[^\w\s]")
"""A word, or one sign. Blanks and line ends are no tokens."""


class TrainingPair(Row):
    """A row of training data: ``prefix``, ``middle`` and ``suffix`` joined are a file of ``source`` as it stands.

    ``id`` is made of source, path and place; ``licence`` is the SPDX expression of the source. ``cut`` is True where
    the file was longer than the bound: then they are a part of it. ``author`` is the model that chose the middle.
    The middle of a ``rewrite`` is not in the file.
    """

    id: str
    language: str
    source: str
    path: str
    licence: str
    boundary: Boundary
    instruction: str | None = None
    prefix: str
    middle: str
    suffix: str
    cut: bool = False
    author: str | None = None
