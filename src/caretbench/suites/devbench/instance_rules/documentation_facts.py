"""Facts about a declaration that its documentation must describe, read from the code."""

from __future__ import annotations

import re
from typing import Final

import tree_sitter

from caretbench.metrics.text_overlap import content_words
from caretbench.suites.devbench.documentation import DocumentationCheck
from caretbench.suites.devbench.instance_rules.program_view import ProgramView
from caretbench.syntax.docs.documentation import documentation_of
from caretbench.syntax.parser import text_of
from caretbench.syntax.queries import matches

_RAISES: Final = frozenset({"raise_statement", "throw_statement", "throw_expression"})
_FUNCTION: Final = re.compile(r"function|method|constructor|declarator")
_NAME: Final = re.compile(r"(?:new\s+)?([A-Za-z_][\w.:]*)\s*[({<]?")
_INNER: Final = re.compile(
    r"^(?:function_definition|function_declaration|function_expression|method_declaration|"
    r"method_definition|lambda|lambda_expression|arrow_function|func_literal|"
    r"local_function_statement)$"
)
_TRIED: Final = frozenset({"try_statement", "try_with_resources_statement"})
_NOT_NAMED: Final = frozenset({"self", "cls", "this"})


def documentation_facts(view: ProgramView, name: str) -> DocumentationCheck:
    """Return the predicate that documentation of a declaration must satisfy.

    Its parameters must be described if the language's documentation names parameters in tags, its returned value if it
    returns one, and the errors that it raises itself; it has at least half of the words of the reference.
    """
    found = documentation_of(view.program, view.language, name)
    node = _declaration(view, name)
    words = found.word_count if found else 0
    if node is None or not _FUNCTION.search(node.type):
        return DocumentationCheck(documents=name, minimum_words=max(4, words // 2), mentions=_mentions(name))
    tagged = found is not None and bool(found.parameters or found.returns or found.throws)
    return DocumentationCheck(
        documents=name,
        minimum_words=max(5, words // 2),
        parameters=_parameters(view, node) if tagged else (),
        returns=tagged and _returns(node),
        throws=tuple(dict.fromkeys(_raised(node))) if tagged else (),
        mentions=_mentions(f"{name} {text_of(_body(node))}"),
    )


def _declaration(view: ProgramView, name: str) -> tree_sitter.Node | None:
    """Return the documented declaration with a name: the nearest one to the reference."""
    found = [
        match["declaration"][0]
        for match in matches(view.tree.root_node, view.language, "declarations")
        if text_of(match["name"][0]).replace("::", ".").strip("\"'`") == name
    ]
    return min(found, key=lambda node: abs(node.start_byte - view.end), default=None)


def _body(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the node of the whole function: in C++, the declarator has the name and its parent the body."""
    while "declarator" in node.type and node.parent is not None:
        node = node.parent
    return node


def _parameters(view: ProgramView, node: tree_sitter.Node) -> tuple[str, ...]:
    whole = _body(node)
    parameter_list = next((one for one in _descendants(whole) if "parameter" in one.type and "list" in one.type), None)
    parameter_list = parameter_list or next(
        (one for one in _descendants(whole) if one.type in {"parameters", "formal_parameters"}), None
    )
    if parameter_list is None:
        return ()
    names = [
        one.name
        for one in view.declarations
        if one.role == "parameter"
        and parameter_list.start_byte <= one.start < parameter_list.end_byte
        and one.name not in _NOT_NAMED
    ]
    return tuple(name for name in names if not name.startswith("_"))


def _descendants(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return a node and all nodes below it, in text order."""
    found, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(reversed(one.children))
    return found


def _returns(node: tree_sitter.Node) -> bool:
    """Return whether the function returns a value somewhere, functions in it not counted."""
    waiting = [*_body(node).children]
    while waiting:
        one = waiting.pop()
        if one.type == "return_statement" and one.named_child_count:
            return True
        if not re.search(r"function|lambda|class|func_literal|method_d", one.type) or "body" in one.type:
            waiting.extend(one.children)
    return False


def _raised(node: tree_sitter.Node) -> list[str]:
    """Return the names of the error types that leave the function: those of inner functions and tried ones do not."""
    names = []
    for one in _descendants(_body(node)):
        if _is_inside(one, _body(node)):
            continue
        if one.type in _RAISES and one.named_children:
            found = _NAME.match(text_of(one.named_children[0]))
            if (found and found[1][:1].isupper()) or (found and "::" in found[1]):
                names.append(found[1])
    return names


def _is_inside(node: tree_sitter.Node, whole: tree_sitter.Node) -> bool:
    """Return whether a node is in an inner function, or in a tried block, of a function."""
    above = node.parent
    while above is not None and above.id != whole.id:
        if _INNER.search(above.type) or (above.type in _TRIED and node.id in _first_part(above)):
            return True
        node, above = above, above.parent
    return False


def _first_part(node: tree_sitter.Node) -> list[int]:
    """Return the id of the block that is tried."""
    body = node.child_by_field_name("body")
    return [] if body is None else [body.id]


def _mentions(code: str) -> tuple[tuple[str, ...], ...]:
    """Return one group of words, of which one must occur: the beginnings of the words in the code's names."""
    plain = re.sub(r"\"\"\".*?(?:\"\"\"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)", " ", code, flags=re.DOTALL)
    words = tuple(dict.fromkeys(word[:5] for word in content_words(plain)))
    return (words,) if words else ()
