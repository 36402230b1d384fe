"""Surroundings of a caret: texts around it, its position in the syntax tree, and the indentation of an answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import tree_sitter

from caretbench.extraction.prose import reads_as_prose
from caretbench.languages import get_language
from caretbench.problem import Caret
from caretbench.syntax.parser import encode, is_well_formed_text, parse, python_module, text_of, walk

MAX_TEXT_CHARACTERS = 100_000
"""Maximum number of characters of a text that is inserted, without the reasoning that a policy removes."""

CLOSERS = {"(": ")", "[": "]", "{": "}", "${": "}"}
_LITERAL = ("comment", "string", "template_literal", "char", "text", "regex", "heredoc")
_BRACKET = re.compile(r"[()\[\]{}]")
# What no statement begins with; `|` begins a closure in Rust, `..` a range.
_CONTINUES = re.compile(r"\s*(?:\.(?!\.)|[,?=%^])")
_OPERATORS = tuple("=+-*/<>&|,.([{?:!%^~\\")
"""Ends of a line that goes on."""
MAX_ENDS = 8
"""Maximum number of constructs that are closed behind a hidden suffix, where a word ends them."""


class Surroundings(NamedTuple):
    """Visible texts before and after the caret, their language and the kind of hole: the input of a policy."""

    before: str
    after: str
    language: str
    hole: str | None = None

    @classmethod
    def from_caret(cls, caret: Caret, after: str | None = None) -> Surroundings:
        """Return the surroundings of a caret; ``after`` replaces a suffix that is not shown in full."""
        name = get_language(caret.language).name
        return cls(caret.prefix, caret.suffix if after is None else after, name, caret.hole)

    def program(self, text: str) -> str:
        """Return the visible program with ``text`` at the caret."""
        return self.before + text + self.after

    def parses_with(self, text: str) -> bool:
        """Return whether the visible program with ``text`` at the caret is well formed, or may be.

        With a hidden suffix, the brackets that are still open are closed first. Grammars do not know all that is valid
        (C++'s pointers to members, ``#if 0``); see :meth:`is_whole`.
        """
        return _parses(self, text)

    def is_whole(self, text: str) -> bool:
        """Return whether nothing but the grammar speaks against a text: its brackets match, and it ends as code does.

        Python's own parser decides in Python.
        """
        entry = get_language(self.language)
        program = self.program(text)
        if entry.indented or entry.block_end or not self.after.strip():
            return self.language == "python" and python_module(program) is not None
        skip = _skipped(self.language)
        code, answer = skip.sub(" ", program), skip.sub(" ", text).strip()
        # Within a line only an expression can be whole.
        continued = self.after.partition("\n")[0].strip() and not {*"{;"} & {*answer}
        ends_well = self._ends_well(answer, semicolons=";\n" in program)
        begun = self.caret_line.strip()
        again = begun and answer.startswith(begun)
        if not answer or again or "```" in text or not (continued or ends_well):
            return False
        return _is_balanced(code) and not any(map(reads_as_prose, answer.splitlines()))

    def _ends_well(self, answer: str, *, semicolons: bool) -> bool:
        """Return whether an answer ends as code before this suffix does."""
        if answer.endswith(";"):
            # `.catch(…)` of the suffix once more, ended by a semicolon: the cut before it is the answer that was meant.
            return not _CONTINUES.match(self.after)
        return answer.endswith("}") or not (semicolons or answer.endswith(_OPERATORS))

    @property
    def caret_line(self) -> str:
        """Part of the caret's line before the caret."""
        return self.before.rpartition("\n")[2]

    @property
    def indented(self) -> bool:
        """Return whether indentation is the syntax of blocks."""
        return get_language(self.language).indented

    @property
    def needs_newline(self) -> bool:
        """Return whether a text at the caret must end with a newline, because the suffix begins a new line."""
        at_line_start = not self.before or self.before.endswith("\n")
        return at_line_start and bool(self.after.strip()) and not self.after.startswith("\n")


@cache
def _skipped(language: str) -> re.Pattern[str]:
    """Return the pattern of what is no code: literals, comments, and what a preprocessor passes over."""
    entry = get_language(language)
    directives = (
        # Up to the end where nothing closes it: else each of 9,000 such lines is searched to the end, 4 s.
        r"(?m:^)[ \t]*#[ \t]*if[ \t]+0\b.*?(?:(?m:^)[ \t]*#[ \t]*(?:endif|else|elif)\b[^\n]*|\Z)",
        r"(?m:^)[ \t]*#[^\n]*",
    )
    return re.compile("|".join(((*directives,) if entry.preprocessed else ()) + entry.strings_and_comments), re.DOTALL)


def _is_balanced(code: str) -> bool:
    stack: list[str] = []
    for bracket in _BRACKET.findall(code):
        if bracket in CLOSERS:
            stack.append(CLOSERS[bracket])
        elif not stack or stack.pop() != bracket:
            return False
    return not stack


@lru_cache(maxsize=256)
def _parses(surroundings: Surroundings, text: str) -> bool:
    program, language = surroundings.program(text), surroundings.language
    if surroundings.indented:
        # The grammar accepts tabs among blanks, and lines that are indented without reason.
        return is_well_formed_text(program, language) and python_module(program) is not None
    if surroundings.after.strip():
        grammar_decides = not get_language(language).preprocessed
        return is_well_formed_text(program, language) or (not grammar_decides and surroundings.is_whole(text))
    end = get_language(language).block_end
    if end:
        return any(is_well_formed_text(program + f"\n{end}" * count, language) for count in range(MAX_ENDS))
    data = encode(program)
    closers = (CLOSERS[opener] for opener in reversed(open_brackets(parse(data, language), len(data))))
    return is_well_formed_text("\n".join((program, *closers)), language)


def tokens_between(tree: tree_sitter.Tree, start: int, end: int) -> Iterator[tree_sitter.Node]:
    """Yield the tokens that begin within the bytes ``start`` to ``end``; a string counts as one token."""
    # Brackets within a string are text, and interpolated ones would be counted.
    for node in walk(tree.root_node, start, end, closed=lambda outer: outer.type == "string"):
        if (node.child_count == 0 or node.type == "string") and node.start_byte >= start:
            yield node


def open_brackets(tree: tree_sitter.Tree, end: int) -> list[str]:
    """Return the brackets that are open at byte ``end``."""
    stack: list[str] = []
    for token in tokens_between(tree, 0, end):
        if token.end_byte <= end:
            follow(stack, token)
    return stack


def follow(stack: list[str], token: tree_sitter.Node) -> None:
    """Add an opening bracket to the stack, or take off the one that a token closes."""
    if token.start_byte == token.end_byte:
        # A missing token that the parser inserted: the text has no such bracket.
        return
    if token.type in CLOSERS:
        stack.append(token.type)
    elif stack and token.type == CLOSERS[stack[-1]]:
        stack.pop()


def within_literal(tree: tree_sitter.Tree, position: int) -> bool:
    """Return whether byte ``position`` is inside a string or comment."""
    # From the byte before: at the end of a literal the smallest node after the position is the next token. Downwards:
    # the parent of a node is looked for from the root, 1 s in a tree of 14,000 levels.
    first = max(0, position - 1)
    cursor = tree.walk()
    while (node := cursor.node) is not None and node.start_byte <= first:
        # A line comment goes on until a newline, so the position at its end is inside of it too.
        ends_line = "comment" in node.type and node.end_byte == position
        inside = node.start_byte < position < node.end_byte or (node.start_byte < position and ends_line)
        is_literal = any(word in node.type for word in _LITERAL)
        if inside and is_literal and not (ends_line and text_of(node).endswith(("*/", "\n"))):
            return True
        if cursor.goto_first_child_for_byte(first) is None:
            return False
    return False


def caret_in_literal(surroundings: Surroundings, text: str) -> bool:
    """Return whether the caret is inside a string or comment, where prose and fences are valid content."""
    position = len(encode(surroundings.before))
    # The answer itself may close the literal, or break the parse: any of the three trees may show what the caret is in.
    trees = (parse(surroundings.program(middle), surroundings.language) for middle in (text, "\n", ""))
    return any(within_literal(tree, position) for tree in trees)


_USUAL_UNIT = 4
"""Columns of a level of indentation where the shown code has none, as PEP 8 has it."""


def margin_of(line: str) -> int:
    """Return the number of blanks and tabs at a line's beginning."""
    return len(line) - len(line.lstrip(" \t"))


def _unit(shown: str) -> str:
    """Return one step of the indentation of a program."""
    margins = [line[: margin_of(line)] for line in shown.split("\n") if line.strip()]
    if sum("\t" in margin for margin in margins) * 2 > sum(map(bool, margins)):
        return "\t"
    steps = Counter(after - before for before, after in pairwise(map(len, margins)) if after - before > 1)
    return " " * (steps.most_common(1)[0][0] if steps else _USUAL_UNIT)


def possible_margins(surroundings: Surroundings) -> list[str]:
    """Return the possible indentations of the first statement at a caret, the most likely first."""
    unit = _unit(surroundings.before + surroundings.after)
    return [unit[0] * column for column in _columns(surroundings, len(unit))]


def _columns(surroundings: Surroundings, unit: int) -> list[int]:
    """Return the possible columns of the first statement, the most likely first."""
    *whole, caret_line = surroundings.before.split("\n")
    if caret_line:
        return [margin_of(caret_line)]
    last = next((line for line in reversed(whole) if line.strip()), "")
    following = next((line for line in surroundings.after.split("\n")[1:] if line.strip()), "")
    columns = [margin_of(last) + unit if last.rstrip().endswith(":") else margin_of(last)]
    # A block may also go on at the column of the next line, or end one level further out.
    columns += [margin_of(following), margin_of(last) + unit, max(0, margin_of(last) - unit)]
    return list(dict.fromkeys(columns))


def _in_unit(line: str, unit: str) -> str:
    """Return a line whose indentation consists of blanks or tabs as ``unit`` does."""
    margin = line[: margin_of(line)]
    if unit == "\t":
        return margin.replace(" " * _USUAL_UNIT, "\t") + line[len(margin) :]
    return margin.replace("\t", unit) + line[len(margin) :]


def in_shown_unit(text: str, surroundings: Surroundings) -> str:
    """Return a text whose lines are indented by blanks or tabs as the shown program's are."""
    unit = _unit(surroundings.before + surroundings.after)
    return "\n".join(_in_unit(line, unit) for line in text.split("\n"))


def _shifted(line: str, by: int, unit: str) -> str:
    return line if not line.strip() else unit[0] * max(0, margin_of(line) + by) + line.lstrip(" \t")


def _is_dedented(lines: list[str], surroundings: Surroundings) -> bool:
    """Return whether the second line begins in column 0, as the first, and goes on with its block."""
    first, second = [*lines, ""][:2]
    goes_on = second.strip() and not second.startswith(
        (*" \t)]}@#", "def ", "class ", "import ", "from ", "if __name__")
    )
    is_open = surroundings.caret_line and not surroundings.caret_line.strip()
    return bool(is_open and goes_on and not margin_of(first) and surroundings.parses_with(first))


def reindent(text: str, surroundings: Surroundings) -> str:
    """Return Python text shifted to the right column, if the program is well formed only then; else the text."""
    lines = text.lstrip("\n").split("\n")
    if not surroundings.indented or not text.strip():
        return text
    parses = surroundings.parses_with(text)
    if parses and not _is_dedented(lines, surroundings):
        return text
    shifted = text
    for column, candidate in _shifts(lines, surroundings):
        if surroundings.parses_with(candidate):
            # A line further out than the caret leaves its block: right only if nothing else is.
            if all(margin_of(line) >= column for line in candidate.split("\n")[1:] if line.strip()):
                return candidate
            shifted = candidate if shifted == text and not parses else shifted
    return shifted


def _shifts(lines: list[str], surroundings: Surroundings) -> Iterator[tuple[int, str]]:
    """Yield columns of the first statement, and the text with its lines shifted to them, the most likely first."""
    unit = _unit(surroundings.before + surroundings.after)
    lines = [_in_unit(line, unit) for line in lines]
    caret_line, first_margin = surroundings.caret_line, margin_of(lines[0])
    margins = [margin_of(line) for line in lines[1:] if line.strip()] or [first_margin]
    for column in _columns(surroundings, len(unit)):
        inner = column + len(unit)
        head = lines[0] if caret_line.strip() else unit[0] * max(0, column - len(caret_line)) + lines[0].lstrip(" \t")
        steps = (0, column - first_margin, column - min(margins), inner - margins[0], column - margins[0],
                 inner - min(margins), column - first_margin - len(caret_line))  # fmt: skip
        for by in dict.fromkeys(steps):
            yield column, "\n".join([head, *(_shifted(line, by, unit) for line in lines[1:])])
