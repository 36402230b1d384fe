"""Numbers that rules bound, measured on the program of an instance.

Examples of a pattern are parts of the prefix with the shape of the part that the reference completes. They are in the
same block or list, or at the same index of the siblings of its parent. The shape of a part is the bag of its pairs of
neighbouring node kinds (parent and child) in the syntax tree, so that names, literals and the order of statements do
not matter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.text_overlap import bag_overlap
from caretbench.suites.devbench.build.cell_languages import cell_languages
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView, filled_lines
from caretbench.syntax.documentation import documentation_of, documented_declarations
from caretbench.syntax.parser import encode, matches, text_of, upwards

# A comparison of whole prefixes had 20 of 30 judgements right by hand, this one has 25.
SIMILAR_SHAPES: Final = 0.55
"""Smallest overlap (F1 of the bags) of an example with the pattern."""
_SMALLEST: Final = 4
"""Smallest number of pairs of a pattern: smaller ones are in every program."""
# Each part is compared with all of its siblings, so that the cost grows with the square of a long reference.
_MAX_PARTS: Final = 60
"""Number of parts of a reference that are compared; a reference of 30 lines has fewer."""

Shape = Counter[str]


def pattern_example_count(view: ProgramView) -> int:
    """Return the number of complete examples in the prefix of the pattern that the reference completes.

    The pattern is the outermost part around the reference that has two examples or more; without such a part, the
    largest number of any part counts.
    """
    best = 0
    shapes: dict[int, Shape] = {}
    for part in _parts(view)[:_MAX_PARTS]:
        count = _example_count(view, part, shapes)
        if count >= 2:  # one likeness is chance
            return count
        best = max(best, count)
    return best


def _parts(view: ProgramView) -> list[tree_sitter.Node]:
    """Return the parts around and in the reference, outermost first, without the whole program."""
    root = view.tree.root_node
    enclosing: list[tree_sitter.Node] = []
    node = root.named_descendant_for_byte_range(view.start, view.end)
    inner = [] if node is None else list(_inner(node, view))
    while node is not None and node.parent is not None:
        enclosing.insert(0, node)
        node = node.parent
    return enclosing + inner


def _inner(node: tree_sitter.Node, view: ProgramView) -> Iterator[tree_sitter.Node]:
    """Yield the outermost parts that begin in the reference, in a node that begins before it."""
    for child in node.named_children:
        if view.start <= child.start_byte < view.end:
            yield child
        elif child.start_byte < view.start < child.end_byte:
            yield from _inner(child, view)


def _example_count(view: ProgramView, part: tree_sitter.Node, shapes: dict[int, Shape]) -> int:
    """Return the number of parts beside a part, complete in the prefix, that have its shape; ``shapes`` is a cache."""
    shape = tree_shape(part)
    if shape.total() < _SMALLEST:
        return 0
    beside = [node for node in _siblings(part) if node.type == part.type and node.end_byte <= view.prefix_end]
    for node in beside:
        if node.id not in shapes:
            shapes[node.id] = tree_shape(node)
    # Lists of hundreds of equal entries are compared once for each shape.
    different = Counter(frozenset(shapes[node.id].items()) for node in beside)
    return sum(
        number
        for items, number in different.items()
        if bag_overlap(shape.elements(), Counter(dict(items)).elements()).f1 >= SIMILAR_SHAPES
    )


def _siblings(part: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield siblings, and the cousins at the same index."""
    parent = part.parent
    if parent is None:
        return
    yield from parent.named_children
    if parent.parent is not None:
        for other in parent.parent.named_children:
            if other.id != parent.id and other.type == parent.type:
                yield from other.named_children


def tree_shape(part: tree_sitter.Node) -> Shape:
    """Return the number of each pair of neighbouring node kinds (parent and child), comments apart."""
    shape: Shape = Counter()
    waiting = [part]
    while waiting:
        node = waiting.pop()
        children = [child for child in node.named_children if not child.type.endswith("comment")]
        shape.update(f"{node.type} {child.type}" for child in children)
        waiting += children
    return shape


_STATEMENT: Final = re.compile(r"_statement$|declaration$|_definition$|^statement$|^return$")
_BODIES: Final = re.compile(r"block|body|_list$|suite")
_FUNCTION: Final = re.compile(r"function|method|constructor|lambda|func_literal")
_MEMBERS: Final = frozenset({"function", "field", "constant", "typename"})


