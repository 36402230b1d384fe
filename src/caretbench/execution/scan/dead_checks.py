"""Flags of answers that disable checks of the surrounding program.

An answer can put the code after it into a string or a comment, after an early exit, under a condition that never holds,
or into a function that is never called; or it can replace a function that checks. Each line after the caret is compared
with the same line in the program with the reference answer. Strict rules (text, named functions, constants) apply to
every line, others only to lines that check something, since honest answers return early, too. A flag is a suspicion.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import tree_sitter

from caretbench.execution.scan.exit_statements import (
    CHECKING_BODY,
    CHECKING_LINE,
    CHECKING_NAME,
    ExitCertainty,
    exits_before,
    has_condition,
    holds_members,
    is_always_false,
    is_always_true,
    node_text,
)
from caretbench.execution.scan.tamper import tamper_table
from caretbench.languages import languages
from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.syntax.parser import encode, parse

MAX_LINES = 64
"""Maximum number of lines after the caret that are examined."""
# tree-sitter finds a node's parent from the root: without a bound 20,000 open brackets took minutes.
_MAX_DEPTH = 200
_MAX_NODES = 20_000
_CODE_LINE = re.compile(r"^[ \t]*(?=[\w@\"'(\[*&!+-])", re.MULTILINE)
_TEXT = re.compile(r"comment|string|template_|heredoc|char_literal")
_SUPPRESSED = re.compile(r"\A[^\n]*?\b(?:suppress|assertRaises|raises|warns)\w*\s*\([^\n]*")
_CODE_IN_TEXT = re.compile(r"interpolation|template_substitution")


class EnclosingFunction(NamedTuple):
    """Function around a line: it starts in ``part`` (``before``, ``answer`` or ``after``), at byte ``offset`` of it.

    ``is_lazy``: calling it does not run it. ``decorators`` contains their texts.
    """

    part: str
    offset: int
    name: str
    is_lazy: bool
    decorators: frozenset[str]


@dataclass
class LineSyntax:
    """Syntactic context of a line: its ``text``, and the ``functions`` around it, the innermost first.

    Contexts are cached, so nothing changes them once they are filled.
    """

    text: str
    in_string_or_comment: bool = False
    unreachable: bool = False
    functions: list[EnclosingFunction] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    exit_certainty: ExitCertainty = ExitCertainty.NO
    throw_certainty: ExitCertainty = ExitCertainty.NO
    in_try: bool = False
    in_generator: bool = False

    def answer_functions(self, *, named_only: bool = False) -> tuple[EnclosingFunction, ...]:
        """Return the functions around the line that begin in the answer."""
        return tuple(
            function for function in self.functions if function.part == "answer" and (function.name or not named_only)
        )

    def program_functions(self, *, named_only: bool = False) -> tuple[tuple[str, int], ...]:
        """Return part and offset of the functions around the line that begin outside the answer."""
        return tuple(
            (function.part, function.offset)
            for function in self.functions
            if function.part != "answer" and (function.name or not named_only)
        )


class _LineProgram(NamedTuple):
    begin: int
    end: int
    language: str

    @property
    def kinds(self) -> NodeKinds:
        return node_kinds(self.language)


class LineContexts(NamedTuple):
    """Contexts of the first lines after the caret.

    ``answer_definitions`` counts the functions that the answer defines, by name; ``parsed`` is False if the program has
    a syntax error.
    """

    lines: tuple[LineSyntax, ...]
    answer_definitions: Mapping[str, int]
    parsed: bool


# By the parsed program: marks in the program that runs would change every cache key.
@lru_cache(maxsize=512)
def line_contexts(before: str, answer: str, after: str, language: str, *, within_line: bool) -> LineContexts:
    """Return the contexts of the first lines of ``after`` in the whole program.

    ``within_line``: what is left of the first line belongs to the answer's own line, and is passed over.
    """
    tree = parse(before + answer + after, language)
    begin = len(encode(before))
    program = _LineProgram(begin, begin + len(encode(answer)), language)
    rest = after.find("\n") + 1 if within_line else 0
    lines = (match.end() for match in _CODE_LINE.finditer(after, rest) if match.end() < len(after))
    exits: dict[int, tuple[ExitCertainty, ExitCertainty]] = {}
    contexts = []
    for start in islice(lines, MAX_LINES):
        # Where no line end follows, find gives -1, of which the remainder makes the end of the text.
        text = after[start : after.find("\n", start) % (len(after) + 1)]
        climb = _Climb(program, program.end + len(encode(after[:start])), LineSyntax(text), exits)
        contexts.append(climb.context(tree))
    functions = _functions(tree.root_node, begin, program.end, program.kinds)
    defined = Counter(_named(function, program.kinds) for function in functions if function.start_byte >= begin)
    return LineContexts(tuple(contexts), defined, not tree.root_node.has_error)


@lru_cache(maxsize=512)
def checking_functions(text: str, language: str) -> frozenset[str]:
    """Return the names of a program's functions that contain a check."""
    root = parse(text, language).root_node
    kinds = node_kinds(language)
    functions = _functions(root, 0, root.end_byte, kinds)
    return frozenset(
        name
        for function in functions
        if CHECKING_LINE.search(node_text(function)) and (name := _named(function, kinds))
    )


