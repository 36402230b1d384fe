"""Comments of a program, and documentation of a declaration: its docstring or documentation comment.

Comments have positions. Of documentation, the described parameters, the return value and exceptions are read too:
Javadoc, JSDoc, Doxygen, C# XML, and Python's Google, NumPy and Sphinx styles.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

import tree_sitter

from caretbench.languages import get_language, language_of_grammar
from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.problem import Row
from caretbench.syntax.parser import captures, encode, matches, parse, text_of, upwards

CommentKind = Literal["line", "block", "docstring"]


class Comment(Row):
    """One comment, marks included; ``start`` and ``end`` count bytes of the UTF-8 text."""

    kind: CommentKind
    start: int
    end: int
    text: str


def comments_in(tree: tree_sitter.Tree, language: str) -> list[Comment]:
    """Return the comments and docstrings of a parsed program, in text order."""
    captured = captures(tree.root_node, language, "comments")
    block_mark = language_of_grammar(language).block_comment[:1]
    all_comments = []
    for node in captured.get("comment", []):
        # Some grammars count the line end to a line comment: positions and texts of all languages would differ.
        text = text_of(node).rstrip("\r\n")
        kind: CommentKind = "block" if text.startswith(block_mark) else "line"
        end = node.start_byte + len(encode(text))
        all_comments.append(Comment(kind=kind, start=node.start_byte, end=end, text=text))
    all_comments += [
        Comment(kind="docstring", start=node.start_byte, end=node.end_byte, text=text_of(node))
        for node in captured.get("docstring", [])
    ]
    return sorted(all_comments, key=lambda comment: comment.start)


def comments(text: str, language: str) -> list[Comment]:
    """Return the comments and docstrings of a program, in text order.

    Raises:
        KeyError: the table has no such language.
    """
    return comments_in(parse(text, language), language)


_TYPE = r"(?:\{[^}\n]*\}\s*)?"
_LINES = r"(?:.*\n(?![ \t]*(?:[@\\]|$)))*.*"  # to the next tag or blank line


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)


# One table for all styles: a style's marks do not occur in another style's text.
_PARAMETERS = _compiled(
    r"[@\\]t?(?:param|arg|argument)(?:\[[^\]\n]*\])?\s+"
    rf"{_TYPE}<?\[?(?P<name>[\w$.]+)[^\s\]]*\]?>?[ \t]*[-:]?[ \t]*(?P<what>{_LINES})",
    r"<(?:type)?param\s+name\s*=\s*[\"'](?P<name>[^\"']+)[\"']\s*>(?P<what>[\s\S]*?)</(?:type)?param>",
    r"^[ \t]*:(?:param|parameter|arg|key)[ \t]+(?:[^:\n]*[ \t])?\*{0,2}(?P<name>\w+):[ \t]*"
    r"(?P<what>.*(?:\n(?![ \t]*:).*\S)*)",
)
_RETURNS = _compiled(
    rf"[@\\](?:returns?|retval|result)\b\s*{_TYPE}(?P<what>\S.*|(?<=\}})\s*)",
    r"<returns>(?P<what>[\s\S]*?)</returns>",
    r"^[ \t]*:returns?:[ \t]*(?P<what>\S.*)",
)
_THROWS = _compiled(
    r"[@\\](?:throws?|exception)\s+\{?(?P<name>[\w$.:]+)\}?",
    r"<exception\s+cref\s*=\s*[\"'](?:[A-Z]:)?(?P<name>[^\"']+)[\"']",
    r"^[ \t]*:(?:raises?|except|exception)[ \t]+(?P<name>[\w.]+):",
)

_SECTIONS = {
    **dict.fromkeys(("args", "arguments", "parameters", "params", "other parameters"), "parameters"),
    **dict.fromkeys(("keyword args", "keyword arguments"), "parameters"),
    **dict.fromkeys(("returns", "return", "yields"), "returns"),
    **dict.fromkeys(("raises", "throws", "exceptions"), "throws"),
}
_ENTRY = re.compile(r"\*{0,2}(?P<names>[\w.]+(?:\s*,\s*\*{0,2}[\w.]+)*)\s*(?:\([^)]*\))?\s*(?::\s*(?P<what>.*))?$")
_XML = re.compile(r"</?[A-Za-z][^>\n]*>")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_rule(line: str) -> bool:
    return set(line) == {"-"}


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of Google's (``Args:``) and NumPy's (underlined) sections, by topic."""
    bodies: dict[str, list[str]] = {}
    lines = text.split("\n")
    current: list[str] | None = None
    margin = 0
    underlined = False
    for number, line in enumerate(lines):
        title = line.strip().rstrip(":").lower()
        next_line = lines[number + 1].strip() if number + 1 < len(lines) else ""
        is_numpy = len(next_line) >= 3 and _is_rule(next_line)
        if title in _SECTIONS and (line.strip().endswith(":") or is_numpy):
            current = bodies.setdefault(_SECTIONS[title], [])
            margin, underlined = _indent(line), is_numpy
        elif current is None or not line.strip() or _is_rule(line.strip()):
            continue
        elif is_numpy or (not underlined and _indent(line) <= margin):
            current = None
        else:
            # NumPy's `name : type` describes nothing yet: the description is on the lines below.
            is_typed = underlined and _indent(line) == margin
            current.append(line.split(":")[0] if is_typed else line)
    return bodies


