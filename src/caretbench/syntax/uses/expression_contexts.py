"""Contexts of expressions: short texts that describe the position of an expression.

Expressions in the same context (``arg:open:0:2``, the first of two arguments of ``open``) need the same kind of value.
Contexts are derived from the shape of the tree, in the same way for all grammars.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import tree_sitter

from caretbench.languages import language_of_grammar
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import text_of, upwards

_COMPARISONS: Final = frozenset({"==", "!=", "<", ">", "<=", ">=", "===", "!==", "&&", "||", "not", "!", "in"})
_INFERRED: Final = re.compile(r"(?:const\s+|final\s+)?(?:var|auto|decltype\(auto\)|any|unknown|_|dynamic)\s*[&*]*")


def kind_of_value(node: tree_sitter.Node) -> str:
    """Return ``int``, ``string``, ``null``, ``list`` … for a literal, ``name`` for a name, else the empty text."""
    kinds = node_kinds()
    kind = kinds.literal_kinds.get(node.type)
    if kind is not None:
        return kind
    if node.type in kinds.names:
        return "name"
    if node.type in kinds.unary and node.named_children:
        sign = (node.text or b"")[:1]
        inner = kind_of_value(node.named_children[-1])
        return inner if sign in b"-+" and inner in ("int", "float", "number") else ""
    return ""


def is_function(node: tree_sitter.Node) -> bool:
    """Return whether a value is an anonymous function."""
    return node.type in node_kinds().anonymous_functions


def plain_type(text: str) -> str:
    """Return a declared type as ``type:NAME``; empty if it is absent or inferred (``var``, ``auto``)."""
    bare = re.sub(r"\s+", " ", text.strip().removeprefix(":").removeprefix("->").strip())
    if _INFERRED.fullmatch(bare):
        return ""
    return f"type:{bare}" if bare else ""


def _child(node: tree_sitter.Node, *fields: str) -> tree_sitter.Node | None:
    """Return the child in the first of these fields that is present."""
    return next((child for field in fields if (child := node.child_by_field_name(field)) is not None), None)


def _kind_of_literal(literal: str, grammar: str) -> str:
    type_name = language_of_grammar(grammar).literal_types.get(literal)
    return f"type:{type_name}" if type_name else f"literal:{literal}"


def inferred_kind(node: tree_sitter.Node, grammar: str) -> str:
    """Return the kind of a variable by its initial value: a type, a literal or a call; empty if unknown."""
    kinds = node_kinds()
    wrappers = kinds.parentheses | kinds.awaits
    while node.type in wrappers and len(node.named_children) == 1 and not _operator(node):
        node = node.named_children[0]
    literal = kind_of_value(node)
    if literal and literal not in ("name", "null"):
        return _kind_of_literal(literal, grammar)
    if node.type in kinds.creations:
        made = _child(node, "type", "constructor", "name")
        return f"type:{text_of(made)}" if made is not None else ""
    if node.type in kinds.calls | kinds.macros:
        callee = _child(node, "function", "name", "method")
        receiver = _child(node, "object", "receiver")
        if callee is None:
            return ""
        before = f"{text_of(receiver)}." if receiver is not None else ""
        # A chain of calls may be as long as a file; its end is what tells values apart.
        return "call:" + re.sub(r"\s+", "", before + text_of(callee))[-120:]
    if _operator(node) in _COMPARISONS:
        return _kind_of_literal("bool", grammar)
    return ""


def _operator(node: tree_sitter.Node) -> str:
    operator = node.child_by_field_name("operator") or node.child_by_field_name("operators")
    if operator is not None:
        return operator.type
    return "not" if node.type in node_kinds().not_operators else ""


RECEIVER_FIELDS: Final = (
    "object", "operand", "expression", "argument", "value", "receiver", "path", "scope", "condition",
)  # fmt: skip
_CALLEES: Final = ("function", "constructor", "name", "method", "type")
_BOOLEAN: Final = frozenset({"&&", "||", "and", "or"})
_COMPARING: Final = frozenset({"==", "!=", "<", ">", "<=", ">=", "===", "!==", "is", "is not", "in", "not in"})
_MAX_TEXT: Final = 80


class ExpressionUse(NamedTuple):
    """Expression that ends in a name (``a.b`` and ``a.b(c)`` for ``b``), its call if any, and its context."""

    expression: tree_sitter.Node
    call: tree_sitter.Node | None
    expression_context: str

    @property
    def is_specific(self) -> bool:
        """Return whether the context is specific enough that expressions in it can be exchanged."""
        return not self.expression_context.startswith(("other", "target", "iterated", "spread"))


def expression_use(node: tree_sitter.Node) -> ExpressionUse:
    """Return the expression that ends in a name, with its context."""
    call: tree_sitter.Node | None = None
    expression = node
    kinds = node_kinds()
    while (parent := expression.parent) is not None:
        member = kinds.member_fields.get(parent.type)
        if call is None and member and parent.child_by_field_name(member) == expression:
            expression = parent
            if parent.type in kinds.calls and arguments_of(parent) is not None:
                call = parent
        elif (
            parent.type in kinds.calls
            and call is None
            and any(parent.child_by_field_name(field) == expression for field in _CALLEES)
        ):
            expression = call = parent
        else:
            break
    return ExpressionUse(expression, call, expression_context(expression))


def arguments_of(call: tree_sitter.Node) -> list[tree_sitter.Node] | None:
    """Return the arguments of a call; None if it has no argument list."""
    kinds = node_kinds().argument_lists
    held = _child(call, "arguments") or next((child for child in call.named_children if child.type in kinds), None)
    return None if held is None else [child for child in held.named_children if "comment" not in child.type]


def callee_of(call: tree_sitter.Node) -> str:
    """Return the last part of the called name."""
    callee = _child(call, *_CALLEES)
    name = text_of(callee) if callee is not None else ""
    words = re.findall(r"[\w$]+[!?]?", re.sub(r"<[^<>]*>|\([^()]*\)", "", name))
    return words[-1] if words else ""


# Long: one case for each kind of node around an expression, in the order of precedence.
def expression_context(node: tree_sitter.Node) -> str:
    """Return the context of an expression; ``other`` if it is unknown."""
    parent = node.parent
    if parent is None:
        return "other"
    kind, kinds = parent.type, node_kinds()
    # `(a)` and `a!` are the value itself: what is around them decides.
    if kind in kinds.parentheses or kind in kinds.non_null:
        return expression_context(parent)
    if kind in kinds.awaits or kind in kinds.propagations:
        return f"{kind} {expression_context(parent)}"
    if kind in kinds.arguments and parent.parent is not None:
        named = parent.child_by_field_name("name")
        if named is not None:
            return f"value:{text_of(named)}" if named != node else "other"
        node, parent = parent, parent.parent
        kind = parent.type
    if kind in kinds.argument_lists and parent.parent is not None:
        if parent.parent.type in kinds.returns:
            return f"return:{_function(node)}"
        return _argument(node, parent, parent.parent)
    if kind in kinds.keyed:
        key = parent.child_by_field_name(kinds.keyed[kind])
        holder = parent.parent.parent if parent.parent is not None else None
        inside = callee_of(holder) if holder is not None else ""
        return f"value:{inside}:{text_of(key)}" if key is not None and key != node else "other:key"
    if kind in kinds.subscripts or kind in kinds.index_lists:
        holder = parent if kind in kinds.subscripts else parent.parent
        first = holder.named_children[0] if holder is not None and holder.named_children else None
        if first == node:
            return "indexed"
        return f"index:{_short(first)}"
    if kind in kinds.binary:
        return _operand(node, parent)
    if kind in kinds.negations:
        sign = text_of(parent)[:1]
        return "cond" if sign in "!n" else f"unary{sign} {expression_context(parent)}"
    if kind in kinds.references:
        return f"unary{text_of(parent)[:1]} {expression_context(parent)}"
    if kind in kinds.conditional_expressions:
        held = parent.child_by_field_name("condition")
        is_condition = held == node if held is not None else parent.named_children[1] == node
        return "cond" if is_condition else expression_context(parent)
    if kind in kinds.conditioned:
        held = parent.child_by_field_name("condition") or parent.child_by_field_name("value")
        if held == node or kind in kinds.assertions:
            return "cond"
    if kind in kinds.member_fields or kind in kinds.nested_names:
        return _object(parent)
    if kind in kinds.expression_lists and parent.parent is not None:
        mark = f"#{_index(parent.named_children, node)}" if len(parent.named_children) > 1 else ""
        return _bound(parent, parent.parent) + mark
    return _bound(node, parent)


def _declared(node: tree_sitter.Node, parent: tree_sitter.Node) -> str:
    named = parent.child_by_field_name("name") or parent.child_by_field_name("pattern")
    if named == node:
        return "target"
    around = parent.parent
    written = parent.child_by_field_name("type") or (around.child_by_field_name("type") if around is not None else None)
    type_name = plain_type(text_of(written)) if written is not None else ""
    return f"init:{type_name}" if type_name else f"init of {_short(named)}:{parent.start_byte}"


def _bound(node: tree_sitter.Node, parent: tree_sitter.Node) -> str:
    kind, kinds = parent.type, node_kinds()
    if kind in kinds.assignments:
        left = parent.child_by_field_name("left")
        return "target" if left == node else f"assign:{_function(node)}:{_short(left)}"
    if kind in kinds.initialisers:
        return _declared(node, parent)
    if kind in kinds.returns:
        return f"return:{_function(node)}"
    if kind in kinds.discarding:
        return "stmt"
    if kind in kinds.throws:
        return "thrown"
    if kind in kinds.iterations:
        return "iterated"
    if kind in kinds.expression_functions:
        return f"return:{parent.start_byte}"
    if kind in kinds.collections or kind in kinds.literal_elements:
        holder = parent if kind in kinds.collections else parent.parent
        return f"element:{holder.start_byte if holder is not None else 0}"
    if "spread" in kind or "splat" in kind:
        return "spread"
    return f"other:{kind}"


def _argument(node: tree_sitter.Node, held: tree_sitter.Node, call: tree_sitter.Node) -> str:
    arguments = [child for child in held.named_children if "comment" not in child.type]
    chain = ""
    after = call.parent
    if after is not None and after.type in node_kinds().member_fields and after.named_children[-1] != call:
        chain = f".{_member_name(after)}"
    return f"arg:{callee_of(call)}:{_index(arguments, node)}:{len(arguments)}{chain}"


def _operand(node: tree_sitter.Node, parent: tree_sitter.Node) -> str:
    sign = operator_of(parent)
    if sign in _BOOLEAN:
        return "cond"
    others = [child for child in parent.named_children if child.id != node.id]
    other = others[0] if others else None
    against = (kind_of_value(other) if other is not None else "") or "name"
    # A name means another value in another function.
    against = f"{_short(other)}@{_function(node)}" if against == "name" else against
    if sign in _COMPARING:
        ordered = "<" if sign[0] in "<>" else "in" if sign.endswith("in") else "="
        return f"cmp{ordered}:{against}"
    return f"arith{sign}:{against}"


def operator_of(node: tree_sitter.Node) -> str:
    """Return the operator of a binary expression; empty if it has several operators."""
    field = node.child_by_field_name("operator")
    if field is not None:
        return field.type
    signs = node.children_by_field_name("operators")
    return signs[0].type if len(signs) == 1 else ""


def _object(parent: tree_sitter.Node) -> str:
    around = parent.parent
    name = _member_name(parent)
    calls = node_kinds().calls
    if parent.type in calls:
        given = arguments_of(parent)
        return f"object:{name}/{len(given)}" if given is not None else f"object:{name}"
    if around is not None and around.type in calls and around.child_by_field_name("function") == parent:
        return f"object:{name}/{len(arguments_of(around) or ())}"
    return f"object:{name}"


def _member_name(node: tree_sitter.Node) -> str:
    field = node_kinds().member_fields.get(node.type)
    member = node.child_by_field_name(field) if field else None
    return text_of(member if member is not None else node.named_children[-1])[:_MAX_TEXT]


def _function(node: tree_sitter.Node) -> int:
    """Return the first byte of the innermost function around a node."""
    functions = node_kinds().functions
    return next((around.start_byte for around in upwards(node.parent) if around.type in functions), 0)


def _index(nodes: Sequence[tree_sitter.Node], node: tree_sitter.Node) -> int:
    return nodes.index(node) if node in nodes else 0


def _short(node: tree_sitter.Node | None) -> str:
    return re.sub(r"\s+", " ", text_of(node))[:_MAX_TEXT] if node is not None else ""