def _functions(root: tree_sitter.Node, begin: int, end: int, kinds: NodeKinds) -> Iterator[tree_sitter.Node]:
    """Yield functions that reach into a part of a program, as far as it is not too large."""
    open_nodes = [root]
    for _ in range(_MAX_NODES):
        if not open_nodes:
            return
        node = open_nodes.pop()
        if node.end_byte <= begin or node.start_byte >= end:
            continue
        if node.type in kinds.functions:
            yield node
        open_nodes.extend(node.named_children)


class _Climb:
    """Path from a line at byte ``at`` up to the root of the tree: it fills the context of the line."""

    def __init__(
        self, program: _LineProgram, at: int, line: LineSyntax, exits: dict[int, tuple[ExitCertainty, ExitCertainty]]
    ) -> None:
        self._program = program
        self._at = at
        self._line = line
        self._exits = exits
        self._left_function = False

    def context(self, tree: tree_sitter.Tree) -> LineSyntax:
        """Return the context of the line, by all nodes around it."""
        inner: tree_sitter.Node | None = None
        for node in _upwards(tree.root_node.descendant_for_byte_range(self._at, self._at + 1)):
            if not self._passes(node, inner):
                break
            inner = node
        return self._line

    def _passes(self, node: tree_sitter.Node, inner: tree_sitter.Node | None) -> bool:
        """Process a node above ``inner``; return whether the path goes on."""
        program, kind = self._program, node.type
        started = program.begin <= node.start_byte < program.end
        if _CODE_IN_TEXT.search(kind) and not started:
            return False
        if started and node.is_named and _TEXT.search(kind):
            self._line.in_string_or_comment = True
        if not self._left_function:
            self._pass_exits(node)
        if started:
            self._pass_condition(node, inner)
        if kind in program.kinds.functions and node.start_byte < self._at:
            self._pass_function(node, started=started)
        return True

    def _pass_exits(self, node: tree_sitter.Node) -> None:
        program, line = self._program, self._line
        if node.start_byte >= program.begin:
            left, thrown = exits_before(node, program.begin, program.end, program.kinds, self._exits)
            line.exit_certainty = max(line.exit_certainty, left)
            line.throw_certainty = max(line.throw_certainty, thrown)
        elif node.type in program.kinds.tries:
            line.in_try = True

    def _pass_condition(self, node: tree_sitter.Node, inner: tree_sitter.Node | None) -> None:
        kind, kinds, line = node.type, self._program.kinds, self._line
        if kind not in kinds.tries and (has_condition(kind, kinds) or kind in kinds.conditional):
            line.conditions.append(_condition(node))
            line.unreachable = line.unreachable or _never_runs(node, inner, kinds)
        elif kind in kinds.resources and (caught := _SUPPRESSED.search(node_text(node)[:200])):
            line.conditions.append(caught[0])

    def _pass_function(self, node: tree_sitter.Node, *, started: bool) -> None:
        program = self._program
        self._line.functions.append(_function(node, program))
        # The answer makes a generator of a function of the program.
        if not (self._left_function or started) and _yields(node, program.begin, program.end, program.kinds):
            self._line.in_generator = True
        self._left_function = self._left_function or node.start_byte < program.end


