"""Facts about code that its documentation or comment must describe, read from the code."""

from __future__ import annotations

import re
from typing import Final

import tree_sitter

from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.metrics.text_overlap import content_words
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView
from caretbench.suites.devbench.documentation import DocumentationCheck
from caretbench.syntax.documentation import comments_between, documentation_of
from caretbench.syntax.parser import matches, text_of

_FUNCTION: Final = re.compile(r"function|method|constructor|declarator")
_NAME: Final = re.compile(r"(?:new\s+)?([A-Za-z_][\w.:]*)\s*[({<]?")
_TYPE: Final = re.compile(r"[A-Za-z_]\w*")
_GENERAL: Final = ("BaseException", "Exception", "Throwable")
_NOT_NAMED: Final = frozenset({"self", "cls", "this"})


def documentation_facts(view: ProgramView, name: str) -> DocumentationCheck:
    """Return the predicate that documentation of a declaration must satisfy.

    Its parameters must be described if the language's documentation names parameters in tags, its returned value if it
    returns one, and the errors that it raises itself; it has at least half of the words of the reference.
    """
    found = documentation_of(view.program, view.language, name)
    node, kinds = _declaration(view, name), node_kinds(view.language)
    words = found.word_count if found else 0
    if node is None or not _FUNCTION.search(node.type):
        return DocumentationCheck(documents=name, minimum_words=max(4, words // 2), mentions=_mentions(name))
    tagged = found is not None and bool(found.parameters or found.returns or found.throws)
    return DocumentationCheck(
        documents=name,
        minimum_words=max(5, words // 2),
        parameters=_parameters(view, node) if tagged else (),
        returns=tagged and _returns(node, kinds),
        throws=tuple(dict.fromkeys(_raised(node, kinds))) if tagged else (),
        mentions=_mentions(f"{name} {text_of(_body(node))}"),
    )


def comment_facts(view: ProgramView) -> DocumentationCheck:
    """Return the predicate that a comment which documents no declaration must satisfy.

    It has at least half of the words of the reference, and one of its words or of the names in the code that it is
    about: a good comment says what the names do not.
    """
    found = comments_between(view.program, view.language, view.start, view.end)
    words, text = (found.word_count, found.text) if found else (0, "")
    return DocumentationCheck(minimum_words=max(4, words // 2), mentions=_mentions(f"{_code_beside(view)} {text}"))


def _code_beside(view: ProgramView) -> str:
    """Return the code that a comment is about: before it in its line, else the paragraph behind it, else before it."""
    line = view.prefix.rpartition("\n")[2]
    if line.strip():
        return line
    paragraphs = [re.split(r"\n[ \t]*\n", text.strip()) for text in (view.suffix, view.prefix)]
    return paragraphs[0][0] or paragraphs[1][-1]


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
    lists = node_kinds(view.language).parameter_lists
    parameter_list = next((one for one in _descendants(whole) if one.type in lists), None)
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


def _returns(node: tree_sitter.Node, kinds: NodeKinds) -> bool:
    """Return whether the function returns a value somewhere, functions in it not counted."""
    waiting = [*_body(node).children]
    while waiting:
        one = waiting.pop()
        if one.type in kinds.returns and one.named_child_count:
            return True
        if not re.search(r"function|lambda|class|func_literal|method_d", one.type) or "body" in one.type:
            waiting.extend(one.children)
    return False


def _raised(node: tree_sitter.Node, kinds: NodeKinds) -> list[str]:
    """Return the names of the error types that leave the function: not those of inner functions, nor caught ones."""
    names = []
    whole = _body(node)
    for one in _descendants(whole):
        if one.type in kinds.throws and one.named_children:
            found = _NAME.match(text_of(one.named_children[0]))
            is_type = found is not None and (found[1][:1].isupper() or "::" in found[1])
            if found is not None and is_type and not _stays_inside(one, found[1], whole, kinds):
                names.append(found[1])
    return names


def _stays_inside(node: tree_sitter.Node, error: str, whole: tree_sitter.Node, kinds: NodeKinds) -> bool:
    """Return whether an error is raised in an inner function, or where a handler of the function catches it."""
    above = node.parent
    while above is not None and above.id != whole.id:
        if above.type in kinds.functions:
            return True
        body = above.child_by_field_name("body") if above.type in kinds.tries else None
        if (
            body is not None
            and body.id == node.id
            and any(one.type in kinds.handlers and _catches(one, error) for one in above.named_children)
        ):
            return True
        node, above = above, above.parent
    return False


def _catches(node: tree_sitter.Node, error: str) -> bool:
    """Return whether a handler catches an error: by its name, a general one, or none."""
    # The head of the handler: what it has before its block.
    head = text_of(node)[: node.named_children[-1].start_byte - node.start_byte] if node.named_children else ""
    names = {name for name in _TYPE.findall(head) if name[:1].isupper()}
    return not names or bool(names & {error, *_GENERAL})


def _mentions(code: str) -> tuple[tuple[str, ...], ...]:
    """Return one group of words, of which one must occur: the beginnings of the words in the code's names."""
    plain = re.sub(r"\"\"\".*?(?:\"\"\"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)", " ", code, flags=re.DOTALL)
    words = tuple(dict.fromkeys(word[:5] for word in content_words(plain)))
    return (words,) if words else ()