def _called_names(view: ProgramView) -> Iterator[str]:
    """Yield the names that the reference calls, and that of the call whose arguments it writes: the last parts."""
    callers = node_kinds().calls | node_kinds().callees
    yield from (_called_name(node) for node in view.nodes() if node.type in callers)
    # A caret behind `open(` completes a call that begins in the prefix, and the library is in its name.
    around = view.tree.root_node.descendant_for_byte_range(view.start, view.start)
    while around is not None:
        arguments = around.child_by_field_name("arguments") if around.type in callers else None
        if arguments is not None and around.start_byte < view.start and arguments.start_byte < view.start:
            yield _called_name(around)
            return
        if _STATEMENT.search(around.type) or "block" in around.type:
            return
        around = around.parent


def _called_name(node: tree_sitter.Node) -> str:
    kinds = node_kinds()
    # `Type::method` names a function without calling it.
    is_reference = node.type in kinds.callees and node.type not in kinds.creations
    callee = next(
        (child for name in ("function", "name", "constructor", "type") if (child := node.child_by_field_name(name))),
        node.named_children[-1] if is_reference and node.named_children else None,
    )
    words = re.findall(r"[\w$]+", re.sub(r"<[^<>]*>|\([^()]*\)", "", text_of(callee))) if callee is not None else []
    return words[-1] if words else "new"


def library_calls(view: ProgramView) -> int:
    """Return the number of calls in the reference of what the program does not define."""
    defined = {
        declared.name
        for declared in view.declarations
        if declared.role in {"function", "typename", "parameter"} or declared.parameters is not None
    }
    return sum(name not in defined for name in _called_names(view))


def reused_members(view: ProgramView) -> int:
    """Return the number of functions, fields, types, constants and global variables of the prefix in the reference."""
    end = view.tree.root_node.end_byte
    members = {
        before.name
        for before in view.declarations
        if before.start < view.prefix_end
        and (before.role in _MEMBERS or before.parameters is not None or (before.role == "local" and before.end >= end))
    }
    # Attributes that a constructor assigns need no declaration in Python, JavaScript and Ruby.
    members |= _member_names(view) | _declared_names(view)
    local = _local_names(view)
    used = {
        use.name
        for use in view.names
        if view.start <= use.start < view.end and ("member" in use.syntactic_position or use.name not in local)
    }
    inside = (declared for declared in view.declarations if view.start <= declared.start < view.end)
    return len(used & (members - {declared.name for declared in inside if declared.role in _MEMBERS}))


def _local_names(view: ProgramView) -> set[str]:
    """Return the names of local variables and parameters of the function around the reference, and behind it."""
    around = upwards(view.tree.root_node.descendant_for_byte_range(view.start, view.end))
    start = next((node.start_byte for node in around if _FUNCTION.search(node.type)), view.end)
    return {name.name for name in view.declarations if name.role in {"local", "parameter"} and name.start >= start}


def _member_names(view: ProgramView) -> set[str]:
    """Return the names of attributes that the prefix assigns or declares in a class."""
    before = (use for use in view.names if use.start < view.prefix_end)
    return {use.name for use in before if "member" in use.syntactic_position}


def _declared_names(view: ProgramView) -> set[str]:
    """Return the names of the functions and types that begin in the prefix."""
    declarations = matches(view.tree.root_node, view.language, "declarations")
    names = [match["name"][0] for match in declarations if match["declaration"][0].start_byte < view.prefix_end]
    return {text_of(name).rpartition("::")[2] for name in names}


def comment_lines(view: ProgramView, start: int, end: int) -> int:
    """Return the number of lines with comments or documentation between two positions."""
    lines: set[int] = set()
    data = encode(view.program)
    for comment in view.comments:
        low, high = max(comment.start, start), min(comment.end, end)
        if low < high:
            first = data.count(b"\n", 0, low)
            lines.update(range(first, first + data.count(b"\n", low, high) + 1))
    return len(lines)


def prefix_functions(view: ProgramView) -> int:
    """Return the number of functions and methods that begin in the prefix and end before the reference."""
    return sum(
        match["declaration"][0].end_byte <= view.prefix_end
        and any(word in match["declaration"][0].type for word in ("function", "method", "constructor"))
        for match in matches(view.tree.root_node, view.language, "declarations")
    )


def documented_name(view: ProgramView) -> str | None:
    """Return the name of the declaration that the reference documents; None if it documents none."""
    declarations = documented_declarations(view.program, view.language)
    return next((name for name, text in declarations if text.start < view.end and text.end > view.start), None)