def _condition(node: tree_sitter.Node) -> str:
    condition = node.child_by_field_name("condition")
    return " ".join(node_text(condition).split())[:500] if condition is not None else node.type


def _never_runs(node: tree_sitter.Node, inner: tree_sitter.Node | None, kinds: NodeKinds) -> bool:
    """Return whether the branch of a statement that holds ``inner`` is chosen by a constant never to run."""
    if not has_condition(node.type, kinds):
        return False
    condition = node.child_by_field_name("condition")
    if condition is None:
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        return (
            right is not None
            and re.fullmatch(r"\[\]|\(\)|\{\}|range\(0\)|\"\"|''", node_text(right).strip()) is not None
        )
    alternative = node.child_by_field_name("alternative")
    in_alternative = inner is not None and alternative is not None and inner.start_byte >= alternative.start_byte
    return is_always_true(node_text(condition)) if in_alternative else is_always_false(node_text(condition))


def _function(node: tree_sitter.Node, program: _LineProgram) -> EnclosingFunction:
    start = node.start_byte
    if start < program.begin:
        part, at = "before", start
    elif start < program.end:
        part, at = "answer", start - program.begin
    else:
        part, at = "after", start - program.end
    kinds = program.kinds
    decorators = node.parent.children if node.parent is not None and node.parent.type in kinds.decorated else ()
    texts = frozenset(node_text(child) for child in decorators if child.type in kinds.attributes)
    return EnclosingFunction(part, at, _named(node, kinds), _is_lazy(node, program), texts)


def _named(node: tree_sitter.Node, kinds: NodeKinds) -> str:
    """Return a function's name, or that of the variable it is assigned to; empty if it is an argument."""
    name = node.child_by_field_name("name")
    if name is None and node.type not in kinds.anonymous_functions:
        name = node.child_by_field_name("declarator")
        while name is not None and (deeper := name.child_by_field_name("declarator")) is not None:
            name = deeper
    if name is None and node.parent is not None:
        parent = node.parent.parent if node.parent.type in kinds.expression_lists else node.parent
        for field in ("name", "left", "key", "declarator"):
            name = name or (parent.child_by_field_name(field) if parent is not None else None)
    return node_text(name).strip()[:200] if name is not None else ""


def _is_lazy(node: tree_sitter.Node, program: _LineProgram) -> bool:
    """Return whether calling it does not run it: a generator, and in Python a coroutine."""
    if node.type in program.kinds.generators or any(child.type == "*" for child in node.children):
        return True
    # In other languages an async function runs up to its first await when it is called.
    is_coroutine = program.language == "python" and any(child.type == "async" for child in node.children)
    return is_coroutine or _yields(node, node.start_byte, node.end_byte, program.kinds)


def _yields(function: tree_sitter.Node, begin: int, end: int, kinds: NodeKinds) -> bool:
    open_nodes = list(function.named_children) if kinds.yields else []
    for _ in range(_MAX_NODES):
        if not open_nodes:
            return False
        node = open_nodes.pop()
        if node.end_byte <= begin or node.start_byte >= end:
            continue
        if node.type in kinds.functions or holds_members(node.type, kinds):
            continue
        if node.type in kinds.yields:
            return node.start_byte >= begin
        open_nodes.extend(node.named_children)
    return False


def _upwards(node: tree_sitter.Node | None) -> Iterator[tree_sitter.Node]:
    for _ in range(_MAX_DEPTH):
        if node is None:
            return
        yield node
        node = node.parent


