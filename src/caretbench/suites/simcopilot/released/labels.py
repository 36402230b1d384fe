"""From the released labels of lines to the labels of a task, by the rules with which the paper's tables come out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.problem import Label
from caretbench.suites.simcopilot.released.paper import paper
from caretbench.suites.simcopilot.released.spans import ReleasedProgram, ReleasedReference, ReleasedSpan
from caretbench.syntax.docs.places import comments

_ALL = "*"


def labels_of(program: ReleasedProgram, span: ReleasedSpan) -> dict[str, Label]:
    """The labels of a released task.

    ``language`` and ``mode``; ``constructs``, the constructs of Table 1 that the span holds (several at once);
    ``reference_distance``, lines to the furthest reference that the paper counts, where there is one;
    ``comment_distance``, lines to the nearest comment before the span, where the program's text is there and has one.
    """
    references = list(references_in(program, span))
    reasons = {reason.category for reason in program.reasons if span.covers(reason.line)}
    scopes = {reference.scope for reference in references}
    held = [
        name
        for name, construct in paper().constructs.items()
        if scopes & set(construct.scopes) or reasons & set(construct.reasons)
    ]
    labels: dict[str, Label] = {"language": span.language, "mode": span.mode, "constructs": held}
    distance = furthest(references, paper().languages[program.language].ranged)
    if distance is not None:
        labels["reference_distance"] = float(distance)
    to_comment = comment_distance(program.source, span) if program.source is not None else None
    if to_comment is not None:
        labels["comment_distance"] = float(to_comment)
    return labels


def references_in(program: ReleasedProgram, span: ReleasedSpan) -> Iterator[ReleasedReference]:
    """The references of a span that the paper counts: those on the line of their definition only where it says so."""
    same_line = paper().languages[program.language].same_line
    for reference in program.references:
        counted = reference.distance or _ALL in same_line or reference.scope in same_line
        if counted and span.covers(reference.line):
            yield reference


def furthest(references: Sequence[ReleasedReference], scopes: Sequence[str]) -> int | None:
    """Lines to the furthest definition among references of the given scopes; None without any."""
    distances = [entry.distance for entry in references if _ALL in scopes or entry.scope in scopes]
    return max(distances, default=None)


def comment_distance(source: str, span: ReleasedSpan) -> int | None:
    """Lines from the end of the nearest comment or docstring before the span to its start; None without one."""
    text = source.replace("\r\n", "\n")
    data = text.encode("utf-8", "surrogatepass")
    ends = [data.count(b"\n", 0, comment.end) + 1 for comment in comments(text, span.language)]
    return min((span.start - end for end in ends if end < span.start), default=None)
