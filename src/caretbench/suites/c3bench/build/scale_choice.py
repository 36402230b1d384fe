"""Middles of source files for SCC: which of those with a sharp specification are used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from caretbench.suites.c3bench.build.balance import balanced_choice
from caretbench.suites.c3bench.build.build_types import Reject, SourceText
from caretbench.suites.c3bench.build.implementation_middles import LINE_SHARE
from caretbench.suites.c3bench.scale.scale_middles import ScaleMiddle, proposed_middles, rejects_wrong_answers

LINES_TYPE = "multi_line"
"""Type of problems whose middle is a run of lines."""


class ScaleCandidate(NamedTuple):
    """Middle of a file with its specification."""

    file: SourceText
    middle: ScaleMiddle

    @property
    def key(self) -> str:
        """Identifier: file and span."""
        return f"{self.file.id}/{self.middle.start}-{self.middle.end}"

    @property
    def form(self) -> str:
        """Kind of the specification in detail: node, number of lines, body or statement."""
        wanted = self.middle.specification
        return f"{wanted.kind}-{wanted.node}-{wanted.n}-{wanted.header_in_prefix}"


def scale_candidates(
    files: Sequence[SourceText],
    max_share: float,
    per_file: int,
    seed: int,
    progress: Callable[[int], None] = lambda _count: None,
) -> tuple[list[ScaleCandidate], list[Reject]]:
    """Return at most ``per_file`` middles of each file, and the reasons why others are not used.

    The types of a file take turns, then forms of the specification. A span has one problem: the first of its
    specifications, blocks before runs of lines before parts of lines. Specifications are tried until enough of them
    reject the six wrong answers; the rest is not tried.
    """
    found, rejects = [], []
    for file in files:
        counts: Counter[tuple[str, str]] = Counter()
        proposed = _proposed(file, max_share, counts)
        queue = balanced_choice(
            proposed, None, lambda one: one.key, (lambda one: one.middle.type, lambda one: one.form), seed
        )
        kept: list[ScaleCandidate] = []
        for position, one in enumerate(queue):
            if len(kept) == per_file:
                counts["not_tried", f"the file has {per_file} already"] = len(queue) - position
                break
            if rejects_wrong_answers(file.text, one.middle):
                kept.append(one)
            else:
                counts["accepts_wrong", "the specification fails the reference, or accepts a wrong answer"] += 1
        if not queue:
            counts["no_middle", "no middle with a specification"] += 1
        found += kept
        rejects += [
            Reject(stage="middle", place=file.id, reason=reason, detail=detail, count=count)
            for (reason, detail), count in counts.items()
        ]
        progress(1)
    return found, rejects


def _proposed(file: SourceText, max_share: float, counts: Counter[tuple[str, str]]) -> list[ScaleCandidate]:
    """Return the middles of a file that are short enough, one for each span; count the others."""
    spans: dict[tuple[int, int], ScaleCandidate] = {}
    for middle in proposed_middles(file.text, file.language):
        length = middle.end - middle.start
        if length > max_share * (len(file.text) - length):
            counts["long", f"longer than {max_share:.0%} of the text around it"] += 1
        elif (middle.start, middle.end) in spans:
            counts["same_span", "another specification has the same answer"] += 1
        else:
            spans[middle.start, middle.end] = ScaleCandidate(file, middle)
    return list(spans.values())


def chosen_middles(candidates: Sequence[ScaleCandidate], limit: int | None, seed: int) -> list[ScaleCandidate]:
    """Return a balanced choice: three of ten are runs of lines, the others parts of lines and blocks in equal numbers.

    Within a type, languages take turns, then forms of the specification, then files.
    """
    queues = {
        name: balanced_choice(
            [one for one in candidates if one.middle.type == name], None, lambda one: one.key,
            (lambda one: one.file.language, lambda one: one.form, lambda one: one.file.id), seed,
        )
        for name in sorted({one.middle.type for one in candidates})
    }  # fmt: skip
    wanted = _quotas({name: len(queue) for name, queue in queues.items()}, limit)
    return [one for name, queue in queues.items() for one in queue[: wanted[name]]]


def _quotas(supply: dict[str, int], limit: int | None) -> dict[str, int]:
    """Return how many middles of each type are used: shares that the scarcest type allows, or ``limit`` in total."""
    nodes = [name for name in supply if name != LINES_TYPE]
    share = {name: LINE_SHARE if name == LINES_TYPE else (1 - LINE_SHARE) / max(len(nodes), 1) for name in supply}
    if len(share) == 1:
        share = dict.fromkeys(share, 1.0)
    total = min((count / share[name] for name, count in supply.items()), default=0)
    if limit is not None:
        total = min(total, limit)
    exact = {name: round(total * share[name], 6) for name in supply}
    wanted = {name: int(count) for name, count in exact.items()}
    rest = int(total + 1e-6) - sum(wanted.values())
    for name in sorted(exact, key=lambda one: wanted[one] - exact[one])[:rest]:
        wanted[name] += 1
    return {name: min(supply[name], count) for name, count in wanted.items()}
