"""Retrieval of parts of files that are similar to the code at the caret, by BM25."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

LINES_PER_PART: Final = 20
_WORD: Final = re.compile(r"[A-Za-z]+|\d+")
_PIECE: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

NumberedLines = tuple[tuple[int, str], ...]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; ``camelCase`` and ``snake_case`` are split."""
    return [piece.lower() for word in _WORD.findall(text) for piece in _PIECE.findall(word)]


def most_similar_parts(
    query: str, files: Sequence[tuple[str, NumberedLines]], count: int
) -> list[tuple[str, NumberedLines]]:
    """Return up to ``count`` parts of 20 lines with their paths, by rising BM25 score (all positive)."""
    parts = [
        (path, lines[start : start + LINES_PER_PART])
        for path, lines in files
        for start in range(0, len(lines), LINES_PER_PART)
    ]
    ranked = rank_by_similarity(query, ["\n".join(text for _, text in lines) for _, lines in parts])
    return [parts[number] for number in reversed(ranked[:count])]


def rank_by_similarity(query: str, texts: Sequence[str]) -> list[int]:
    """Return the numbers of the texts with a positive BM25 score, by falling score; equal scores in their order."""
    import bm25s

    corpus = [words(text) for text in texts]
    filled = [n for n, found in enumerate(corpus) if found]
    known = {word for n in filled for word in corpus[n]}
    query_words = [word for word in words(query) if word in known]
    if not query_words:
        return []
    index = bm25s.BM25()
    index.index([corpus[n] for n in filled], show_progress=False)
    scores = index.get_scores(query_words)
    ranked = sorted(range(len(filled)), key=lambda n: (-float(scores[n]), n))
    return [filled[n] for n in ranked if scores[n] > 0]
