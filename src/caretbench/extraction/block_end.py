"""Steps of the policy ``block``: remove repeated surroundings, and cut a text at the end of the caret's block.

For blocks of several lines inside real programs. Only the shown text is used: if the suffix is hidden, the block ends
with its indentation in Python, and with the closing bracket in other languages. Correct texts are not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import tree_sitter

from caretbench.extraction.caret_surroundings import (
    CLOSERS,
    MAX_ENDS,
    Surroundings,
    follow,
    margin_of,
    open_brackets,
    reindent,
    tokens_between,
)
from caretbench.extraction.cuts import dedent_position, longest_parsing_cut, max_cuts, with_final_newline
from caretbench.languages import get_language
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import CharacterOffsets, encode, has_error, is_well_formed_text, parse, text_of, walk

_CONTINUES = frozenset({"else", "catch", "finally", "while", "elif", "except", "case"})
_CLAUSES = _CONTINUES - {"while"} | {"default", "when"}
_MIN_REPEATED_CHARACTERS = 20
"""Minimum number of letters and digits in repeated lines; shorter ones may repeat by chance."""


def _has_word(line: str) -> bool:
    return any(character.isalnum() for character in line)


def _is_distinctive(lines: list[str]) -> bool:
    letters = sum(character.isalnum() for line in lines for character in line)
    return sum(map(_has_word, lines)) >= 2 and letters >= _MIN_REPEATED_CHARACTERS


def _is_needless_again(line: str, language: str) -> bool:
    """Return whether a line that was just there does nothing, or is an error: a jump, a definition, an assignment.

    Calls may be repeated on purpose (``if (match('=')) {``), and what is assigned twice may come from one.
    """
    code = line.strip()
    # `} else if (ready) {` twice would leave the first clause empty, and a second `default:` is an error.
    word = re.match(r"\w*", code.lstrip("} "))
    if word is not None and word[0] in _CLAUSES:
        return True
    opens = code.endswith("{")
    # Go ends a statement with its line, and reads `if ready {}` on one line as a literal.
    tree, kinds = parse(code + "\n}" * opens + "\n", language), node_kinds(language)
    values = kinds.initialisers | kinds.assignments
    node: tree_sitter.Node | None = tree.root_node
    while node is not None and node.child_count:
        if node.type in kinds.jumps | kinds.imports:
            return True
        decided = None if has_error(tree) else _is_needless_node(node, line, language, opens=opens)
        if decided is not None:
            return decided
        node = (
            node.named_children[0]
            if len(node.named_children) == 1
            else next((child for child in node.named_children if child.type in values), None)
        )
    return False


def _is_needless_node(node: tree_sitter.Node, line: str, language: str, *, opens: bool) -> bool | None:
    """Return whether a node does nothing if it was just there; None where its child decides."""
    kinds = node_kinds(language)
    # A whole definition on one line, as Ruby has it, or a header.
    defines = (kinds.functions - kinds.anonymous_functions) | kinds.plain_declarations | kinds.initialisers
    if node.type in defines or _is_needless_branch(node, language, opens=opens):
        return True
    return _assigns_the_same(node, line, language) if node.type in kinds.assignments else None


def _is_needless_branch(node: tree_sitter.Node, language: str, *, opens: bool) -> bool:
    """Return whether a node is the header of a loop over its own variable, or a condition that calls nothing.

    A condition on one line must jump: what comes after ``if (closed) continue;`` knows that it is false.
    """
    kinds = node_kinds(language)
    if opens and node.type in kinds.iterations:
        return True
    if node.type not in kinds.branches | kinds.while_loops | kinds.switches:
        return False
    body = node.named_children[-1]
    while body.named_child_count == 1 and body.type not in kinds.jumps:
        body = body.named_children[0]
    runs = any(inner.type in kinds.calls | kinds.creations | kinds.macros for inner in walk(node))
    return not runs and (opens or body.type in kinds.jumps)


def _assigns_the_same(node: tree_sitter.Node, line: str, language: str) -> bool:
    kinds = node_kinds(language)
    calls = kinds.calls | kinds.creations | kinds.macros
    runs = any(inner.type in calls for inner in walk(node))
    parts = [side.strip() for side in text_of(node).split("=", 1)]
    plain = len(parts) == 2 and parts[0][-1:].isalnum() and parts[0] not in parts[1]
    return plain and (not runs or sum(map(str.isalnum, line)) > _MIN_REPEATED_CHARACTERS)


def _repeats_for_nothing(shown: list[str], surroundings: Surroundings) -> bool:
    again = len(shown) == 1 and _is_needless_again(shown[0], surroundings.language)
    return again or _is_distinctive(shown) or _is_empty_twin(shown) or _moves_block(shown, surroundings)


def _is_empty_twin(shown: list[str]) -> bool:
    """Return whether lines said twice end in an empty construct, or are a body in braces after its own header.

    With braces on lines of their own, three lines of a suffix may hold one with a word: `}`, `if (c < 0)`, `{`.
    """
    words = any(map(_has_word, shown))
    return words and (shown[0] == "{" or (shown[0].startswith("}") and shown[-1].endswith("{")))


def _is_better(text: str, shorter: str, surroundings: Surroundings, *, sure: bool, likely: bool) -> bool:
    """Return whether ``shorter`` replaces a text: if the program is well formed only with it.

    Where it is with both, a repetition must be ``sure``; where it is with neither, ``likely``.
    """
    with_text = surroundings.parses_with(text)
    if surroundings.parses_with(reindent(shorter, surroundings)):
        return sure or not with_text
    return likely and not with_text


def with_plain_line_ends(text: str, surroundings: Surroundings) -> str:
    """Return the text with the line ends of the shown code, and without blank lines that break the program."""
    shown = surroundings.before + surroundings.after
    if "\r" not in shown:
        text = text.replace("\r\n", "\n")
    caret_line = surroundings.caret_line
    head = text[: len(text) - len(text.lstrip())]
    if "\n" in head and caret_line and not caret_line.strip():
        # The first line is put where the caret is; its own indentation is looked at afterwards.
        text = text[head.rfind("\n") + 1 :]
    bare = text.strip("\n")
    if bare != text and caret_line.strip() and bare and not surroundings.parses_with(text):
        shorter = next((cut for cut in (text.rstrip("\n"), bare) if surroundings.parses_with(cut)), None)
        return text if shorter is None else shorter
    return text


def without_prefix_repetition(text: str, surroundings: Surroundings) -> str:
    """Return the text without lines at its beginning that repeat the end of the prefix.

    Removed are two lines with words, one line without which the program parses or that does nothing twice, and the
    beginning of the caret's line.
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
        if begun and (first := _after_begun(head, shown, caret_line)) is not None:
            # `not ` and `fact(` may begin what comes next, too; two words and a line above are no accident.
            sure = bool(shown) or len(begun.split()) > 1
            likely = sure or begun[-1] not in "(["
        elif not begun and head == shown and len(filled) > count:
            # The caret's line has its indentation already: with that of the answer it would have it twice.
            first = rest.pop(0).removeprefix(caret_line)
            sure = _repeats_for_nothing(shown, surroundings)
            likely = sure or (_has_word(shown[-1]) and shown[-1].endswith((":", "{")))
        else:
            continue
        shorter = "\n".join([first, *rest])
        if _is_better(text, shorter, surroundings, sure=sure, likely=likely):
            return shorter
    return text


def _after_begun(head: list[str], shown: list[str], caret_line: str) -> str | None:
    """Return the last line of ``head`` without the text before the caret, if ``head`` repeats it and ``shown``."""
    *above, last = head
    begun = caret_line.strip()
    rest = last[len(begun) :]
    if above != shown or not last.startswith(begun) or (begun[-1].isalnum() and rest[:1].isalnum()):
        return None
    return rest.lstrip() if caret_line.endswith((" ", "\t")) else rest


def without_suffix_repetition(text: str, surroundings: Surroundings) -> str:
    """Return the text up to the first line from which it repeats the shown suffix.

    Two lines must repeat; a single line at the end is removed if the program is well formed only without it, or if it
    does nothing twice.
    """
    shorter = _without_line_end(text, surroundings)
    if shorter != text:
        return shorter
    following = [line.strip() for line in surroundings.after.split("\n") if line.strip()]
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    stripped = [lines[number].strip() for number in filled]
    tries = max_cuts(len(surroundings.program(text)))
    for start in range(1, len(filled)):
        length = _equal_lines(stripped, start, following)
        distinctive = _is_distinctive(following[:length])
        ends_so = length == len(filled) - start and any(map(_has_word, stripped[start:]))
        if not distinctive and not ends_so:
            continue
        if not tries:
            return text
        # Each candidate costs two parses of the whole program, so their number is bounded as that of cuts.
        tries -= 1
        cut = with_final_newline("\n".join(lines[: filled[start - 1] + 1]), surroundings)
        if _is_better(
            text, cut, surroundings, sure=_repeats_for_nothing(following[:length], surroundings), likely=False
        ):
            return cut
    return text


def _without_line_end(text: str, surroundings: Surroundings) -> str:
    """Return the text without the rest of the caret's line and what follows it, if the program parses only so.

    If a line of words follows in both, the rest of the line is removed in any case.
    """
    rest, *following = [line.strip() for line in surroundings.after.split("\n")]
    lines = text.rstrip().split("\n")
    ends = [number for number, line in enumerate(lines) if rest and line.rstrip().endswith(rest)]
    ends = ends[: max_cuts(len(surroundings.program(text)))]
    if not ends:
        return text
    shown = [line for line in following if line]
    parses = surroundings.parses_with(text)

    def repeats(number: int) -> bool:
        behind = [line.strip() for line in lines[number + 1 : number + 1 + 2 * len(shown)] if line.strip()]
        most = min(len(behind), len(shown))
        return behind[:most] == shown[:most] and (not parses or any(map(_has_word, behind[:most])))

    # Where the text repeats the suffix first; an answer with a body of its own is cut before it, as a last resort.
    for number in sorted(ends, key=lambda number: not repeats(number)):
        cut = "\n".join([*lines[:number], lines[number].rstrip().removesuffix(rest)])
        if cut.strip() and (not parses or repeats(number)) and surroundings.parses_with(cut):
            return cut
    return text


def _equal_lines(lines: list[str], start: int, following: list[str]) -> int:
    """Return the number of lines from ``start`` that are equal to the first of ``following``."""
    most = min(len(lines) - start, len(following))
    return next((count for count in range(most) if lines[start + count] != following[count]), most)


_HEADER = re.compile(r"[\s}]*(?:else\s+)?(?:if|for|foreach|while|switch|match|loop|using|lock|synchronized|try)\b")


def _closing_end(text: str, surroundings: Surroundings) -> int | None:
    """Return the index after the bracket that closes the innermost construct that is open at the caret."""
    before = encode(surroundings.before)
    tree = parse(before + encode(text), surroundings.language)
    tokens = list(tokens_between(tree, len(before), len(before) + len(encode(text))))
    stack = open_brackets(parse(before, surroundings.language), len(before))
    depth = len(stack)
    if not depth:
        return None
    # In the header of an `if` or `for` the construct ends behind its body, not at the bracket that closes the header.
    in_parentheses = stack[-1] == "("
    header = _HEADER.match(surroundings.caret_line)
    in_header = in_parentheses or (header is not None and "{" not in surroundings.caret_line[header.end() :])
    offsets = CharacterOffsets(text)
    for token, following in zip(tokens, _following_types(tokens), strict=True):
        follow(stack, token)
        if token.type not in ("}", ";"):
            continue
        ends_header = in_header and len(stack) == depth - in_parentheses and following not in _CONTINUES
        if ends_header or (token.type == "}" and len(stack) < depth - in_parentheses):
            return offsets.characters(token.end_byte - len(before))
    return None


def _following_types(tokens: list[tree_sitter.Node]) -> list[str]:
    """Return, for each token, the type of the next one that is no comment; empty if there is none."""
    following = [""] * len(tokens)
    for position in range(len(tokens) - 1, 0, -1):
        kind = tokens[position].type
        following[position - 1] = following[position] if kind.endswith("comment") else kind
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
    column = margin_of(surroundings.before.rpartition("\n")[2])
    continued = _continued_lines(text, surroundings)
    position = 0
    for number, line in enumerate(text.split("\n")):
        word = line.strip().partition(" ")[0].rstrip(":")
        leaves = bool(line.strip()) and margin_of(line) <= column and word not in _CONTINUES
        # A line at the margin within brackets or a string is no end: the header of an `elif` over several lines lost
        # its last line once.
        if number and leaves and number not in continued:
            return position - 1
        position += len(line) + 1
    return None


_HEADERS = ("if ", "elif ", "for ", "while ", "with ", "def ", "class ", "async ", "try", "except", "else", "match ")


def cut_at_block_end(text: str, surroundings: Surroundings) -> str:
    """Return the text up to the end of the block or construct that is open at the caret.

    Outside Python, this applies only if the suffix is hidden; else see :func:`balance_brackets`.
    """
    if surroundings.indented:
        caret_line = surroundings.caret_line
        in_header = caret_line.lstrip().startswith(_HEADERS) and not caret_line.rstrip().endswith(":")
        end = _clause_end(text, surroundings) if in_header else _dedent(text, surroundings)
    elif surroundings.after.strip():
        return text
    elif get_language(surroundings.language).block_end:
        end = _word_end(text, surroundings)
    else:
        end = _closing_end(text, surroundings)
    return text if end is None or not text[end:].strip() else with_final_newline(text[:end], surroundings)


def _open_blocks(program: str, language: str) -> int | None:
    """Return the number of blocks that are open at the end of a program, where a word ends them; None if unknown."""
    return next((count for count in range(MAX_ENDS) if _is_closed(program, count, language)), None)


def _is_closed(program: str, count: int, language: str) -> bool:
    return is_well_formed_text(program + f"\n{get_language(language).block_end}" * count, language)


def _moves_block(lines: list[str], surroundings: Surroundings) -> bool:
    """Return whether lines open or close a block, where a word ends it and the suffix is hidden: never said twice."""
    language = surroundings.language
    if surroundings.after.strip() or not get_language(language).block_end:
        return False
    depth = _open_blocks(surroundings.before, language)
    return depth is not None and not _is_closed("\n".join([surroundings.before, *lines]), depth, language)


def _word_end(text: str, surroundings: Surroundings) -> int | None:
    """Return the index at which a text leaves its caret's block or header, where a word ends blocks; None if nowhere.

    The word counts, not its column: chat models dedent their answers.
    """
    language, before = surroundings.language, surroundings.before
    entry = get_language(language)
    depth = _open_blocks(before.removesuffix(surroundings.caret_line), language)
    if depth is None:
        return None
    # After `if ` and `def ` a name opens a block, after `return if ` it does not.
    in_header = bool(surroundings.caret_line.strip()) and _open_blocks(f"{before}X", language) == depth + 1
    ends = re.compile(
        rf"[ \t]*(?:{entry.block_end if in_header else '|'.join((entry.block_end, *entry.block_clauses))})\b"
    )
    tries = max_cuts(len(before) + len(text))
    position = 0
    for number, line in enumerate(text.split("\n")):
        position += len(line) + 1
        if not number or not ends.match(line):
            continue
        end = position - 1 if in_header else position - len(line) - 2
        if _is_closed(before + text[:end], depth, language):
            return end
        tries -= 1
        if not tries:
            break
    return None


def _dedent(text: str, surroundings: Surroundings) -> int | None:
    offset = len(encode(surroundings.before))
    tree = parse(surroundings.program(text), surroundings.language)
    tokens = list(tokens_between(tree, offset, offset + len(encode(text))))
    # `else` behind the caret's branch is an answer if a suffix is shown and can follow it, as in other languages.
    goes_on = surroundings.after.strip() and surroundings.parses_with(text)
    return dedent_position(text, surroundings, tokens, offset, _CONTINUES if goes_on else frozenset())


def _cuts_at_brackets(text: str, surroundings: Surroundings) -> Iterator[str]:
    """Yield the text before each closing bracket that it did not open, and before words that end blocks; last first."""
    offset = len(encode(surroundings.before))
    tree = parse(surroundings.program(text), surroundings.language)
    offsets = CharacterOffsets(text)
    stack: list[str] = []
    ends = []
    for token in tokens_between(tree, offset, offset + len(encode(text))):
        if token.type in CLOSERS.values() and not stack:
            ends.append(offsets.characters(token.start_byte - offset))
        follow(stack, token)
    if word := get_language(surroundings.language).block_end:
        ends = sorted([*ends, *(hit.start() for hit in re.finditer(rf"(?m:^)[ \t]*{word}\b", text))])
    for end in reversed(ends):
        yield with_final_newline(text[:end].rstrip(), surroundings)


# `#if A`, `if (x) {`, `#else`, `if (!x) {`, `#endif` open one block: only one of the branches is compiled.
_LATER_BRANCHES = re.compile(r"(?ms)^[ \t]*#[ \t]*(?:else|elif)\b.*?(?:^[ \t]*#[ \t]*endif\b[^\n]*|\Z)")


def balance_brackets(text: str, surroundings: Surroundings) -> str:
    """Return the text with balanced brackets: cut at surplus closing brackets, with missing ones added.

    The text is returned unchanged if the program is well formed, if the suffix is hidden, or if nothing helps.
    """
    # With a hidden suffix nothing can be counted: brackets that are open at the caret are closed by a text that is not
    # shown.
    hidden = not surroundings.indented and not surroundings.after.strip()
    if hidden or surroundings.parses_with(text):
        return text
    cuts = _cuts_at_brackets(text, surroundings)
    # Surplus brackets cost the parser thrice what code does: 50 tries of 60 KB of `}` took 4 s of CPU in C++.
    tries = max_cuts(len(surroundings.program(text)) + 2 * len(text))
    # The last bracket first: it keeps most of the answer.
    for candidate in islice(cuts, tries):
        if candidate.strip() and surroundings.parses_with(candidate):
            return candidate
    missing: list[str] = []
    preprocessed = get_language(surroundings.language).preprocessed
    counted = _LATER_BRANCHES.sub("", text) if preprocessed else text
    for token in tokens_between(parse(counted, surroundings.language), 0, len(encode(counted))):
        follow(missing, token)
    closers = "".join("\n}" if opener in ("{", "${") else CLOSERS[opener] for opener in reversed(missing))
    word = get_language(surroundings.language).block_end
    ends = [f"{closers}\n{word}" * count for count in range(1, MAX_ENDS)] if word else []
    for closer in (closers, *ends):
        added = with_final_newline(text.rstrip("\n") + closer, surroundings) if closer else text
        if surroundings.parses_with(added):
            return added
    return text


def longest_parsing_cut_with_suffix(text: str, surroundings: Surroundings) -> str:
    """Return :func:`~caretbench.extraction.cuts.longest_parsing_cut` if a suffix is shown, else the text."""
    return longest_parsing_cut(text, surroundings) if surroundings.after.strip() else text
