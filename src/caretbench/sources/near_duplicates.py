"""Near-duplicates among many texts: exact, and fast by an inverted index over the rarest shingles of each.

Two sets whose Jaccard index is above ``t`` share one of their ``n - ceil(t n) + 1`` rarest elements (prefix filtering:
Chaudhuri, Ganti, Kaushik, ICDE 2006; Bayardo, Ma, Srikant, WWW 2007), so only these are looked up.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 0.8
LINES = 5

Shingles = NDArray[np.uint64]
"""Hashes, each once, in ascending order."""


def line_shingles(patch: str, size: int = LINES) -> Shingles:
    """Hashes of all runs of ``size`` lines of a patch, without headers of hunks, blank lines and white space at ends.

    A shorter text is one shingle. The hashes depend on nothing but the text.
    """
    lines = [text for line in patch.split("\n") if (text := line.rstrip())[1:] and not text.startswith("@@ ")]
    hashes = [
        int.from_bytes(blake2b(line.encode("utf-8", "replace"), digest_size=8).digest()) for line in lines
    ]
    runs = max(1, len(hashes) - size + 1) if hashes else 0
    # The hash of a tuple of integers is the same in every process, other than that of texts.
    return as_shingles(hash(tuple(hashes[start : start + size])) for start in range(runs))


def as_shingles(hashes: Iterable[int]) -> Shingles:
    """Return any integers as shingles."""
    return np.unique(np.fromiter((value & 0xFFFFFFFFFFFFFFFF for value in hashes), dtype=np.uint64))


def near_duplicates(items: Iterable[tuple[str, Shingles]], threshold: float = THRESHOLD) -> dict[str, str]:
    """Items that repeat an earlier one: name -> name of the first of its kind.

    An item repeats another when the Jaccard index of their shingles is above ``threshold``. Items without shingles
    repeat nothing. The order of the items decides which one is the first; give them in an order of their own.
    """
    names: list[str] = []
    sets: list[Shingles] = []
    for name, shingles in items:
        names.append(name)
        sets.append(shingles)
    if not sets:
        return {}
    firsts: dict[int, int] = {}
    holders: dict[int, list[int]] = defaultdict(list)
    for index, ranks in enumerate(_rarest_first(sets)):
        size = len(ranks)
        if not size:
            continue
        # The smallest overlap that is above the threshold, with a set of the least admissible size.
        prefix = ranks[: size - math.ceil(threshold * size) + 1].tolist()
        candidates = sorted({other for rank in prefix for other in holders[rank]})
        first = _first_above(sets, index, candidates, threshold)
        if first is None:
            for rank in prefix:
                holders[rank].append(index)
        else:
            firsts[index] = first
    return {names[index]: names[first] for index, first in firsts.items()}


def _rarest_first(sets: Sequence[Shingles]) -> Iterable[NDArray[np.int64]]:
    """Return each set as ranks of its shingles by how rare they are among all sets, the rarest first."""
    found, counts = np.unique(np.concatenate(sets), return_counts=True)
    ranks = np.empty(len(found), dtype=np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(found))
    return (np.sort(ranks[np.searchsorted(found, shingles)]) for shingles in sets)


def _first_above(
    sets: Sequence[Shingles], index: int, candidates: Sequence[int], threshold: float
) -> int | None:
    """Return the first candidate that is near enough; only firsts of their kind are candidates."""
    mine = sets[index]
    for other in candidates:
        theirs = sets[other]
        smaller, larger = sorted((len(mine), len(theirs)))
        if smaller <= threshold * larger:
            continue
        common = len(np.intersect1d(mine, theirs, assume_unique=True))
        if common > threshold * (len(mine) + len(theirs) - common):
            return other
    return None
