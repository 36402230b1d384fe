"""Documentation of a declaration: its docstring or documentation comment, with the described parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import tree_sitter

from caretbench.languages import language as language_named
from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.problem import Row
from caretbench.syntax.docs.comments import Comment, comments_in
from caretbench.syntax.docs.doctags import read_tags
from caretbench.syntax.parser import encode, parse, text_of
from caretbench.syntax.queries import matches

_FORMAL = ("/**", "/*!", "///", "//!")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")


class Documentation(Row):
    """Documentation of one declaration.

    ``text`` is the comment without its marks; ``parameters`` and ``throws`` are the described names in text order;
    ``returns`` is true if the return value is described; ``start`` and ``end`` count bytes of the program.
    """

    text: str
    parameters: tuple[str, ...] = ()
    returns: bool = False
    throws: tuple[str, ...] = ()
    start: int
    end: int

    @property
    def word_count(self) -> int:
        """Number of words of the text, names and tags included."""
        return len(_WORD.findall(self.text))


def _own_name(node: tree_sitter.Node) -> str:
    return text_of(node).replace("::", ".").strip("\"'`")


def _path(name: str, declaration: tree_sitter.Node, names: dict[int, str]) -> str:
    parts = [name]
    node = declaration.parent
    while node is not None:
        if node.id in names:
            parts.append(names[node.id])
        node = node.parent
    return ".".join(reversed(parts))


def _anchor(declaration: tree_sitter.Node, kinds: NodeKinds) -> tree_sitter.Node:
    """Return the first node of a declaration, including decorators, attributes and wrappers."""
    node = declaration
    while node.parent is not None and node.parent.type in kinds.declaration_wrappers:
        node = node.parent
    while (before := node.prev_named_sibling) is not None and before.type in kinds.attributes:
        node = before
    return node


def _strip_marks(comment: str) -> str:
    """Return a comment without its marks and the stars at the beginning of lines."""
    if comment.startswith("/*"):
        body = re.sub(r"^/\*+!?<?|\*+/$", "", comment)
        lines = [re.sub(r"^\s*\*(?!\*) ?", "", line) for line in body.split("\n")]
    else:
        lines = [re.sub(r"^\s*//[/!]?<? ?", "", line) for line in comment.split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip()


def _docstring(node: Comment) -> str:
    try:
        value = ast.literal_eval(node.text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        value = node.text.strip("\"'")
    lines = str(value).expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return "\n".join([lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]).strip()


def _before(anchor: int, source: bytes, everything: list[Comment], *, plain: bool) -> list[Comment]:
    """Return the comments that end right before byte ``anchor``: one block comment, or consecutive line comments.

    If plain comments count (``plain``), a blank line ends the search.
    """
    run: list[Comment] = []
    for comment in reversed([comment for comment in everything if comment.end <= anchor]):
        if comment.kind == "docstring" or source[comment.end : anchor].strip():
            break
        if run and (comment.kind == "block" or run[0].kind == "block"):
            break
        if (run or plain) and source[comment.end : anchor].count(b"\n") > 1:
            break
        run.insert(0, comment)
        anchor = comment.start
    while run and not plain and not run[0].text.startswith(_FORMAL):
        run.pop(0)
    return run


def _attached(
    declaration: tree_sitter.Node, name: tree_sitter.Node, source: bytes, everything: list[Comment], language: str
) -> tuple[str, Comment, Comment] | None:
    """Return text, first and last comment of the documentation, or None."""
    body = declaration.child_by_field_name("body")
    strings = [comment for comment in everything if comment.kind == "docstring"]
    if body is not None:
        for comment in strings:
            first = body.named_children[0] if body.named_children else None
            while first is not None and first.type == "comment":
                first = first.next_named_sibling
            if first is not None and first.start_byte == comment.start:
                return _docstring(comment), comment, comment
    plain = language_named(language).plain_documentation
    anchor = _anchor(declaration, node_kinds(language))
    inside = [comment for comment in everything if anchor.start_byte <= comment.start < name.start_byte]
    formal = [one for one in inside if one.text.startswith(_FORMAL) and one.kind != "docstring"]
    run = formal[-1:] or _before(anchor.start_byte, source, everything, plain=plain)
    if not run:
        return None
    return "\n".join(_strip_marks(comment.text) for comment in run).strip(), run[0], run[-1]


def documentation_of(source: str, language: str, name: str) -> Documentation | None:
    """Return the documentation attached to the declaration (function, method, class, …) called ``name``.

    Docstrings, ``/** */``, ``/*! */``, ``///`` and ``//!`` count, in Go also plain comments. Decorators, annotations,
    ``export`` and ``template`` may be between the comment and the declaration.

    ``Outer.name`` or ``Outer::name`` is the declaration inside ``Outer``. Of several declarations with the name, the
    first documented one is taken. None if there is no such declaration, or no documentation.
    """
    return next((documentation for _, documentation in documented_declarations(source, language, name)), None)


def comments_between(source: str, language: str, start: int, end: int) -> Documentation | None:
    """Return the comments that begin in a part of a program, from byte ``start`` to ``end``, as one text; or None."""
    run = [comment for comment in comments_in(parse(source, language), language) if start <= comment.start < end]
    if not run:
        return None
    texts = (_docstring(comment) if comment.kind == "docstring" else _strip_marks(comment.text) for comment in run)
    return Documentation(**read_tags("\n".join(texts).strip())._asdict(), start=run[0].start, end=run[-1].end)


def documented_declarations(source: str, language: str, name: str = "") -> Iterator[tuple[str, Documentation]]:
    """Yield the names and documentation of the declarations that have some, in text order; with ``name`` only of these.

    A name is as it stands in the declaration, with dots.
    """
    tree = parse(source, language)
    data = encode(source)
    declared = matches(tree.root_node, language, "declarations")
    found = sorted(
        ((match["declaration"][0], match["name"][0]) for match in declared), key=lambda pair: pair[0].start_byte
    )
    names = {declaration.id: _own_name(node) for declaration, node in found}
    wanted = name.replace("::", ".")
    everything = comments_in(tree, language)
    for declaration, node in found:
        path = _path(_own_name(node), declaration, names)
        if wanted and path != wanted and not path.endswith(f".{wanted}"):
            continue
        attached = _attached(declaration, node, data, everything, language)
        if attached is not None:
            text, first, last = attached
            yield _own_name(node), Documentation(**read_tags(text)._asdict(), start=first.start, end=last.end)
