"""Rules on names for edits: symmetric calls, calls that only write text, counterparts of functions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

import tree_sitter

from caretbench.files import read_packaged_toml
from caretbench.languages.node_kinds import node_kinds
from caretbench.problem import Row
from caretbench.suites.efcb.build.edits.patch_parts import collapse_whitespace
from caretbench.syntax.parser import text_of as text
from caretbench.syntax.parser import upwards
from caretbench.syntax.uses.expression_contexts import callee_of, operator_of


class _Log(Row):
    receivers: str
    names: frozenset[str]
    titles: frozenset[str]
    messages: frozenset[str]
    reporters: str
    reported: frozenset[str]


class _Table(Row):
    frame: Mapping[str, frozenset[str]]
    symmetric: Mapping[str, tuple[str, ...]]
    """Patterns for all languages, and names by language."""
    log: _Log
    alike: Mapping[str, tuple[frozenset[str], ...]]
    counterparts: Mapping[str, tuple[tuple[str, str] | tuple[str, str, str], ...]]


@cache
def _table() -> _Table:
    return _Table.model_validate(read_packaged_toml("caretbench.suites.efcb.build.edits", "edits.toml"))


def _language(grammar: str) -> str:
    # One language with two grammars: its table would otherwise be written twice.
    return "typescript" if grammar == "tsx" else grammar


def is_symmetric_call(name: str, grammar: str) -> bool:
    """Return whether the order of the arguments of a call with this name does not matter."""
    table = _table().symmetric
    # Camel case is split into words, so that "eq" does not match "request".
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return name in table.get(_language(grammar), ()) or any(
        re.search(pattern, name, re.IGNORECASE) or re.search(pattern, words) for pattern in table["patterns"]
    )


def is_log_call(receiver: str, name: str) -> bool:
    """Return whether a call only writes a text for people."""
    table = _table().log
    return name in table.names or bool(re.search(table.receivers, receiver, re.IGNORECASE))


def is_message_call(receiver: str, name: str) -> bool:
    """Return whether a call writes a message, or reports that a test failed or was skipped."""
    table = _table().log
    return name in table.messages or (name in table.reported and bool(re.fullmatch(table.reporters, receiver)))


def is_framework_function(name: str) -> bool:
    """Return whether a function belongs to a language or a test framework."""
    return name in _table().frame["names"]


def have_same_meaning(one: str, other: str, grammar: str) -> bool:
    """Return whether two functions do nearly the same: ``toBe``, ``toEqual``; ``Error``, ``Errorf``."""
    if any({one, other} <= names for names in _table().alike.get(_language(grammar), ())):
        return True
    shorter, longer = sorted((one, other), key=len)
    # Variants of one function: both give the same result for most arguments, so that neither choice is wrong.
    if re.fullmatch(
        re.escape(shorter) + r"(f|ln|w|Sync|Async|_async|_sync|All|s|Context|Unsafe|Internal|Impl)?", longer
    ):
        return True
    alike = is_symmetric_call(one, grammar) and is_symmetric_call(other, grammar)
    return (alike and _is_negative(one) == _is_negative(other)) or all(
        is_log_call("", name) or is_message_call("t", name) for name in (one, other)
    )


def _is_negative(name: str) -> bool:
    return bool(re.search(r"not|ne(q|$|_)|refute|differ", name, re.IGNORECASE))


@cache
def _counterparts(grammar: str) -> Mapping[str, tuple[tuple[str, str], ...]]:
    counterparts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for word, other, *receiver in _table().counterparts.get(_language(grammar), ()):
        pattern = receiver[0] if receiver else ""
        counterparts[word].append((other, pattern))
        counterparts[other].append((word, pattern))
    return {name: tuple(others) for name, others in counterparts.items()}


def counterpart_functions(name: str, receiver: str, grammar: str) -> list[str]:
    """Return functions that may replace one with the same arguments and receiver."""
    return [other for other, pattern in _counterparts(grammar).get(name, ()) if re.search(pattern, receiver)]


_STATEMENTS: Final = re.compile(r"statement|declaration|^(block|body_statement|program|module|source_file)$")
_SYMMETRIC: Final = frozenset({"==", "!=", "===", "!==", "is", "is not"})
_ANNOTATIONS: Final = re.compile(r"^decorator$|^(marker_)?annotation$|^attribute_(list|item|argument)")
# Commutative operators; ``+`` of strings is not.
_COMMUTATIVE: Final = frozenset({"*", "+", "&&", "||", "and", "or", "&", "|", "^"})
_LOOPED: Final = re.compile(r"^(for|foreach|enhanced_for|match)\w*")


def is_text_for_people(node: tree_sitter.Node) -> bool:
    """Return whether a node is part of a log text, an error message, a test title or an annotation."""
    child, kinds = node, node_kinds()
    for around in upwards(node.parent):
        if _ANNOTATIONS.search(around.type):
            return True
        # A text within a function that a log call contains, as a callback, is code again.
        if around.type in kinds.functions:
            return False
        if around.type in kinds.throws:
            return node.id != child.id or bool(re.search("string", node.type))
        if (around.type in kinds.calls or around.type in kinds.macros) and _is_text_argument(around, child, node):
            return True
        child = around
    return False


def _is_text_argument(call: tree_sitter.Node, child: tree_sitter.Node, node: tree_sitter.Node) -> bool:
    """Return whether a call uses an argument as text for people; ``node`` is in its ``child``."""
    kinds = node_kinds()
    if child.type not in kinds.argument_lists | kinds.macro_arguments:
        return False
    name = callee_of(call) if call.type in kinds.calls else text(call.named_children[0])
    whole = call.child_by_field_name("function") or call
    receiver = re.split(r"\.\w+$", text(whole).partition("(")[0])[0]
    if is_log_call(receiver, name) or is_message_call(receiver, name) or name.endswith(("Error", "Exception")):
        return True
    is_test = name in _table().log.titles  # its first argument is the title
    return is_test and bool(child.named_children) and _contains(child.named_children[0], node)


def is_compile_time(node: tree_sitter.Node) -> bool:
    """Return whether a node is in the condition of a preprocessor directive."""
    child = node
    for around in upwards(node.parent):
        if "preproc" in around.type and child == around.child_by_field_name("condition"):
            return True
        child = around
    return False


def is_symmetric_pair(one: tree_sitter.Node, other: tree_sitter.Node, grammar: str) -> bool:
    """Return whether two nodes are operands of an equality, or of a call, whose order does not matter.

    Operands of a call are the receiver and the arguments.
    """
    kinds = node_kinds()
    for around in upwards(one.parent):
        # The innermost node around both decides; an outer call has both in one argument.
        if not _contains(around, other):
            continue
        if (
            operator_of(around) in _SYMMETRIC
            or _in_commutative_chain(around, one, other)
            or _in_looped_collection(around, one, other)
        ):
            return True
        for call in (around, *upwards(around.parent)):
            # Calls around a statement do not take the operands of an expression in it.
            if _STATEMENTS.search(call.type):
                return False
            if call.type in kinds.calls and is_symmetric_call(callee_of(call), grammar):
                return True
            if call.type in kinds.macros and is_symmetric_call(text(call.named_children[0]), grammar):
                return True
        return False
    return False


def _in_commutative_chain(around: tree_sitter.Node, one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are operands of one chain of a commutative operator."""
    sign = operator_of(around)
    # `"a" + "b"` is another text than `"b" + "a"`.
    if sign not in _COMMUTATIVE or (sign == "+" and "string" in f"{one.type} {other.type}"):
        return False
    for node in (one, other):
        for held in upwards(node.parent):
            if held == around:
                break
            if held.type not in node_kinds().parentheses and operator_of(held) != sign:
                return False
    return True