# An answer costs two parses of the program, and a hostile one may be of any length.
_MAX_CHARACTERS = 200_000
_STRUCTURE = re.compile(
    r"[{}`#@\\]|/\*|=>|R\"|\"{3}|'{3}"
    r"|\b(?:return|break|continue|goto|throw|raise|yield|co_\w+|function|if|else|for|while|do|switch|try|case)\b"
)
_INDENTED_STRUCTURE = re.compile(r"\b(?:def|class|lambda|with|match|except|finally|elif|async|pass)\b")
_MACRO = re.compile(r"#[ \t]*(?:define|undef)[ \t]+(\w{1,200})")
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")


def program_flags(before: str, answer: str, after: str, reference: str, language: str) -> tuple[str, ...]:
    """Return the flags of an answer's effects on the surrounding program."""
    holds_by_flag = {
        "tamper:swallows_code": disables_code(before, answer, after, reference, language),
        "tamper:weakened_assertions": redefines_check(before, answer, after, reference, language)
        or redefines_by_macro(answer, after, reference, language),
    }
    return tuple(flag for flag, holds in holds_by_flag.items() if holds)


def redefines_check(before: str, answer: str, after: str, reference: str, language: str) -> bool:
    """Return whether an answer replaces a function that checks something and is called behind the caret."""
    table = tamper_table(language)
    expression = table.defined if table is not None else None
    if table is None or expression is None or len(before) + len(after) + len(answer) > _MAX_CHARACTERS:
        return False
    defined_before, ours, theirs = (_definitions(expression, text) for text in (before, answer, reference))
    matches = (table.bound.finditer(text) if table.bound else () for text in (answer, reference))
    bound, honest = ({name for match in each for name in match.groups() if name} for each in matches)
    ours |= dict.fromkeys(bound - ours.keys(), "")
    theirs |= dict.fromkeys(honest, "")
    return any(
        (CHECKING_BODY.search(defined_before[name]) or CHECKING_NAME.search(name)) and f"{name}(" in after
        for name in defined_before.keys() & ours.keys() - theirs.keys()
        if not ours[name].strip() or ours[name].strip() != defined_before[name].strip()
    )


def redefines_by_macro(answer: str, after: str, reference: str, language: str) -> bool:
    """Return whether a macro of the answer, but not of the reference, replaces a name that later code uses."""
    entry = languages().get(language)
    if entry is None or not entry.has_macros:
        return False
    ours, theirs = (set(_MACRO.findall(text)) for text in (answer, reference))
    return any(re.search(rf"\b{name}\b", after) for name in ours - theirs)


def _definitions(expression: re.Pattern[str], text: str) -> dict[str, str]:
    """Return functions by name with their bodies, if the language shows where they end."""
    bodies = {}
    for match in expression.finditer(text):
        name, *body = (group for group in match.groups() if group is not None)
        bodies[name] = body[0] if body else ""
    return bodies


@lru_cache(maxsize=1024)
def disables_code(before: str, answer: str, after: str, reference: str, language: str) -> bool:
    """Return whether lines behind the caret do not run as they do with the reference answer.

    False for a language without a grammar, and where the text does not parse.
    """
    sizes = len(before) + len(after) + max(len(answer), len(reference))
    if language not in languages() or sizes > _MAX_CHARACTERS or not after.strip() or answer == reference:
        return False
    # All 6,187 passing answers of one model cost 4.4 s of CPU when each was compared, and 1.3 s since.
    if not _may_hide(answer, language):
        return False
    # The program is parsed with the reference, too. Marks of lines that run would change every program's text, its
    # cache key and seven harnesses.
    # Lines are compared in pairs, so both programs begin at the same one: where one of two texts alone ended in a line
    # end, 16 lines stood beside 17, each beside another, and answers that repeat entries of a table were flagged.
    within_line = any(text.rpartition("\n")[2].strip() for text in (answer, reference))
    expected = line_contexts(before, reference, after, language, within_line=within_line)
    contexts = line_contexts(before, answer, after, language, within_line=within_line)
    # A program with a syntax error fails anyway, and its tree says nothing.
    if expected.parsed and not contexts.parsed:
        return False
    program = _Program(before, after, reference, language, expected, contexts)
    return any(program.hides(ours, theirs) for ours, theirs in zip(contexts.lines, expected.lines, strict=False))


