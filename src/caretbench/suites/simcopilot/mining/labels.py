"""The labels of a mined task: raw numbers, cut only where results are summarised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caretbench.problem import Label
from caretbench.projects.language_tables import project_tables
from caretbench.suites.simcopilot.mining.candidates import Candidate, shown
from caretbench.suites.simcopilot.mining.rules import mining_rules
from caretbench.suites.simcopilot.released.paper import paper
from caretbench.syntax import Block, FileAnalysis, Reference, Span

_LOCAL: Final = frozenset({"same_block", "same_function"})
_INNER: Final = frozenset({"comprehension"})


def labels_of_candidate(analysis: FileAnalysis, candidate: Candidate, project: str) -> dict[str, Label]:
    """Return all labels. Distances are lines; a distance that does not exist has no label.

    ``reference_distance`` is that of the furthest declaration in the same file, library names apart, as the paper
    counts; ``reaching_distance`` that of the furthest name by its nearest definition whose value can arrive;
    ``local_distance`` and ``nonlocal_distance`` the same within and beyond the function. ``files_crossed`` counts
    borders of files on the way to a declaration.
    """
    span = candidate.span
    references = analysis.references_in(span)
    size = analysis.size(span)
    labels: dict[str, Label] = {
        "language": analysis.source.language,
        "mode": candidate.mode,
        "block": candidate.kind,
        "project": project,
        "constructs": constructs(analysis, span, references),
        "structure": structure(analysis, span),
        "references": sorted({str(reference.binding) for reference in references}),
        "block_lines": float(size.lines),
        "block_tokens": float(size.tokens),
        "cyclomatic": float(size.cyclomatic),
        "aligned": "yes" if candidate.block.aligned or candidate.kind.endswith("body") else "no",
        "cursor_column": float(_column(analysis, span.start)),
        "closing_delimiters": candidate.closing or "none",
        "files_crossed": float(max((reference.files_crossed for reference in references), default=0)),
    }
    labels |= {name: float(value) for name, value in distances(references).items()}
    comments = {
        "comment_distance": analysis.comment_distance(span.start),
        "comment_distance_any": analysis.comment_distance(span.start, counting="any"),
    }
    return labels | {name: float(lines) for name, lines in comments.items() if lines is not None}


def constructs(
    analysis: FileAnalysis, span: Span, references: tuple[Reference, ...] | None = None
) -> list[str]:
    """Return the paper's eight constructs that a span holds, refers to or lies in, in the paper's order."""
    rules = mining_rules().constructs
    table = project_tables().get(analysis.source.language)
    fields_are_global = table is not None and table.mining.fields_are_global
    found = {rules.blocks[block.kind] for block in _touched(analysis, span) if block.kind in rules.blocks}
    for reference in analysis.references_in(span) if references is None else references:
        if reference.origin in ("stdlib", "third_party"):
            found.add("library")
        elif reference.binding == "field" and fields_are_global:
            found.add("global_variable")
        elif reference.binding in rules.bindings:
            found.add(rules.bindings[reference.binding])
    return [name for name in paper().constructs if name in found]


def structure(analysis: FileAnalysis, span: Span) -> list[str]:
    """Return the constructs of ours that a span holds."""
    wanted = mining_rules().constructs.structure
    held = {block.kind for block in analysis.blocks_in(span)}
    return [name for name in wanted if name in held]


def distances(references: tuple[Reference, ...]) -> dict[str, int]:
    """Return the distances of the furthest references, by label."""
    own = [(one, one.declaration_lines) for one in references if one.library is None]
    declared = [lines for one, lines in own if lines or (lines == 0 and one.binding in _INNER)]
    reaching = [
        (reference.origin in _LOCAL, lines)
        for reference in references
        if (lines := reference.reaching_lines) is not None
    ]
    found = {
        "reference_distance": max(declared, default=None),
        "reaching_distance": max((lines for _, lines in reaching), default=None),
        "local_distance": max((lines for local, lines in reaching if local), default=None),
        "nonlocal_distance": max((lines for local, lines in reaching if not local), default=None),
    }
    return {name: lines for name, lines in found.items() if lines is not None}


def _touched(analysis: FileAnalysis, span: Span) -> Iterator[Block]:
    yield from analysis.blocks_in(span)
    yield from analysis.enclosing_blocks(span, mining_rules().constructs.blocks.keys() - {"class_body"})


def _column(analysis: FileAnalysis, position: int) -> int:
    """Characters before the caret in its line."""
    first = analysis.source.line_starts[analysis.source.line_at(position) - 1]
    return len(shown(analysis.source.data[first:position]))