def _in_looped_collection(around: tree_sitter.Node, one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are entries of a collection that is iterated or matched."""
    kinds = node_kinds()
    if around.type not in kinds.collections | kinds.tuples | kinds.expression_lists or around.parent is None:
        return False
    head = around.parent
    looped = bool(_LOOPED.search(head.type)) or (
        re.search(r"\.\s*(forEach|each|iter|into_iter)\b", text(head)[len(text(around)) :][:20]) is not None
    )
    return looped and all(node.parent == around for node in (one, other))


def is_argument_pair(one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are arguments of one call."""
    lists = [_argument_list(node) for node in (one, other)]
    return lists[0] is not None and lists[0] == lists[1]


def _argument_list(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the argument list of a node."""
    held, kinds = node.parent, node_kinds()
    if held is not None and held.type in kinds.arguments:
        held = held.parent
    return held if held is not None and held.type in kinds.argument_lists else None


def _contains(around: tree_sitter.Node, node: tree_sitter.Node) -> bool:
    return around.start_byte <= node.start_byte and node.end_byte <= around.end_byte


_LOGIC: Final = re.compile(r"\s(?:&&|\|\||and|or)\s")
_COMPARISONS: Final = re.compile(r"\s(?:===|!==|==|!=|<=|>=|<|>|is)\s")
# Text before the start of an operand, outside of brackets.
_BEFORE: Final = re.compile(r"(?:^|\s)(?:if|elif|while|until|return|unless|when|assert|=|:=|=>|\?|:)\s|!(?!=)|[,;{]\s")
_ASSERTED: Final = re.compile(r"assert|expect|require|should|must|verify|check|equal", re.IGNORECASE)
_TEST_PATH: Final = re.compile(r"(^|[/._-])(tests?|specs?|__tests__|testing)([/._-]|$)|Tests?\.\w+$", re.IGNORECASE)
# Assertions stand below what they check, in most tests within a few lines.
_NEAR: Final = 4
_COPIED: Final = 3
_EMPTY_TEST: Final = re.compile(
    r"(?:len\(([\w.]+)\)|([\w.]+)\.(?:length|size|Count|len|count)\b(?:\(\))?)\s*(?:>=?|<=?)\s*[012]\b"
)
# Label of a switch, key or field at the start of a line.
_LABEL: Final = re.compile(r"\s*(case\s.+?|[\"']?[\w.$-]+[\"']?)\s*(?::(?![:=])|=>)")
_TYPE_TEST: Final = re.compile(
    r"\$Expect(?:Type|Error)|\bexpect(?:Type|Error|Assignable|NotAssignable)\b|\bassert_type\("
)
# End of a text that is followed by an initial capacity.
_ROOM: Final = re.compile(
    r"(?:\bmake\(\[\][^,()]*,[^,()]*,|\bmake\((?:map|chan)\b[^,()]*,|[wW]ith_?[cC]apacity\(|\breserve\("
    r"|\bensureCapacity\(|\b(?:StringBuilder|ArrayList<\w*>|HashMap<[\w, ]*>)\()\s*(?:len\(|[\w.]*)$"
)


def count_repeated_operands(line: str) -> int:
    """Return the number of operators in a line with the same operand on both sides."""
    count = 0
    # `a == b && b` repeats `b` for the eye, but not as operands of one operator.
    for operators, others in ((_LOGIC, None), (_COMPARISONS, _LOGIC)):
        for piece in others.split(line) if others else [line]:
            sides = operators.split(piece)
            for left, right in pairwise(sides):
                operand = _last_operand(left)
                rest = right.strip().removeprefix(operand)
                same = (
                    bool(operand)
                    and right.strip().startswith(operand)
                    and not re.match(r"[\w.(\[]|->|::|\s*[-+*/%]", rest)
                )
                count += same and bool(re.match(r"!?[A-Za-z_$(]", operand))
    return count


def _last_operand(text: str) -> str:
    """Return the end of a text after the last open bracket, keyword or assignment."""
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        depth += (text[position] in ")]") - (text[position] in "([")
        if depth < 0:
            text = text[position + 1 :]
            break
    return re.sub(r"^(?:if|elif|while|until|return|unless|when|assert)\s", "", _BEFORE.split(f" {text}")[-1].strip())


def is_reordering(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether lines are the same in another order, ignoring white space and separators."""
    return list(before) != list(after) and sorted(map(_normalize, before)) == sorted(map(_normalize, after))


def count_copied_lines(lines: Sequence[str], positions: Iterable[int]) -> int:
    """Return the number of lines at ``positions`` that equal one of the three lines above or below."""
    count = 0
    for position in positions:
        line = _normalize(lines[position])
        around = [*lines[max(0, position - _COPIED) : position], *lines[position + 1 : position + 1 + _COPIED]]
        count += bool(re.search(r"\w", line)) and line in map(_normalize, around)
    return count


# A dozen of 655 edits that were compiled repeated a case, a field or a key.
def repeats_label(lines: Sequence[str], position: int, after: str) -> bool:
    """Return whether an edited line gets the label, key or field of another line of the same block."""
    label = _LABEL.match(after)
    before = _LABEL.match(lines[position])
    if label is None or (before is not None and before[1] == label[1]):
        return False
    depth = _indentation(after)
    for step in (-1, 1):
        row = position + step
        # Labels of inner blocks are deeper, and those of the block around end the search.
        while 0 <= row < len(lines) and (not lines[row].strip() or _indentation(lines[row]) >= depth):
            other = _LABEL.match(lines[row])
            if other is not None and other[1] == label[1] and _indentation(lines[row]) == depth:
                return True
            row += step
    return False


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def is_unobservable(line: str, start: int, old_text: str) -> bool:
    """Return whether the edit of ``old_text``, which begins at ``start``, has no observable effect.

    It changes an initial capacity, or a value of which only the type is tested.
    """
    return bool(_ROOM.search(line[:start])) or (
        _TYPE_TEST.search(line) is not None and re.match(r"[A-Za-z_$]", old_text) is None
    )


def are_asserted_together(lines: Sequence[str], position: int, one: str, other: str) -> bool:
    """Return whether an assertion near a line contains both names."""
    words = [re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)") for name in (one, other)]
    # Two variables that an assertion expects to be equal may be exchanged without a change of the result.
    near = range(max(0, position - _NEAR), min(len(lines), position + _NEAR + 1))
    return any(
        row != position and _ASSERTED.search(lines[row]) and all(word.search(lines[row]) for word in words)
        for row in near
    )


def is_empty_loop_test(lines: Sequence[str], position: int) -> bool:
    """Return whether a line tests the length of the next loop's collection, which has no effect."""
    match = _EMPTY_TEST.search(lines[position])
    if match is None:
        return False
    # A loop over an empty collection does nothing, so that a test for emptiness before it has no effect to be wrong
    # about.
    name = re.escape(match[1] or match[2])
    loop = re.compile(rf"\bfor\b.*(?<![\w.]){name}(?![\w.(])|\b{name}\.(?:forEach|each|map|iter)\b")
    return any(loop.search(line) for line in lines[position + 1 : position + _NEAR])


def is_test_code(path: str, function: str) -> bool:
    """Return whether code is a test, by its path or the first line of its function."""
    return bool(
        _TEST_PATH.search(path)
        or re.search(r"\b(test|spec)_|\bTest[A-Z_]|@Test|#\[test\]", function.partition("\n")[0])
    )


def is_asserted(literal: str, function: str, own: str) -> bool:
    """Return whether a test's assertion depends on a literal; ``own`` is the edited line.

    The literal is in an assertion itself (``own`` is the edited line), or also in an assertion of the function, which
    may begin up to two lines before.
    """
    if _ASSERTED.search(own):
        return True
    word = re.compile(rf"(?<![\w.]){re.escape(literal)}(?![\w.])")
    lines = function.split("\n")
    return any(
        line != own and word.search(line) and any(map(_ASSERTED.search, lines[max(0, row - 2) : row + 1]))
        for row, line in enumerate(lines)
    )


def _normalize(line: str) -> str:
    return collapse_whitespace(line).rstrip(",; ")
