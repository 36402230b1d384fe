"""Truncation of texts that are too long: after a line, at the end of a block, or where the program parses."""

from __future__ import annotations

import tree_sitter

from caretbench.extraction.caret_surroundings import Surroundings, tokens_between
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import CharacterOffsets, encode, is_well_formed, parse

MAX_CUTS = 200
"""Maximum number of tried cuts of one text."""
MAX_PARSED_BYTES = 3_000_000
"""Maximum number of bytes that are parsed for one text; a few cuts are tried for every length of the program."""
_MIN_CUTS = 8
_MAX_PIECES = 2_000
"""Maximum number of pieces of an error before a tried cut: 4,000 unclosed headers in Java took 4 s of CPU."""


def _ends(text: str) -> list[int]:
    """Return the ends of lines that are not blank, without newlines and without the end of the text."""
    ends = []
    position = 0
    last = len(text.rstrip())
    for line in text.split("\n")[:-1]:
        position += len(line)
        if line.strip() and position < last:
            ends.append(position)
        position += 1
    return ends


def with_final_newline(text: str, surroundings: Surroundings) -> str:
    """Return a cut text with a final newline, if the suffix needs one."""
    return text + "\n" if text and surroundings.needs_newline and not text.endswith("\n") else text


def first_line(text: str, surroundings: Surroundings) -> str:
    """Return the text up to the end of its first line that is not blank; a blank text is unchanged."""
    ends = _ends(text)
    return with_final_newline(text[: ends[0]], surroundings) if ends else text


def dedent_position(
    text: str,
    surroundings: Surroundings,
    tokens: list[tree_sitter.Node],
    offset: int,
    clauses: frozenset[str] = frozenset(),
) -> int | None:
    """Return the index at which a text leaves the indented block of its first statement, or None.

    Lines that begin with a word of ``clauses`` do not leave it.
    """
    caret_line = surroundings.caret_line
    comments = node_kinds(surroundings.language).comments
    head = text.split("\n", 1)[0]
    continues_line = bool(caret_line.strip() and head.strip())
    first = caret_line if continues_line else next((line for line in text.split("\n") if line.strip()), "")
    if not continues_line and head.strip():
        first = caret_line + first
    margin = len(first) - len(first.lstrip())
    offsets = CharacterOffsets(text)
    depth = 0
    row = -1
    for token in tokens:
        # Lines within brackets may be indented as they like.
        if token.start_point.row != row and depth == 0:
            row = token.start_point.row
            position = offsets.characters(token.start_byte - offset)
            line_start = text.rfind("\n", 0, position) + 1
            # Only a line's first token tells its indentation; a comment or a continued line may begin in any column.
            leads = line_start and not text[line_start:position].strip() and token.type not in comments
            continued = text[: max(0, line_start - 1)].endswith("\\")
            if leads and not continued and position - line_start < margin and token.type not in clauses:
                return line_start - 1
        depth += (token.type in {"(", "[", "{"}) - (token.type in {")", "]", "}"})
        row = token.end_point.row if token.type == "string" else row
    return None


def _unopened(text: str, tokens: list[tree_sitter.Node], offset: int) -> int | None:
    """Return the index at which a text closes a bracket that it did not open, or the end of the line before."""
    depth = 0
    for token in tokens:
        depth += (token.type in {"(", "[", "{", "${"}) - (token.type in {")", "]", "}"})
        if depth < 0:
            position = CharacterOffsets(text).characters(token.start_byte - offset)
            line_start = text.rfind("\n", 0, position) + 1
            leads = line_start > 0 and not text[line_start:position].strip()
            return line_start - 1 if leads else position
    return None


