"""Names in problems: values of the label ``scenario``, and a field of ``released``."""

from __future__ import annotations

from typing import Final

FULL_BLOCK: Final = "full_block"
INNER_BLOCK: Final = "inner_block"
INCOMPLETE_SUFFIX: Final = "incomplete_suffix"
RAG: Final = "rag"

BLOCK_SPAN: Final = "block_span"
"""Field of ``released`` with the bytes of the block in its file, ``START-END``."""
