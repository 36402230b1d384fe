"""Values of the label ``scenario``."""

from __future__ import annotations

from typing import Final

FULL_BLOCK: Final = "full_block"
INNER_BLOCK: Final = "inner_block"
INCOMPLETE_SUFFIX: Final = "incomplete_suffix"
RAG: Final = "rag"
