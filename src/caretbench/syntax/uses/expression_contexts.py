"""Contexts of expressions: short texts that describe the position of an expression.

Expressions in the same context (``arg:open:0:2``, the first of two arguments of ``open``) need the same kind of value.
Contexts are derived from the shape of the tree, in the same way for all grammars.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import tree_sitter

from caretbench.syntax.parser import text_of
from caretbench.syntax.uses.value_kinds import kind_of_value, plain_type

MEMBER_NAME_FIELDS: Final = {
    "attribute": "attribute", "selector_expression": "field", "field_access": "field", "method_invocation": "name",
    "member_access_expression": "name", "member_expression": "property", "field_expression": "field", "call": "method",
    "scoped_identifier": "name", "qualified_identifier": "name", "scope_resolution": "name",
    "member_binding_expression": "name", "method_reference": "", "generic_function": "function",
    "conditional_access_expression": "", "template_function": "name",
}  # fmt: skip
"""Nodes of member accesses, and the field of the member's name in each."""
RECEIVER_FIELDS: Final = (
    "object", "operand", "expression", "argument", "value", "receiver", "path", "scope", "condition",
)  # fmt: skip
CALL_NODES: Final = frozenset({
    "call", "call_expression", "method_invocation", "invocation_expression", "object_creation_expression",
    "new_expression",
})  # fmt: skip
OBJECT_CREATION_NODES: Final = frozenset({"object_creation_expression", "new_expression"})
ARGUMENT_LIST_NODES: Final = frozenset({"argument_list", "arguments"})
FUNCTION_NODES: Final = frozenset({
    "function_definition", "function_declaration", "method_declaration", "constructor_declaration", "method_definition",
    "arrow_function", "function_expression", "func_literal", "lambda", "lambda_expression", "local_function_statement",
    "function_item", "closure_expression", "method", "singleton_method", "generator_function_declaration",
    "generator_function", "accessor_declaration", "compact_constructor_declaration",
})  # fmt: skip
HANDLER_NODES: Final = frozenset({"catch_clause", "except_clause", "except_group_clause", "rescue"})
CLASS_NODES: Final = frozenset({
    "class_definition", "class_declaration", "class", "class_specifier", "struct_specifier", "struct_declaration",
    "record_declaration", "enum_declaration", "interface_declaration", "impl_item", "module",
    "abstract_class_declaration",
})  # fmt: skip
_CALLEES: Final = ("function", "constructor", "name", "method", "type")
_CLEAR: Final = frozenset({"parenthesized_expression", "non_null_expression", "parenthesized_statements"})
_BRANCHES: Final = frozenset({"ternary_expression", "conditional_expression", "conditional"})
_BOOLEAN: Final = frozenset({"&&", "||", "and", "or"})
_COMPARING: Final = frozenset({"==", "!=", "<", ">", "<=", ">=", "===", "!==", "is", "is not", "in", "not in"})
_BINARY: Final = frozenset({
    "binary_expression", "binary_operator", "boolean_operator", "comparison_operator", "binary",
})  # fmt: skip
_ASSIGNMENTS: Final = frozenset({
    "assignment", "assignment_expression", "assignment_statement", "augmented_assignment", "operator_assignment",
    "augmented_assignment_expression", "compound_assignment_expr",
})  # fmt: skip
_DECLARATORS: Final = frozenset({
    "variable_declarator", "init_declarator", "let_declaration", "var_spec", "const_spec", "short_var_declaration",
})  # fmt: skip
_RETURNS: Final = frozenset({"return_statement", "return_expression", "return"})
_STATEMENTS: Final = frozenset({"expression_statement", "go_statement", "defer_statement"})
_SUBSCRIPTS: Final = frozenset({
    "subscript", "index_expression", "array_access", "subscript_expression", "element_access_expression",
    "element_reference",
})  # fmt: skip
_KEYED: Final = {
    "keyword_argument": "name", "pair": "key", "keyed_element": "key", "field_initializer": "field",
}  # fmt: skip
_CONDITIONS: Final = frozenset({
    "if_statement", "while_statement", "do_statement", "for_statement", "if_expression", "while_expression", "if",
    "unless", "while", "until", "if_modifier", "unless_modifier", "elif_clause", "condition_clause", "elsif",
    "assert_statement",
})  # fmt: skip
_LISTS: Final = frozenset({
    "list", "array", "tuple", "array_initializer", "initializer_list", "array_expression", "initializer_expression",
    "set", "literal_value", "literal_element",
})  # fmt: skip
# Use of the value by the kind of the parent node, if that alone decides it.
_BOUND: Final = {
    **dict.fromkeys(
        (*_STATEMENTS, "block", "body_statement", "statement_list", "statement_block"), "stmt"
    ),
    **dict.fromkeys(("throw_statement", "raise_statement", "throw_expression"), "thrown"),
    **dict.fromkeys(
        ("for_statement", "enhanced_for_statement", "for_in_statement", "foreach_statement", "range_clause",
         "for_in_clause", "for_range_loop", "for_expression"), "iterated",
    ),
}  # fmt: skip
_LONGEST: Final = 80


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
    while (parent := expression.parent) is not None:
        member = MEMBER_NAME_FIELDS.get(parent.type)
        if call is None and member and _is(parent.child_by_field_name(member), expression):
            expression = parent
            if parent.type in CALL_NODES and arguments_of(parent) is not None:
                call = parent
        elif (
            parent.type in CALL_NODES
            and call is None
            and any(_is(parent.child_by_field_name(field), expression) for field in _CALLEES)
        ):
            expression = call = parent
        else:
            break
    return ExpressionUse(expression, call, expression_context(expression))


