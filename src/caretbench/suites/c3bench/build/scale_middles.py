"""Middles of source files for SCC: their specifications, the six wrong answers to reject, and which of them are used.

Middles are spans, runs of lines, and statement blocks. Without the six wrong answers a verdict means nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeVar

import tree_sitter

from caretbench.files import sha256_text
from caretbench.grouping import grouped
from caretbench.languages import language_of_grammar
from caretbench.languages.node_kinds import node_kinds
from caretbench.suites.c3bench.build.build_folder import Reject
from caretbench.suites.c3bench.build.checked_functions import SourceText
from caretbench.suites.c3bench.build.hidden_facts import hidden_fact
from caretbench.suites.c3bench.build.implementation_contexts import LINE_SHARE
from caretbench.suites.c3bench.scale.answer_checks import is_at
from caretbench.suites.c3bench.scale.scale_types import NODE_CLASSES, Level, LineUnit, ScaleSpecification
from caretbench.suites.c3bench.scale.statements import (
    CodeStatement,
    ParsedFile,
    StatementView,
    code_line_count,
    column_at,
    tree_statements,
)
from caretbench.suites.c3bench.scale.verifier import verify
from caretbench.syntax.parser import CharacterOffsets, encode

ItemT = TypeVar("ItemT")


def balanced_choice(
    items: Iterable[ItemT],
    limit: int | None,
    key: Callable[[ItemT], str],
    levels: Sequence[Callable[[ItemT], Hashable]],
    seed: int,
) -> list[ItemT]:
    """Return at most ``limit`` items, as evenly spread as the supply allows.

    Each level divides the items of the level before; the parts of a level take turns. Within the last level the order
    follows from the seed and the items' keys, whatever the order of ``items``.
    Keys are distinct. Without a limit all items are returned, in this order.
    """
    # A hash of each key instead of a shuffle: one item more leaves the order of the others as it is.
    ordered = sorted(items, key=lambda item: sha256_text(str(seed), key(item)))
    chosen = _in_turns(ordered, list(levels), seed)
    return chosen if limit is None else chosen[:limit]


def _in_turns(items: Sequence[ItemT], levels: Sequence[Callable[[ItemT], Hashable]], seed: int) -> list[ItemT]:
    if not levels:
        return list(items)
    parts = grouped((levels[0](item), item) for item in items)
    queues = [_in_turns(parts[name], levels[1:], seed) for name in sorted(parts, key=str)]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


_PROSE = "This completes the code as requested."
_OTHER_BLOCKS = {"python": "while False:\n{margin}    pass", "": "while (false) {{\n{margin}  break;\n{margin}}}"}
_OTHER_IF = {"python": "if False:\n{margin}    pass", "": "if (false) {{\n{margin}}}"}
_EMPTY_STATEMENT = {"python": "pass", "": "{ }"}


def wrong_answers(prefix: str, reference: str, suffix: str, specification: ScaleSpecification) -> Mapping[str, str]:
    """Return six answers by name that write too little, too much, or something else; four for a body of any length.

    They are ``empty``, ``next_sibling`` (the reference and what follows it), ``without_last_line``, ``twice``,
    ``other_kind`` and ``prose`` (the reference and a sentence).
    """
    caret = column_at(prefix, len(prefix))
    at_line_start = not prefix[len(prefix) - caret :].strip()
    own = re.match(r"[ \t]*", reference.lstrip("\n"))
    margin = prefix[len(prefix) - caret :] if caret and at_line_start else own[0] if own and at_line_start else ""
    header = prefix.rstrip().rpartition("\n")[2]
    outer = header[: len(header) - len(header.lstrip())] if specification.header_in_prefix else margin
    lead = "" if caret else outer
    ended = reference if reference.endswith("\n") else reference + "\n"
    answers = {
        "empty": "",
        "next_sibling": f"{ended}{outer}{_next_line(suffix, specification.language)}\n",
        "without_last_line": "".join(f"{line}\n" for line in reference.rstrip().split("\n")[:-1]),
        "twice": f"{ended}{margin if caret else ''}{reference}" if at_line_start else reference * 2,
        "other_kind": lead + _other_kind(specification, outer) + ("\n" if reference.endswith("\n") else ""),
        "prose": f"{ended}{margin}{_PROSE}\n",
    }
    if specification.header_in_prefix and specification.n is None:
        # Repeated, a body is a body, and between braces it is one with what follows.
        del answers["twice"], answers["next_sibling"]
    return answers


def accepted_wrong_answers(
    prefix: str, reference: str, suffix: str, specification: ScaleSpecification, level: Level
) -> dict[str, str]:
    """Return the wrong answers by name that satisfy a specification; tests must refuse them, or there is no problem."""
    wanted = specification.model_copy(update={"level": level})
    wrong = wrong_answers(prefix, reference, suffix, specification)
    return {name: text for name, text in wrong.items() if verify(prefix, text, suffix, wanted).ok}


def _next_line(suffix: str, language: str) -> str:
    """Return the first line of the suffix that is one simple statement; an empty statement if none is."""
    filled = (line.strip() for line in suffix.split("\n") if line.strip())
    text = next(filled, "")
    # The next line must be a statement of its own, or the wrong answer would be a syntax error, which any check
    # refuses.
    simple = bool(re.match(r"[\w.]+ = |return\b|[\w.]+\(.*\)", text)) and text[-1] not in "([{,\\:"
    return text if simple else _of(_EMPTY_STATEMENT, language)


def _other_kind(specification: ScaleSpecification, margin: str) -> str:
    # The other kind must differ from the requested one.
    templates = _OTHER_IF if specification.node == "while" else _OTHER_BLOCKS
    text = _of(templates, specification.language).format(margin=margin)
    # A body may have any kind of statement, also where it is indented as its header: only its number of lines is wrong.
    if specification.n == text.count("\n") + 1:
        empty = _of(_EMPTY_STATEMENT, specification.language)
        text += f"\n{margin}{empty}"
    return text


def _of(texts: Mapping[str, str], language: str) -> str:
    return texts.get(language_of_grammar(language).name, texts[""])


# As in the paper: runs of three to five lines.
_LINE_RUNS = (3, 4, 5)
_BLOCKS = frozenset({"for", "while", "if", "try", "with", "function"})


class ScaleMiddle(NamedTuple):
    """Span of a file that is a reference of its specification; ``type`` is the paper's type of problem."""

    start: int
    end: int
    type: str
    specification: ScaleSpecification