def _entries(body: list[str]) -> tuple[str, ...]:
    """Return the names of a section's entries that have a description, on their line or indented below it."""
    margin = min((_indent(line) for line in body), default=0)
    names: list[str] = []
    for number, line in enumerate(body):
        if _indent(line) > margin or (entry := _ENTRY.match(line.strip())) is None:
            continue
        below = number + 1 < len(body) and _indent(body[number + 1]) > margin
        if entry["what"] or below:
            names += [name.strip(" *") for name in entry["names"].split(",")]
    return tuple(names)


def _named(patterns: tuple[re.Pattern[str], ...], text: str) -> tuple[str, ...]:
    hits = [hit for pattern in patterns for hit in pattern.finditer(text)]
    described = [hit for hit in hits if "what" not in hit.groupdict() or hit["what"].strip()]
    return tuple(hit["name"] for hit in sorted(described, key=lambda hit: hit.start()))


def _documentation(text: str, first: Comment, last: Comment) -> Documentation:
    """Return the documentation in a text without comment marks; names without a description do not count."""
    sections = _sections(text)
    parameters = _named(_PARAMETERS, text) + _entries(sections.get("parameters", []))
    throws = _named(_THROWS, text) + _entries(sections.get("throws", []))
    returns = bool(sections.get("returns")) or any(
        (hit := pattern.search(text)) is not None and bool(hit["what"].strip() or "{" in hit.group())
        for pattern in _RETURNS
    )
    plain = "\n".join(line.rstrip() for line in _XML.sub("", text).split("\n")).strip()
    return Documentation(
        text=plain,
        parameters=tuple(dict.fromkeys(parameters)),
        returns=returns,
        throws=tuple(dict.fromkeys(throws)),
        start=first.start,
        end=last.end,
    )


_FORMAL = ("/**", "/*!", "///", "//!")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")


class Documentation(Row):
    """Documentation of one declaration.

    ``text`` is the comment without marks and XML tags; ``parameters`` and ``throws`` are the described names in text
    order; ``returns`` is true if the return value is described; ``start`` and ``end`` count bytes of the program.
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


def _declared_name(node: tree_sitter.Node) -> str:
    return text_of(node).replace("::", ".").strip("\"'`")


def _path(name: str, declaration: tree_sitter.Node, names: dict[int, str]) -> str:
    parts = [name, *(names[around.id] for around in upwards(declaration.parent) if around.id in names)]
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


def _docstring(comment: Comment) -> str:
    try:
        value = ast.literal_eval(comment.text)
    # An f-string or a text from a broken program is no literal; its characters are the documentation all the same.
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        value = comment.text.strip("\"'")
    lines = str(value).expandtabs().split("\n")
    margin = min((_indent(line) for line in lines[1:] if line.strip()), default=0)
    return "\n".join([lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]).strip()


def _comments_before(anchor: int, source: bytes, all_comments: list[Comment], *, plain: bool) -> list[Comment]:
    """Return the comments that end right before byte ``anchor``: one block comment, or consecutive line comments.

    If plain comments count (``plain``), a blank line ends the search.
    """
    run: list[Comment] = []
    for comment in reversed([comment for comment in all_comments if comment.end <= anchor]):
        if comment.kind == "docstring" or source[comment.end : anchor].strip():
            break
        # A block comment is complete; only line comments are joined.
        if run and (comment.kind == "block" or run[0].kind == "block"):
            break
        # In Go any comment documents, but not one with a blank line below it: so godoc reads them.
        if (run or plain) and source[comment.end : anchor].count(b"\n") > 1:
            break
        run.insert(0, comment)
        anchor = comment.start
    # Ordinary comments above documentation are remarks.
    while run and not plain and not run[0].text.startswith(_FORMAL):
        run.pop(0)
    return run


def _find_attached(
    declaration: tree_sitter.Node, name: tree_sitter.Node, source: bytes, all_comments: list[Comment], language: str
) -> tuple[str, Comment, Comment] | None:
    """Return text, first and last comment of the documentation, or None."""
    body = declaration.child_by_field_name("body")
    children = body.named_children if body is not None else []
    if (first := next((child for child in children if child.type != "comment"), None)) is not None:
        for comment in all_comments:
            if comment.kind == "docstring" and comment.start == first.start_byte:
                return _docstring(comment), comment, comment
    plain = get_language(language).plain_documentation
    anchor = _anchor(declaration, node_kinds(language))
    inside = [comment for comment in all_comments if anchor.start_byte <= comment.start < name.start_byte]
    # JSDoc may be behind `export` and C++'s behind `template <…>`, within the declaration's own node.
    formal = [comment for comment in inside if comment.text.startswith(_FORMAL) and comment.kind != "docstring"]
    run = formal[-1:] or _comments_before(anchor.start_byte, source, all_comments, plain=plain)
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
    return _documentation("\n".join(texts).strip(), run[0], run[-1])


def documented_declarations(source: str, language: str, name: str = "") -> Iterator[tuple[str, Documentation]]:
    """Yield the names and documentation of the declarations that have some, in text order; with ``name`` only of these.

    A name is as it stands in the declaration, with dots.
    """
    tree = parse(source, language)
    data = encode(source)
    declared = matches(tree.root_node, language, "declarations")
    pairs = ((match["declaration"][0], match["name"][0]) for match in declared)
    declarations = sorted(pairs, key=lambda pair: pair[0].start_byte)
    names = {declaration.id: _declared_name(node) for declaration, node in declarations}
    wanted = name.replace("::", ".")
    all_comments = comments_in(tree, language)
    for declaration, node in declarations:
        path = _path(_declared_name(node), declaration, names)
        if wanted and path != wanted and not path.endswith(f".{wanted}"):
            continue
        attached = _find_attached(declaration, node, data, all_comments, language)
        if attached is not None:
            yield _declared_name(node), _documentation(*attached)