def arguments_of(call: tree_sitter.Node) -> list[tree_sitter.Node] | None:
    """Return the arguments of a call; None if it has no argument list."""
    held = call.child_by_field_name("arguments")
    if held is None:
        held = next((child for child in call.named_children if child.type in ARGUMENT_LIST_NODES), None)
    if held is None:
        return None
    return [child for child in held.named_children if "comment" not in child.type]


def callee_of(call: tree_sitter.Node) -> str:
    """Return the last part of the called name."""
    for field in _CALLEES:
        found = call.child_by_field_name(field)
        if found is not None:
            words = re.findall(r"[\w$]+[!?]?", re.sub(r"<[^<>]*>|\([^()]*\)", "", text_of(found)))
            return words[-1] if words else ""
    return ""


# Long: one case for each kind of node around an expression, in the order of precedence.
def expression_context(node: tree_sitter.Node) -> str:
    """Return the context of an expression; ``other`` if it is unknown."""
    parent = node.parent
    if parent is None:
        return "other"
    kind = parent.type
    if kind in _CLEAR:
        return expression_context(parent)
    if kind in ("await_expression", "await", "try_expression"):
        return f"{kind} {expression_context(parent)}"
    if kind == "argument" and parent.parent is not None:
        named = parent.child_by_field_name("name")
        if named is not None:
            return f"value:{text_of(named)}" if not _is(named, node) else "other"
        node, parent = parent, parent.parent
        kind = parent.type
    if kind in ARGUMENT_LIST_NODES and parent.parent is not None:
        if parent.parent.type in _RETURNS:
            return f"return:{_function(node)}"
        return _argument(node, parent)
    if kind in _KEYED:
        key = parent.child_by_field_name(_KEYED[kind])
        holder = parent.parent.parent if parent.parent is not None else None
        inside = callee_of(holder) if holder is not None else ""
        return f"value:{inside}:{text_of(key)}" if key is not None and not _is(key, node) else "other:key"
    if kind in _SUBSCRIPTS or kind in ("bracketed_argument_list", "subscript_argument_list"):
        holder = parent if kind in _SUBSCRIPTS else parent.parent
        first = holder.named_children[0] if holder is not None and holder.named_children else None
        if _is(first, node):
            return "indexed"
        return f"index:{_short(first)}"
    if kind in _BINARY:
        return _operand(node, parent)
    if kind in ("unary_expression", "not_operator", "unary", "unary_operator", "prefix_unary_expression"):
        sign = text_of(parent)[:1]
        return "cond" if sign in "!n" else f"unary{sign} {expression_context(parent)}"
    if kind in ("pointer_expression", "reference_expression"):
        return f"unary{text_of(parent)[:1]} {expression_context(parent)}"
    if kind in _BRANCHES:
        held = parent.child_by_field_name("condition")
        is_condition = _is(held, node) if held is not None else _is(parent.named_children[1], node)
        return "cond" if is_condition else expression_context(parent)
    if kind in _CONDITIONS:
        held = parent.child_by_field_name("condition") or parent.child_by_field_name("value")
        if _is(held, node) or kind == "assert_statement":
            return "cond"
    if kind in MEMBER_NAME_FIELDS or kind == "nested_identifier":
        return _object(parent)
    if kind in ("expression_list", "right_assignment_list") and parent.parent is not None:
        index = _index(parent, node)
        return (
            f"{_bound(parent, parent.parent)}#{index}"
            if len(parent.named_children) > 1
            else _bound(parent, parent.parent)
        )
    return _bound(node, parent)


