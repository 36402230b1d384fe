"""Baseline ``blind-scale``: the extent that an instruction asks for, filled with text that means nothing."""

from __future__ import annotations

from collections.abc import Iterator

from caretbench.extraction.caret_surroundings import Surroundings, possible_margins
from caretbench.languages import language_of_grammar
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification
from caretbench.suites.c3bench.scale.statements import column_at, statement_table
from caretbench.suites.c3bench.scale.verifier import verify


def blind_scale(prefix: str, suffix: str, specification: ScaleSpecification) -> str:
    """Return an answer such as ``pass`` or ``for x in (): pass``, made by the specification alone.

    It is the first of the language's texts, at each possible indentation, that satisfies the specification; the first
    of all if none does.
    """
    first, *others = _texts(prefix, suffix, specification)
    # The verifier chooses: a floor should be as high as an answer without sense can get.
    return next((one for one in (first, *others) if verify(prefix, one, suffix, specification).ok), first)


def _texts(prefix: str, suffix: str, specification: ScaleSpecification) -> Iterator[str]:
    blind = statement_table(specification.language).blind
    if specification.kind in {"span_node", "span_rest_of_line"}:
        yield from blind[specification.kind]
        return
    surroundings = Surroundings(prefix, suffix, language_of_grammar(specification.language).name)
    margins = possible_margins(surroundings)
    if specification.column is not None:
        margins.insert(0, " " * specification.column)
    of_kind = specification.kind == "block" and not specification.header_in_prefix
    caret = column_at(prefix, len(prefix))
    end = "" if suffix.startswith(("\n", "\r")) else "\n"
    for text in blind[str(specification.node) if of_kind else "statement"]:
        lines = text.split("\n") if of_kind else [text] * (specification.n or 1)
        for margin in dict.fromkeys(margins):
            # The caret's line has its indentation, or a part of it, already.
            yield f"{margin[caret:]}{lines[0]}" + "".join(f"\n{margin}{line}" for line in lines[1:]) + end
