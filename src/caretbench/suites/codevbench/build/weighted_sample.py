"""Sample of hidden spans by weights: kinds and cuts in the shares of a mix, evenly over files."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from caretbench.files import sha256_text
from caretbench.suites.codevbench.build.cuts import HiddenSpan
from caretbench.suites.codevbench.build.mix_weights import span_weight
from caretbench.suites.usage_weights import Weights


def weighted_sample(
    spans: Sequence[HiddenSpan],
    weights: Weights,
    *,
    limit: int | None,
    per_file: int | None = None,
    seed: int = 0,
    fault: Callable[[HiddenSpan], str | None] = lambda _span: None,
) -> tuple[list[HiddenSpan], Counter[str]]:
    """Return a sample of spans, in the order of sampling, and the number of rejected spans by fault.

    Each step takes from the cell (kind of block and cut) that is furthest behind its share, and there from the file
    with the fewest spans; the rest follows from a hash. Spans of weight 0 are not taken. A cell that runs out leaves
    its share to the others. ``fault`` says why a span is rejected; it is asked only when the span's turn comes.
    """
    cells: dict[tuple[str, str], dict[str, list[HiddenSpan]]] = defaultdict(lambda: defaultdict(list))
    shares: dict[tuple[str, str], float] = {}
    for span in spans:
        weight = span_weight(weights, span)
        if weight > 0:
            cells[span.block.kind, span.cut][span.block.path].append(span)
            shares[span.block.kind, span.cut] = weight
    rank = {(one.block.path, one.key): sha256_text(str(seed), one.block.path, one.key) for one in spans}
    for files in cells.values():
        for waiting in files.values():
            waiting.sort(key=lambda one: rank[one.block.path, one.key], reverse=True)
    chosen: list[HiddenSpan] = []
    rejected: Counter[str] = Counter()
    taken: Counter[tuple[str, str]] = Counter()
    in_file: Counter[str] = Counter()
    while cells and (limit is None or len(chosen) < limit):
        cell = min(cells, key=lambda one: ((taken[one] + 1) / shares[one], one))
        open_files = [path for path in cells[cell] if per_file is None or in_file[path] < per_file]
        if not open_files:
            del cells[cell]
            continue
        path = min(open_files, key=lambda one: (in_file[one], rank[one, cells[cell][one][-1].key]))
        first = cells[cell][path].pop()
        if not cells[cell][path]:
            del cells[cell][path]
        if (reason := fault(first)) is not None:
            rejected[reason] += 1
            continue
        chosen.append(first)
        taken[cell] += 1
        in_file[first.block.path] += 1
    return chosen, rejected
