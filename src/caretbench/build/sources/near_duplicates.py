"""Exact search for near-duplicate texts, with an inverted index over the rarest shingles of each."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

JACCARD_THRESHOLD = 0.8
SHINGLE_LINES = 5

Shingles = NDArray[np.uint64]
"""Different hashes in ascending order."""


def line_shingles(patch: str) -> Shingles:
    """Return hashes of all runs of five lines of a patch.

    Headers of hunks, blank lines and trailing white space are ignored. A shorter text is one shingle.
    """
    lines = [text for line in patch.split("\n") if (text := line.rstrip())[1:] and not text.startswith("@@ ")]
    hashes = [int.from_bytes(blake2b(line.encode("utf-8", "replace"), digest_size=8).digest()) for line in lines]
    runs = max(1, len(hashes) - SHINGLE_LINES + 1) if hashes else 0
    # The hash of a tuple of integers is the same in every process, unlike that of strings.
    return as_shingles(hash(tuple(hashes[start : start + SHINGLE_LINES])) for start in range(runs))


def as_shingles(hashes: Iterable[int]) -> Shingles:
    """Return hashes as shingles: a sorted array of unique 64-bit hashes."""
    return np.unique(np.fromiter((value & 0xFFFFFFFFFFFFFFFF for value in hashes), dtype=np.uint64))


def find_near_duplicates(items: Iterable[tuple[str, Shingles]], threshold: float = JACCARD_THRESHOLD) -> dict[str, str]:
    """Return the items that repeat an earlier one: name -> name of the first such item.

    An item repeats another if the Jaccard index of their shingles is above ``threshold``. Items without shingles repeat
    nothing. The order of the items decides which one is first.
    """
    names: list[str] = []
    sets: list[Shingles] = []
    for name, shingles in items:
        names.append(name)
        sets.append(shingles)
    if not sets:
        return {}
    firsts: dict[int, int] = {}
    # Rarest first: two sets above the threshold share one of these few shingles, so most pairs are never compared.
    holders: dict[int, list[int]] = defaultdict(list)
    for index, ranks in enumerate(_rarest_first(sets)):
        size = len(ranks)
        if not size:
            continue
        # The smallest overlap above the threshold with a set of the smallest possible size.
        prefix = ranks[: size - math.ceil(threshold * size) + 1].tolist()
        candidates = sorted({other for rank in prefix for other in holders[rank]})
        first = _first_match(sets, index, candidates, threshold)
        if first is None:
            for rank in prefix:
                holders[rank].append(index)
        # Repetitions are not indexed: a third copy is compared with the first, which stays in the data.
        else:
            firsts[index] = first
    return {names[index]: names[first] for index, first in firsts.items()}


def _rarest_first(sets: Sequence[Shingles]) -> Iterable[NDArray[np.int64]]:
    """Return each set as ranks of its shingles by frequency over all sets, rarest first."""
    distinct, counts = np.unique(np.concatenate(sets), return_counts=True)
    ranks = np.empty(len(distinct), dtype=np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(distinct))
    return (np.sort(ranks[np.searchsorted(distinct, shingles)]) for shingles in sets)


def _first_match(sets: Sequence[Shingles], index: int, candidates: Sequence[int], threshold: float) -> int | None:
    """Return the first candidate with a Jaccard index above the threshold."""
    mine = sets[index]
    for other in candidates:
        theirs = sets[other]
        smaller, larger = sorted((len(mine), len(theirs)))
        # Sizes alone bound the Jaccard index, without an intersection.
        if smaller <= threshold * larger:
            continue
        common = len(np.intersect1d(mine, theirs, assume_unique=True))
        if common > threshold * (len(mine) + len(theirs) - common):
            return other
    return None
