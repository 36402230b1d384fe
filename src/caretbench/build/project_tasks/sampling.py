"""Balanced sampling of candidates over cells.

A cell is a mode, a kind of block, and a construct that the block refers to. Each step samples from the cell with the
fewest tasks; within it, files with fewer tasks are preferred, then the order is a hash of seed and name. The sample
does not depend on the order of the candidates.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from caretbench.files import sha256_text

Cell = tuple[str, str, str]


class SampledCandidate(NamedTuple):
    """A candidate for sampling: its unique name, its file, and its cells."""

    name: str
    path: str
    cells: tuple[Cell, ...]


def balanced_sample(
    candidates: Sequence[SampledCandidate], *, limit: int | None = None, per_file: int | None = None, seed: int = 0
) -> list[str]:
    """Return the names of the sampled candidates, in the order of sampling.

    ``limit`` and ``per_file`` are maximum numbers in total and per file. Rare cells are filled first. Names must be
    unique, and each candidate must have a cell.
    """
    by_cell: dict[Cell, list[SampledCandidate]] = defaultdict(list)
    for candidate in candidates:
        for cell in candidate.cells:
            by_cell[cell].append(candidate)
    rank = {one.name: sha256_text(str(seed), one.name) for one in candidates}
    chosen: list[str] = []
    taken: set[str] = set()
    in_file: Counter[str] = Counter()
    in_cell: Counter[Cell] = Counter()
    rarity = {cell: len(members) for cell, members in by_cell.items()}
    queue = [(0, rarity[cell], cell) for cell in by_cell]
    heapq.heapify(queue)
    waiting = {cell: _Waiting(members, rank) for cell, members in by_cell.items()}
    while queue and (limit is None or len(chosen) < limit):
        count, rare, cell = heapq.heappop(queue)
        if count < in_cell[cell]:  # candidates of other cells are in this one too
            heapq.heappush(queue, (in_cell[cell], rare, cell))
            continue
        found = waiting[cell].next(taken, in_file, per_file)
        if found is None:
            continue
        chosen.append(found.name)
        taken.add(found.name)
        in_file[found.path] += 1
        in_cell.update(found.cells)
        heapq.heappush(queue, (in_cell[cell], rare, cell))
    return chosen


class _Waiting:
    """Queue of a cell's candidates, grouped by file."""

    def __init__(self, members: Sequence[SampledCandidate], rank: Mapping[str, str]) -> None:
        self._files: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for one in members:
            self._files[one.path].append((rank[one.name], one.name))
        for names in self._files.values():
            names.sort(reverse=True)
        self._members = {one.name: one for one in members}
        self._queue = [(0, names[-1], path) for path, names in self._files.items()]
        heapq.heapify(self._queue)

    def next(self, taken: set[str], in_file: Counter[str], per_file: int | None) -> SampledCandidate | None:
        """Remove and return the first candidate that is not taken, of the file with the fewest tasks."""
        while self._queue:
            count, first, path = heapq.heappop(self._queue)
            names = self._files[path]
            while names and names[-1][1] in taken:
                names.pop()
            if not names or (per_file is not None and in_file[path] >= per_file):
                continue
            if (count, first) == (in_file[path], names[-1]):
                found = self._members[names.pop()[1]]
                if names:
                    heapq.heappush(self._queue, (in_file[path], names[-1], path))
                return found
            heapq.heappush(self._queue, (in_file[path], names[-1], path))
        return None