def _declared(node: tree_sitter.Node, parent: tree_sitter.Node) -> str:
    named = parent.child_by_field_name("name") or parent.child_by_field_name("pattern")
    if _is(named, node):
        return "target"
    around = parent.parent
    written = parent.child_by_field_name("type") or (around.child_by_field_name("type") if around is not None else None)
    type_name = plain_type(text_of(written)) if written is not None else ""
    return f"init:{type_name}" if type_name else f"init of {_short(named)}:{parent.start_byte}"


def _bound(node: tree_sitter.Node, parent: tree_sitter.Node) -> str:
    kind = parent.type
    if kind in _ASSIGNMENTS:
        left = parent.child_by_field_name("left")
        return "target" if _is(left, node) else f"assign:{_function(node)}:{_short(left)}"
    if kind in _DECLARATORS:
        return _declared(node, parent)
    if kind in _RETURNS:
        return f"return:{_function(node)}"
    if kind in _BOUND:
        return _BOUND[kind]
    if kind == "arrow_function":
        return f"return:{parent.start_byte}"
    if kind in _LISTS:
        holder = parent.parent if kind == "literal_element" else parent
        return f"element:{holder.start_byte if holder is not None else 0}"
    if "spread" in kind or "splat" in kind:
        return "spread"
    return f"other:{kind}"


def _argument(node: tree_sitter.Node, parent: tree_sitter.Node) -> str:
    call = parent.parent
    given = [child for child in parent.named_children if "comment" not in child.type]
    index = next((number for number, one in enumerate(given) if one.id == node.id), 0)
    chain = ""
    after = call.parent if call is not None else None
    if (
        after is not None
        and after.type in MEMBER_NAME_FIELDS
        and call is not None
        and not _is(after.named_children[-1], call)
    ):
        chain = f".{_member_name(after)}"
    return f"arg:{callee_of(call) if call is not None else ''}:{index}:{len(given)}{chain}"


def _operand(node: tree_sitter.Node, parent: tree_sitter.Node) -> str:
    sign = operator_of(parent)
    if sign in _BOOLEAN:
        return "cond"
    others = [child for child in parent.named_children if child.id != node.id]
    other = others[0] if others else None
    against = (kind_of_value(other) if other is not None else "") or "name"
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
    if parent.type in CALL_NODES:
        given = arguments_of(parent)
        return f"object:{name}/{len(given)}" if given is not None else f"object:{name}"
    if around is not None and around.type in CALL_NODES and _is(around.child_by_field_name("function"), parent):
        return f"object:{name}/{len(arguments_of(around) or ())}"
    return f"object:{name}"


def _member_name(node: tree_sitter.Node) -> str:
    field = MEMBER_NAME_FIELDS.get(node.type)
    found = node.child_by_field_name(field) if field else None
    return text_of(found if found is not None else node.named_children[-1])[:_LONGEST]


def _function(node: tree_sitter.Node) -> int:
    """Return the first byte of the innermost function around a node."""
    around = node.parent
    while around is not None:
        if around.type in FUNCTION_NODES:
            return around.start_byte
        around = around.parent
    return 0


def _index(parent: tree_sitter.Node, node: tree_sitter.Node) -> int:
    return next((number for number, one in enumerate(parent.named_children) if one.id == node.id), 0)


def _is(one: tree_sitter.Node | None, other: tree_sitter.Node) -> bool:
    return one is not None and one.id == other.id


def _short(node: tree_sitter.Node | None) -> str:
    return re.sub(r"\s+", " ", text_of(node))[:_LONGEST] if node is not None else ""