def cut_to_same_block(text: str, surroundings: Surroundings) -> str:
    """Return the text up to the end of the caret's block: by indentation in Python, else by brackets."""
    offset = len(encode(surroundings.before))
    tree = parse(surroundings.program(text), surroundings.language)
    tokens = list(tokens_between(tree, offset, offset + len(encode(text))))
    is_python = surroundings.language == "python"
    position = dedent_position(text, surroundings, tokens, offset) if is_python else _unopened(text, tokens, offset)
    return text if position is None else with_final_newline(text[:position], surroundings)


def max_cuts(size: int) -> int:
    """Return the maximum number of tried cuts of a program of ``size`` bytes."""
    return max(_MIN_CUTS, min(MAX_CUTS, MAX_PARSED_BYTES // max(size, 1)))


def _candidate_ends(ends: list[int], size: int) -> list[int]:
    """Return the cuts to try, longest first; of too many, the later ones are thinned out.

    The right cut is usually near the start.
    """
    most = max_cuts(size)
    if len(ends) <= most:
        return ends[::-1]
    # Three quarters of the tries go to the first lines, where the right cut usually is; the rest is spread over what
    # follows.
    dense = most * 3 // 4
    later = ends[dense:]
    step = -(-len(later) // (most - dense))
    return (ends[:dense] + later[::step])[::-1]


def _edited(tree: tree_sitter.Tree, start: int, old_end: int, new_end: int, program: bytes) -> tree_sitter.Tree:
    """Return a copy of ``tree`` where bytes ``start`` to ``old_end`` of its ``program`` end at ``new_end``."""

    def point(position: int) -> tuple[int, int]:
        before = program[:position]
        return before.count(b"\n"), position - (before.rfind(b"\n") + 1)

    start_point = point(start)
    edited = tree.copy()
    edited.edit(start, old_end, new_end, start_point, point(old_end), start_point)
    return edited


def longest_parsing_cut(text: str, surroundings: Surroundings) -> str:
    """Return the longest beginning of the text (in whole lines) with which the program parses.

    If there is none, the whole text is returned: no cut could make the program run, and the number of errors depends on
    error recovery (an unfinished prefix, or syntax newer than the grammar, has errors with every text). A blank
    beginning is never taken.
    """
    before, after = encode(surroundings.before), encode(surroundings.after)
    program = before + encode(text) + after
    tree = parse(program, surroundings.language)
    # Where only the grammar objects, it may be the one that is wrong: of 31 right answers in C++ cuts spoiled 12.
    if is_well_formed(tree, surroundings.language) or surroundings.is_whole(text):
        return text
    root = tree.root_node
    is_heap = root.type == "ERROR" and root.child_count > _MAX_PIECES
    pieces = root.child(_MAX_PIECES) if is_heap else None
    limit = len(text) if pieces is None else CharacterOffsets(text).characters(max(0, pieces.start_byte - len(before)))
    for end in (end for end in _candidate_ends(_ends(text), len(program)) if end <= limit):
        cut = with_final_newline(text[:end], surroundings)
        shorter = before + encode(cut) + after
        start = len(before) + len(encode(text[:end]))
        edited = _edited(tree, start, len(program) - len(after), len(shorter) - len(after), program)
        tree = parse(shorter, surroundings.language, old=edited)
        program = shorter
        if is_well_formed(tree, surroundings.language):
            return cut
    return text


def without_suffix_overlap(text: str, surroundings: Surroundings) -> str:
    """Return the text without the longest run of whole lines at its end that repeats the beginning of the suffix.

    At least one line with a letter or digit must repeat; the text must not become blank.
    """
    following = [line.strip() for line in surroundings.after.split("\n") if line.strip()]
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    # One line at least stays, so that the answer does not become blank.
    for count in range(min(len(filled) - 1, len(following)), 0, -1):
        tail = [lines[number].strip() for number in filled[-count:]]
        # A line of brackets alone repeats by chance: `}` ends the answer and begins the suffix in many programs.
        if tail == following[:count] and any(character.isalnum() for line in tail for character in line):
            return with_final_newline("\n".join(lines[: filled[-count - 1] + 1]), surroundings)
    return text
