"""Labels of mined tasks; distances are raw numbers, and reports bin them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caretbench.problem import Label
from caretbench.projects.file_spans import visible_text
from caretbench.projects.language_tables import project_tables
from caretbench.suites.simcopilot.build.mining.candidates import Candidate
from caretbench.suites.simcopilot.mining_rules import mining_rules
from caretbench.suites.simcopilot.released.paper_rules import paper_rules
from caretbench.syntax import Block, FileAnalysis, Reference, Span

_LOCAL: Final = frozenset({"same_block", "same_function"})
_INNER: Final = frozenset({"comprehension"})


def candidate_labels(analysis: FileAnalysis, candidate: Candidate, project: str) -> dict[str, Label]:
    """Return all labels of a candidate. Distances are in lines; a missing label means that there is none.

    ``reference_distance``: to the furthest declaration in the same file, without library names (as in the paper).
    ``reaching_distance``: maximum over names of the distance to the nearest definition whose value can reach the use.
    ``local_distance``, ``nonlocal_distance``: the same, within and beyond the function. ``files_crossed``: maximum
    number of file boundaries between a use and its declaration.
    """
    span = candidate.span
    references = analysis.references_in(span)
    size = analysis.size(span)
    labels: dict[str, Label] = {
        "language": analysis.source.language,
        "mode": candidate.mode,
        "block": candidate.kind,
        "project": project,
        "constructs": paper_constructs(analysis, span, references),
        "structure": structure_constructs(analysis, span),
        "references": sorted({str(reference.binding) for reference in references}),
        "block_lines": float(size.lines),
        "block_tokens": float(size.tokens),
        "cyclomatic": float(size.cyclomatic),
        "aligned": "yes" if candidate.block.whole_statements or candidate.kind.endswith("body") else "no",
        "cursor_column": float(_column(analysis, span.start)),
        "closing_delimiters": candidate.closing_bracket or "none",
        "files_crossed": float(max((reference.files_crossed for reference in references), default=0)),
    }
    labels |= {name: float(value) for name, value in reference_distances(references).items()}
    comments = {
        "comment_distance": analysis.comment_distance(span.start),
        "comment_distance_any": analysis.comment_distance(span.start, counting="any"),
    }
    return labels | {name: float(lines) for name, lines in comments.items() if lines is not None}


def paper_constructs(analysis: FileAnalysis, span: Span, references: tuple[Reference, ...] | None = None) -> list[str]:
    """Return those of the paper's eight constructs that a span contains, refers to or is in, in the paper's order."""
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
    return [name for name in paper_rules().constructs if name in found]


def structure_constructs(analysis: FileAnalysis, span: Span) -> list[str]:
    """Return the constructs of the table ``structure`` in ``mining.toml`` that a span contains."""
    names = mining_rules().constructs.structure
    held = {block.kind for block in analysis.blocks_in(span)}
    return [name for name in names if name in held]


def reference_distances(references: tuple[Reference, ...]) -> dict[str, int]:
    """Return the maximum distances of references in lines, by label."""
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
    """Return the number of characters before the caret on its line."""
    first = analysis.source.line_starts[analysis.source.line_at(position) - 1]
    return len(visible_text(analysis.source.data[first:position]))