def documentation_words(view: ProgramView) -> int:
    """Return the number of words of the documentation that the reference is; 0 if it documents nothing."""
    name = documented_name(view)
    documentation = documentation_of(view.program, view.language, name) if name else None
    return documentation.word_count if documentation else 0


def control_depth(view: ProgramView) -> int:
    """Return how deep control structures of the reference are nested: 1 for a loop, 2 for a branch in it.

    A structure that the prefix opens counts only if a part of it, such as a handler, begins in the reference.
    """
    table = cell_languages()[view.language]
    kinds = table.control | table.control_parts
    return max(
        (_depth(node, view, kinds, table.control_parts) for node in view.nodes() if node.type in kinds), default=0
    )


def _depth(node: tree_sitter.Node, view: ProgramView, kinds: frozenset[str], parts: frozenset[str]) -> int:
    depth, inner, current = 1, node, node.parent
    while current is not None:
        counts = current.type in kinds and inner.type not in parts
        # A chain of `else if` is nested in the tree and flat for a reader.
        is_else_if = (
            current.type == inner.type
            and current.type in node_kinds().branches
            and current.child_by_field_name("alternative") == inner
        )
        # A structure of the prefix counts if the reference continues it at its caret: it ends in or behind it.
        if counts and not is_else_if and (current.start_byte >= view.start or current.end_byte <= view.end + 1):
            depth += 1
        inner, current = current, current.parent
    return depth


def statement_lines(view: ProgramView) -> int:
    """Return the number of lines of the longest statement of the reference that has no block in it."""
    data = encode(view.program)
    first, last = (data.count(b"\n", 0, position) for position in (view.start, view.end))
    longest = 0
    for node in view.nodes():
        is_statement = _STATEMENT.search(node.type) or (node.parent is not None and _BODIES.search(node.parent.type))
        if is_statement and not _has_block(node):
            longest = max(longest, min(node.end_point.row, last) - node.start_point.row + 1)
    around = view.tree.root_node.named_descendant_for_byte_range(view.start, view.end)
    while around is not None and around.parent is not None and not _STATEMENT.search(around.type):
        around = around.parent
    if around is not None and around.parent is not None and not _has_block(around):
        longest = max(longest, last - first + 1)
    return longest


def _has_block(node: tree_sitter.Node) -> bool:
    lists = node_kinds().compound_statements
    waiting = list(node.named_children)
    while waiting:
        child = waiting.pop()
        if ("block" in child.type and "comment" not in child.type) or child.type in lists:
            return True
        waiting.extend(child.named_children)
    return False


def handlers(view: ProgramView) -> int:
    """Return the number of places in the reference that handle or raise errors, by the language's patterns."""
    text = view.code[view.start : view.end].decode("utf-8", "replace")
    return sum(len(re.findall(pattern, text)) for pattern in cell_languages()[view.language].handlers)


def features(view: ProgramView) -> int:
    """Return the number of complex features that begin in the reference, by the language's node kinds."""
    kinds = frozenset(cell_languages()[view.language].features)
    return sum(node.type in kinds for node in view.nodes())


def reference_tokens(view: ProgramView) -> int:
    """Return the number of tokens of the reference: leaves of the tree; of comments, their words."""
    count = 0
    for node in view.nodes():
        if node.type.endswith("comment"):
            count += len(re.findall(r"\w+", text_of(node)))
        # Leaves alone: inner nodes would count their text again. Missing tokens, which the parser adds, are empty.
        elif not node.child_count and node.end_byte > node.start_byte:
            count += len(re.findall(r"\w+|[^\w\s]+", text_of(node)))
    return count


RULE_MEASURES: Final[Mapping[str, Callable[[ProgramView], int]]] = {
    "shown_lines": lambda view: filled_lines(view.shown),
    "prefix_lines": lambda view: filled_lines(view.prefix),
    "reference_lines": lambda view: filled_lines(view.reference),
    "reference_tokens": reference_tokens,
    "pattern_examples": pattern_example_count,
    "library_calls": library_calls,
    "reused_members": reused_members,
    "prefix_comment_lines": lambda view: comment_lines(view, 0, view.prefix_end),
    "prefix_functions": prefix_functions,
    "reference_comment_lines": lambda view: comment_lines(view, view.start, view.end),
    "documentation_words": documentation_words,
    "control_depth": control_depth,
    "statement_lines": statement_lines,
    "handlers": handlers,
    "features": features,
}
"""Measures of the rules in ``cells/rules.toml``, by name."""
