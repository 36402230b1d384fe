"""Steps of the policy ``block``: remove repeated surroundings, and cut a text at the end of the caret's block.

For blocks of several lines inside real programs. Only the shown text is used: if the suffix is hidden, the block ends
with its indentation in Python, and with the closing bracket in other languages. Correct texts are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import tree_sitter

from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.extraction.cuts import (
    dedent_position,
    longest_parsing_cut,
    max_cuts,
    tokens_between,
    with_final_newline,
)
from caretbench.syntax.parser import CharacterOffsets, encode, parse

_CLOSERS = {"(": ")", "[": "]", "{": "}", "${": "}"}
_CONTINUES = frozenset({"else", "catch", "finally", "while", "elif", "except", "case"})
_MIN_REPEATED_CHARACTERS = 20
"""Minimum number of letters and digits in repeated lines; shorter ones may repeat by chance."""


def _has_word(line: str) -> bool:
    return any(character.isalnum() for character in line)


def _is_distinctive(lines: list[str]) -> bool:
    letters = sum(character.isalnum() for line in lines for character in line)
    return sum(map(_has_word, lines)) >= 2 and letters >= _MIN_REPEATED_CHARACTERS


def without_prefix_repetition(text: str, surroundings: Surroundings) -> str:
    """Return the text without lines at its beginning that repeat the end of the prefix.

    Removed are two lines with words, one line that opens a block, or the beginning of the caret's line with at least
    two words.
    """
    *whole, caret_line = surroundings.before.split("\n")
    begun = caret_line.strip()
    before = [line.strip() for line in whole if line.strip()]
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    # The longest repetition first: of a shorter one, a part would stay in the answer.
    for count in range(min(len(filled), len(before) + bool(begun)), 0, -1):
        head = [lines[number].strip() for number in filled[:count]]
        shown = before[len(before) - count + bool(begun) :] if count > bool(begun) else []
        rest = lines[filled[count - 1] + 1 :]
        if begun:
            if (first := _after_begun(head, shown, caret_line)) is not None:
                return "\n".join([first, *rest])
            continue
        opens = shown[-1].endswith((":", "{")) and _has_word(shown[-1])
        if head == shown and (_is_distinctive(shown) or opens) and len(filled) > count:
            # The caret's line has its indentation already: with that of the answer it would have it twice.
            if caret_line:
                rest[0] = rest[0].removeprefix(caret_line)
            return "\n".join(rest)
    return text


def _after_begun(head: list[str], shown: list[str], caret_line: str) -> str | None:
    """Return the last line of ``head`` without the text before the caret, if ``head`` repeats it and ``shown``."""
    *above, last = head
    begun = caret_line.strip()
    if above != shown or not last.startswith(begun) or (not shown and len(begun.split()) < 2):
        return None
    rest = last[len(begun) :]
    return rest.lstrip() if caret_line.endswith((" ", "\t")) else rest


def without_suffix_repetition(text: str, surroundings: Surroundings) -> str:
    """Return the text up to the first line from which it repeats the shown suffix.

    Two lines must repeat; a single line at the end is removed if the program is well formed only without it.
    """
    following = [line.strip() for line in surroundings.after.split("\n") if line.strip()]
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    stripped = [lines[number].strip() for number in filled]
    tries = max_cuts(len(surroundings.program(text)))
    for start in range(1, len(filled)):
        length = _equal_lines(stripped, start, following)
        distinctive = length and _is_distinctive(following[:length])
        ends_so = length == len(filled) - start and any(map(_has_word, stripped[start:]))
        if not distinctive and not ends_so:
            continue
        if not tries:
            return text
        # Each candidate costs two parses of the whole program, so their number is bounded as that of cuts.
        tries -= 1
        cut = with_final_newline("\n".join(lines[: filled[start - 1] + 1]), surroundings)
        if surroundings.parses_with(cut):
            return cut if distinctive or not surroundings.parses_with(text) else text
    return text


def _equal_lines(lines: list[str], start: int, following: list[str]) -> int:
    """Return the number of lines from ``start`` that are equal to the first of ``following``."""
    most = min(len(lines) - start, len(following))
    return next((count for count in range(most) if lines[start + count] != following[count]), most)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _columns(surroundings: Surroundings) -> list[int]:
    """Return the possible columns of the first statement, the most likely first."""
    *whole, caret_line = surroundings.before.split("\n")
    last = next((line for line in reversed(whole) if line.strip()), "")
    following = next((line for line in surroundings.after.split("\n")[1:] if line.strip()), "")
    # Four blanks, as PEP 8 has it. A wrong guess is only one candidate more, since the program must parse with it.
    unit = 4
    opens = last.rstrip().endswith(":")
    columns = [len(caret_line)] if caret_line else []
    columns += [_margin(last) + unit] if opens else [_margin(last)]
    # A block may also go on at the column of the next line, or end one level further out.
    columns += [_margin(following), _margin(last) + unit, max(0, _margin(last) - unit)]
    return list(dict.fromkeys(columns))


def _shifted(line: str, by: int) -> str:
    if not line.strip():
        return line
    return " " * max(0, _margin(line) + by) + line.lstrip(" \t")


def reindent(text: str, surroundings: Surroundings) -> str:
    """Return Python text shifted to the right column, if the program is well formed only then; else the text."""
    caret_line = surroundings.before.rpartition("\n")[2]
    if surroundings.language != "python" or caret_line.strip() or surroundings.parses_with(text):
        return text
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return text
    own = _margin(lines[first])
    for column in _columns(surroundings):
        for by in dict.fromkeys((column - own, column - own - len(caret_line), 0)):
            moved = [_shifted(line, by) for line in lines[first + 1 :]]
            head = " " * max(0, column - len(caret_line)) + lines[first].lstrip()
            candidate = "\n".join([head, *moved])
            if surroundings.parses_with(candidate):
                return candidate
    return text


def _open_brackets(tree: tree_sitter.Tree, end: int) -> list[str]:
    """Return the brackets that are open at byte ``end``."""
    stack: list[str] = []
    for token in tokens_between(tree, 0, end):
        if token.end_byte <= end:
            _follow(stack, token)
    return stack


def _follow(stack: list[str], token: tree_sitter.Node) -> None:
    if token.start_byte == token.end_byte:
        # A missing token that the parser inserted: the text has no such bracket.
        return
    if token.type in _CLOSERS:
        stack.append(token.type)
    elif stack and token.type == _CLOSERS[stack[-1]]:
        stack.pop()


def _closing_end(text: str, surroundings: Surroundings) -> int | None:
    """Return the index after the bracket that closes the innermost construct that is open at the caret."""
    before = encode(surroundings.before)
    tree = parse(before + encode(text), surroundings.language)
    tokens = list(tokens_between(tree, len(before), len(before) + len(encode(text))))
    stack = _open_brackets(parse(before, surroundings.language), len(before))
    depth = len(stack)
    if not depth:
        return None
    # In the header of an `if` or `for` the construct ends behind its body, not at the bracket that closes the header.
    in_header = stack[-1] == "("
    offsets = CharacterOffsets(text)
    for token, following in zip(tokens, _following_types(tokens), strict=True):
        _follow(stack, token)
        if token.type not in ("}", ";"):
            continue
        ends_header = in_header and len(stack) == depth - 1 and following not in _CONTINUES
        if ends_header or (token.type == "}" and len(stack) < depth - in_header):
            return offsets.characters(token.end_byte - len(before))
    return None


def _following_types(tokens: list[tree_sitter.Node]) -> list[str]:
    """Return, for each token, the type of the next one that is no comment; empty if there is none."""
    following = [""] * len(tokens)
    for place in range(len(tokens) - 1, 0, -1):
        kind = tokens[place].type
        following[place - 1] = following[place] if kind.endswith("comment") else kind
    return following


def _continued_lines(text: str, surroundings: Surroundings) -> set[int]:
    """Return the numbers of the text's lines that begin in a string, or in a bracket open since the caret's line."""
    header = len(encode(surroundings.before.rpartition("\n")[2]))
    start = len(encode(surroundings.before)) - header
    caret_row = surroundings.before.count("\n")
    tree = parse(surroundings.program(text), surroundings.language)
    continued: set[int] = set()
    depth, row = 0, caret_row
    for token in tokens_between(tree, start, start + header + len(encode(text))):
        first, last = token.start_point.row, token.end_point.row
        if depth > 0:
            continued.update(range(row + 1, first + 1))
        if token.type == "string":
            continued.update(range(first + 1, last + 1))
        depth += (token.type in {"(", "[", "{"}) - (token.type in {")", "]", "}"})
        row = last
    return {line - caret_row for line in continued}


def _clause_end(text: str, surroundings: Surroundings) -> int | None:
    """Return the index at which Python text leaves the compound statement whose header contains the caret, or None."""
    column = _margin(surroundings.before.rpartition("\n")[2])
    continued = _continued_lines(text, surroundings)
    position = 0
    for number, line in enumerate(text.split("\n")):
        word = line.strip().partition(" ")[0].rstrip(":")
        leaves = bool(line.strip()) and _margin(line) <= column and word not in _CONTINUES
        # A line at the margin within brackets or a string is no end: the header of an `elif` over several lines lost
        # its last line once.
        if number and leaves and number not in continued:
            return position - 1
        position += len(line) + 1
    return None


_HEADERS = (
    "if ", "elif ", "for ", "while ", "with ", "def ", "class ", "async ", "try", "except", "else", "match ",
)  # fmt: skip


def cut_at_block_end(text: str, surroundings: Surroundings) -> str:
    """Return the text up to the end of the block or construct that is open at the caret.

    Outside Python, this applies only if the suffix is hidden; else see :func:`balance_brackets`.
    """
    if surroundings.language == "python":
        caret_line = surroundings.before.rpartition("\n")[2]
        in_header = caret_line.lstrip().startswith(_HEADERS) and not caret_line.rstrip().endswith(":")
        if in_header:
            end = _clause_end(text, surroundings)
        else:
            offset = len(encode(surroundings.before))
            tree = parse(surroundings.program(text), surroundings.language)
            end = dedent_position(
                text, surroundings, list(tokens_between(tree, offset, offset + len(encode(text)))), offset
            )
    elif surroundings.after.strip():
        return text
    else:
        end = _closing_end(text, surroundings)
    return text if end is None or not text[end:].strip() else with_final_newline(text[:end], surroundings)


def _cuts_at_brackets(text: str, surroundings: Surroundings) -> Iterator[str]:
    """Yield the text before each closing bracket that it did not open, the last first."""
    offset = len(encode(surroundings.before))
    tree = parse(surroundings.program(text), surroundings.language)
    offsets = CharacterOffsets(text)
    stack: list[str] = []
    ends = []
    for token in tokens_between(tree, offset, offset + len(encode(text))):
        if token.type in _CLOSERS.values() and not stack:
            ends.append(offsets.characters(token.start_byte - offset))
        _follow(stack, token)
    for end in reversed(ends):
        yield with_final_newline(text[:end].rstrip(), surroundings)


def balance_brackets(text: str, surroundings: Surroundings) -> str:
    """Return the text with balanced brackets: cut at surplus closing brackets, with missing ones added.

    The text is returned unchanged if the program is well formed, if the suffix is hidden, or if nothing helps.
    """
    # With a hidden suffix nothing can be counted: brackets that are open at the caret are closed by a text that is not
    # shown.
    if surroundings.language == "python" or not surroundings.after.strip() or surroundings.parses_with(text):
        return text
    cuts = _cuts_at_brackets(text, surroundings)
    # The last bracket first: it keeps most of the answer.
    for candidate in islice(cuts, max_cuts(len(surroundings.program(text)))):
        if candidate.strip() and surroundings.parses_with(candidate):
            return candidate
    missing: list[str] = []
    for token in tokens_between(parse(text, surroundings.language), 0, len(encode(text))):
        _follow(missing, token)
    closers = "".join("\n}" if opener in ("{", "${") else _CLOSERS[opener] for opener in reversed(missing))
    added = with_final_newline(text.rstrip("\n") + closers, surroundings) if closers else text
    return added if surroundings.parses_with(added) else text


def longest_parsing_cut_with_suffix(text: str, surroundings: Surroundings) -> str:
    """Return :func:`~caretbench.extraction.cuts.longest_parsing_cut` if a suffix is shown, else the text."""
    return longest_parsing_cut(text, surroundings) if surroundings.after.strip() else text