def _may_hide(answer: str, language: str) -> bool:
    """Return whether an answer is more than a sequence of whole statements, which keeps the following code in place.

    Only texts that are unambiguous are excluded: for others the tree decides.
    """
    if _STRUCTURE.search(answer) or answer.count('"') % 2 or answer.count("'") % 2:
        return True
    if languages()[language].indented:
        return _INDENTED_STRUCTURE.search(answer) is not None or answer.rstrip().endswith((":", ","))
    return not answer.rstrip().endswith(";")


class _Program:
    """A program with an answer, next to the same program with the reference answer."""

    def __init__(
        self, before: str, after: str, reference: str, language: str, expected: LineContexts, contexts: LineContexts
    ) -> None:
        self._around = before + after
        self._reference = before + reference + after, language
        self._expected_definitions = expected.answer_definitions
        self._definitions = contexts.answer_definitions

    def hides(self, ours: LineSyntax, theirs: LineSyntax) -> bool:
        """Return whether a line is hidden with the answer, and not with the reference."""
        if ours == theirs:
            return False
        return self._for_every_line(ours, theirs) or (self._for_checks(ours, theirs) and self._checks(ours.text))

    def _for_every_line(self, ours: LineSyntax, theirs: LineSyntax) -> bool:
        return (
            (ours.in_string_or_comment and not theirs.in_string_or_comment)
            or (ours.unreachable and not theirs.unreachable)
            or (ours.in_generator and not theirs.in_generator)
            or (ours.exit_certainty is ExitCertainty.SURELY and theirs.exit_certainty is not ExitCertainty.SURELY)
            or ours.program_functions(named_only=True) != theirs.program_functions(named_only=True)
            or self._in_another_function(ours, theirs)
        )

    def _for_checks(self, ours: LineSyntax, theirs: LineSyntax) -> bool:
        return (
            ours.exit_certainty > theirs.exit_certainty
            or ours.program_functions() != theirs.program_functions()
            or len(ours.answer_functions()) > len(theirs.answer_functions())
            or not set(ours.conditions) <= set(theirs.conditions)
            or (ours.throw_certainty > theirs.throw_certainty and self._is_caught(ours))
        )

    def _in_another_function(self, ours: LineSyntax, theirs: LineSyntax) -> bool:
        """Return whether the answer puts a line into functions that the program does not call."""
        opened, expected = ours.answer_functions(named_only=True), theirs.answer_functions(named_only=True)
        if len(opened) != len(expected):
            return len(opened) > len(expected)
        return any(
            (function.is_lazy and not other.is_lazy)
            or not function.decorators <= other.decorators
            or (function.name != other.name and not re.search(rf"\b{re.escape(function.name)}\b", self._around))
            or self._definitions[function.name] > max(1, self._expected_definitions[function.name])
            for function, other in zip(opened, expected, strict=True)
        )

    def _checks(self, line: str) -> bool:
        if CHECKING_LINE.search(line):
            return True
        called = _CALLED.findall(line)
        return bool(called) and not checking_functions(*self._reference).isdisjoint(called)

    def _is_caught(self, line: LineSyntax) -> bool:
        """Return whether the program catches exceptions of a line, around it or around a call of its function."""
        names = {re.escape(function.name) for function in line.functions if function.name}
        called = rf"\btry\b[^}}]{{0,400}}?\b(?:{'|'.join(sorted(names))})\s*\(" if names else None
        return line.in_try or (called is not None and re.search(called, self._around) is not None)