def proposed_middles(text: str, language: str, *, tested: bool = False) -> list[ScaleMiddle]:
    """Return all middles of a file with their specifications, before any is tried; empty if it does not parse.

    Bodies of ``tested`` code have no number of lines, as the paper words them.
    """
    parsed = ParsedFile.of("", text, "", language)
    view = tree_statements(parsed)
    if not view.parse_ok:
        return []
    return [*_blocks(view, language, tested=tested), *_line_runs(view, parsed), *_spans(view, parsed)]


def rejects_wrong_answers(text: str, middle: ScaleMiddle, *, tested: bool = False) -> bool:
    """Return whether a specification holds for the reference and rejects the wrong answers, even if lenient.

    In ``tested`` code the gate decides about wrong answers.
    """
    prefix, reference, suffix = text[: middle.start], text[middle.start : middle.end], text[middle.end :]
    # The reference first: a specification that it fails is wrong, whatever the wrong answers do.
    if not verify(prefix, reference, suffix, middle.specification).ok:
        return False
    # Where there are tests, they decide about what has the extent, `totaltotal` for example: the gate runs it.
    return tested or not accepted_wrong_answers(prefix, reference, suffix, middle.specification, "lenient")


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the lines that contain a span; None if they contain something else."""
    first = start - column_at(text, start)
    last = text.find("\n", end)
    last = len(text) if last < 0 else last + 1
    if text[first:start].strip() or text[end:last].strip().strip(";"):
        return None
    return first, last


def _blocks(view: StatementView, language: str, *, tested: bool) -> Iterator[ScaleMiddle]:
    """Yield statements and bodies; without tests a body has its number of lines, since repeated it is a body, too."""
    for statement in view.statements:
        if statement.kind not in _BLOCKS:
            continue
        block = ScaleSpecification.of({"language": language, "kind": "block", "node": statement.kind})
        span = _whole_lines(view.text, statement.start, statement.end)
        if span is not None:
            column = column_at(view.text, statement.keyword)
            yield ScaleMiddle(*span, "block", block.model_copy(update={"column": column}))
        inner = _body_lines(view, statement)
        if inner is not None and tested:
            yield ScaleMiddle(*inner, "block", block.model_copy(update={"header_in_prefix": True}))
        elif inner is not None:
            body = block.model_copy(update={"header_in_prefix": True, "n": 1})
            count = _count(view.text, inner, body)
            # Nobody counts twenty lines.
            if count is not None and count <= max(_LINE_RUNS):
                yield ScaleMiddle(*inner, "block", body.model_copy(update={"n": count}))


def _count(text: str, span: tuple[int, int], specification: ScaleSpecification) -> int | None:
    """Return the number of lines of a span in the unit of a specification."""
    return verify(text[: span[0]], text[span[0] : span[1]], text[span[1] :], specification).count


def _body_lines(view: StatementView, statement: CodeStatement) -> tuple[int, int] | None:
    if statement.body is None:
        return None
    start, end = statement.body
    text = view.text
    if text[start] == "{":
        start, end = start + 1, end - 1
        start, end = start + len(text[start:end]) - len(text[start:end].lstrip()), len(text[:end].rstrip())
    return _whole_lines(text, start, end) if start < end else None


def _line_runs(view: StatementView, parsed: ParsedFile) -> Iterator[ScaleMiddle]:
    """Yield runs of whole statements of one list that have three to five lines of code."""
    by_list = grouped(((statement.parent, statement.branch), statement) for statement in view.statements)
    for statements in by_list.values():
        for index, first in enumerate(statements):
            for last in statements[index:]:
                span = _whole_lines(view.text, first.start, last.end)
                # A run only grows from here on, so that no later statement can end a shorter one.
                if span is None or view.text.count("\n", *span) > 2 * max(_LINE_RUNS):
                    break
                yield from _run(view, span, statements[index : statements.index(last) + 1], parsed)


def _run(
    view: StatementView, span: tuple[int, int], statements: list[CodeStatement], parsed: ParsedFile
) -> Iterator[ScaleMiddle]:
    first, last = (len(encode(view.text[:position])) for position in span)
    counts: dict[LineUnit, int] = {"code_line": code_line_count(parsed._replace(start=first, end=last))}
    # Nobody counts blank lines, and a method is no statement to a reader.
    if all(statement.kind not in ("function", "class") for statement in statements):
        counts["statement"] = len(statements)
    for unit, count in counts.items():
        if count in _LINE_RUNS:
            lines = ScaleSpecification(language=parsed.language, kind="lines", n=count, unit=unit)
            yield ScaleMiddle(*span, LINES_TYPE, lines)
            return


def _spans(view: StatementView, parsed: ParsedFile) -> Iterator[ScaleMiddle]:
    text = view.text
    for node in sorted(NODE_CLASSES):
        for start, end in node_spans(parsed, node):
            # A span at the start of a line is a statement, which is asked for as a block.
            if "\n" in text[start:end] or not text[start - column_at(text, start) : start].strip():
                continue
            rest = text[end : text.find("\n", end)]
            if rest.strip(" ;,"):
                specification = ScaleSpecification.of({"language": parsed.language, "kind": "span_node", "node": node})
                yield ScaleMiddle(start, end, "span", specification)
            else:
                specification = ScaleSpecification(language=parsed.language, kind="span_rest_of_line")
                yield ScaleMiddle(start, end + len(rest.rstrip()), "span", specification)


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
    candidates, rejects = [], []
    for file in files:
        counts: Counter[tuple[str, str]] = Counter()
        proposed = _proposed(file, max_share, counts)
        queue = balanced_choice(
            proposed, None, attrgetter("key"), (attrgetter("middle.type"), attrgetter("form")), seed
        )
        kept: list[ScaleCandidate] = []
        for position, candidate in enumerate(queue):
            if len(kept) == per_file:
                # A Java file of 170 lines has hundreds of middles, each tried against seven answers.
                counts["not_tried", f"the file has {per_file} already"] = len(queue) - position
                break
            start, end = candidate.middle.start, candidate.middle.end
            if hidden := hidden_fact(file.text[:start], file.text[start:end], file.text[end:], file.language):
                counts["hidden", f"not shown: {hidden}"] += 1
            elif rejects_wrong_answers(file.text, candidate.middle, tested=bool(file.checks)):
                kept.append(candidate)
            else:
                counts["accepts_wrong", "the specification fails the reference, or accepts a wrong answer"] += 1
        if not queue:
            counts["no_middle", "no middle with a specification"] += 1
        candidates += kept
        rejects += [
            Reject(stage="middle", place=file.id, reason=reason, detail=detail, count=count)
            for (reason, detail), count in counts.items()
        ]
        progress(1)
    return candidates, rejects


def _proposed(file: SourceText, max_share: float, counts: Counter[tuple[str, str]]) -> list[ScaleCandidate]:
    """Return the middles of a file that are short enough, one for each span; count the others."""
    spans: dict[tuple[int, int], ScaleCandidate] = {}
    for middle in proposed_middles(file.text, file.language, tested=bool(file.checks)):
        length = middle.end - middle.start
        # A middle that is most of its file leaves nothing to complete from.
        if length > max_share * (len(file.text) - length):
            counts["long", f"longer than {max_share:.0%} of the text around it"] += 1
        # Two instructions with the same right answer would count it twice.
        elif (middle.start, middle.end) in spans:
            counts["same_span", "another specification has the same answer"] += 1
        else:
            spans[middle.start, middle.end] = ScaleCandidate(file, middle)
    return list(spans.values())


def chosen_middles(candidates: Sequence[ScaleCandidate], limit: int | None, seed: int) -> list[ScaleCandidate]:
    """Return a balanced choice: three of ten are runs of lines, the others parts of lines and blocks in equal numbers.

    Within a type, middles of files with tests come first; languages take turns, then forms of the specification, then
    files.
    """
    levels = (attrgetter("file.language"), attrgetter("form"), attrgetter("file.id"))
    queues = {}
    for name, of_type in sorted(grouped((candidate.middle.type, candidate) for candidate in candidates).items()):
        balanced = balanced_choice(of_type, None, attrgetter("key"), levels, seed)
        queues[name] = sorted(balanced, key=lambda candidate: not candidate.file.checks)
    wanted = _quotas({name: len(queue) for name, queue in queues.items()}, limit)
    return [candidate for name, queue in queues.items() for candidate in queue[: wanted[name]]]


def _quotas(supply: dict[str, int], limit: int | None) -> dict[str, int]:
    """Return how many middles of each type are used: shares that the scarcest type allows, or ``limit`` in total."""
    nodes = [name for name in supply if name != LINES_TYPE]
    share = {name: LINE_SHARE if name == LINES_TYPE else (1 - LINE_SHARE) / max(len(nodes), 1) for name in supply}
    if len(share) == 1:
        share = dict.fromkeys(share, 1.0)
    # The scarcest type decides: with more of the others, the mean over problems would be a mean over spans.
    total = min((count / share[name] for name, count in supply.items()), default=0)
    if limit is not None:
        total = min(total, limit)
    # Products of shares end in …0001 or …9999, which whole numbers would turn into one problem more or less.
    exact = {name: round(total * share[name], 6) for name in supply}
    wanted = {name: int(count) for name, count in exact.items()}
    rest = int(total + 1e-6) - sum(wanted.values())
    for name in sorted(exact, key=lambda kind: wanted[kind] - exact[kind])[:rest]:
        wanted[name] += 1
    return {name: min(supply[name], count) for name, count in wanted.items()}


def node_spans(parsed: ParsedFile, node_class: str) -> list[tuple[int, int]]:
    """Return the spans of all nodes of a class, in characters and in text order."""
    offsets = CharacterOffsets(parsed.text)
    places = parsed.table.nodes.get(node_class, ())
    comments, parentheses = parsed.table.comments, node_kinds().parentheses
    spans = set()
    waiting: list[tuple[tree_sitter.Node, ...]] = [(parsed.tree.root_node,)]
    while waiting:
        path = waiting.pop()
        node = path[-1]
        if node.type not in comments and node.type not in parentheses and is_at(path, places):
            spans.add((offsets.characters(node.start_byte), offsets.characters(node.end_byte)))
        kept = path if node.type in parentheses else (node,)
        waiting.extend((*kept, child) for child in node.children)
    return sorted(spans)
