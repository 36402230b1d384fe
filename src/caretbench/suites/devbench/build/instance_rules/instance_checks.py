"""Checks of an instance's text, before anything runs: each returns a fault, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import tree_sitter

from caretbench.build.validation.private_texts import private_texts
from caretbench.extraction.policies import get_policy
from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.metrics.text_overlap import content_words, dense_text
from caretbench.problem import Caret, Problem
from caretbench.suites.devbench.build.cell_languages import cell_languages
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView
from caretbench.suites.devbench.build.instance_rules.rule_measures import RULE_MEASURES, documented_name
from caretbench.suites.devbench.cells.cell_tables import CellCategory, Rules, cell_categories, rules
from caretbench.suites.devbench.starter import DocumentationCheck, documentation_faults
from caretbench.syntax.documentation import comments_between, documentation_of
from caretbench.syntax.parser import encode, error_nodes, matches, text_of, walk

_IMPORTING = re.compile(r"(?:_statement|_declaration|_directive|preproc_include)$")
_IMPORT_LINE = re.compile(r"^\s*(?:import|from|#\s*include|using|package|\"[\w./-]+\"$)|\brequire\(")
_ALWAYS_USED = frozenset({"_", "*", "__future__", "annotations"})
_OPENS = re.compile(r"using\s+namespace\b|from\s+__future__\b")
_MAJOR_VERSION = re.compile(r"[/.]v\d+$")


def mentions_library(view: ProgramView, library: str) -> bool:
    """Return whether the code up to the end of the reference, or an import, has the last name of a library.

    ``library`` is written as people do: ``bisect``, ``node:crypto``, ``std::ranges``, ``java.util.concurrent``.
    """
    names = re.findall(r"\w+", library)
    if not names:
        return False
    imports = "\n".join(line for line in view.prefix.split("\n") if _IMPORT_LINE.search(line))
    code = view.code[: view.end].decode("utf-8", "replace")
    return re.search(rf"\b{re.escape(names[-1])}\b", f"{imports}\n{code}") is not None


def unused_imports(view: ProgramView) -> list[str]:
    """Return the imported names, and the headers and packages of the language's table, that the program does not use.

    An import that binds no name and is not in the table counts as used.
    """
    return sorted(set(_unused_names(view)) | set(_unused_headers(view)))


def _unused_names(view: ProgramView) -> Iterator[str]:
    for name, node in _bound_names(view):
        statement = _statement(node)
        # Imports for their effect and of everything bind no name that could be looked for.
        if name in _ALWAYS_USED or not name.isidentifier() or _OPENS.match(text_of(statement)):
            continue
        # 10 of 45 instances were refused for names in quoted annotations, JSDoc, namespaces of C++ or `_` of Go.
        uses = (use.start for use in view.names if use.name == name)
        used = any(not statement.start_byte <= start < statement.end_byte for start in uses)
        # Grammars have no identifier in some annotations and types; the text decides where the tree shows nothing.
        if not used and not _in_other_text(view, name, statement):
            yield name


def _in_other_text(view: ProgramView, name: str, statement: tree_sitter.Node) -> bool:
    """Return whether the name occurs elsewhere, where the syntax tree shows no identifier.

    In a type or an annotation, in quotes too; in a documentation comment that refers to it.
    """
    word = re.escape(name)
    if re.search(rf"\b{word}\b".encode(), view.code[: statement.start_byte] + view.code[statement.end_byte :]):
        return True
    program = encode(view.program)
    rest = (program[: statement.start_byte] + program[statement.end_byte :]).decode("utf-8", "surrogatepass")
    return any(re.search(use.replace("NAME", word), rest) for use in cell_languages()[view.language].text_uses)


def _bound_names(view: ProgramView) -> Iterator[tuple[str, tree_sitter.Node]]:
    """Yield the names that imports bind, with their nodes."""
    for match in matches(view.tree.root_node, view.language, "imports"):
        if "name" in match and "package" not in match:
            text = text_of(match["name"][-1])
            # A path of Go may end in the major version.
            name = re.split(r"[/.]", _MAJOR_VERSION.sub("", text))[-1] if "/" in text else text
            yield name, match["name"][-1]


def _statement(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the statement of an import, which may stand in a function."""
    while node.parent is not None and not _IMPORTING.search(node.type):
        node = node.parent
    return node


def _unused_headers(view: ProgramView) -> Iterator[str]:
    table = cell_languages()[view.language]
    if not table.imports:
        return
    for match in matches(view.tree.root_node, view.language, "imports"):
        if "module" not in match:
            continue
        node = match["module"][0]
        header = text_of(node).strip("\"'`<>")
        pattern, suffix = table.imports.get(header), table.literals.get(header)
        if suffix is not None and re.search(rf'["\'\d]{suffix}\b', view.program):
            continue
        statement = _statement(node)
        rest = view.code[: statement.start_byte] + view.code[statement.end_byte :]
        if pattern is not None and re.search(pattern, rest.decode("utf-8", "surrogatepass")) is None:
            yield header


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
    comment = documentation_of(view.program, view.language, name)
    node, kinds = _declaration(view, name), node_kinds(view.language)
    # Half of the reference's words: a good comment may be shorter, and one word for a paragraph is none.
    words = comment.word_count if comment else 0
    if node is None or not _FUNCTION.search(node.type):
        return DocumentationCheck(documents=name, minimum_words=max(4, words // 2), mentions=_mentions(name))
    tagged = comment is not None and bool(comment.parameters or comment.returns or comment.throws)
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
    comments = comments_between(view.program, view.language, view.start, view.end)
    words, text = (comments.word_count, comments.text) if comments else (0, "")
    return DocumentationCheck(minimum_words=max(4, words // 2), mentions=_mentions(f"{_nearest_code(view)} {text}"))


def _nearest_code(view: ProgramView) -> str:
    """Return the code that a comment is about: before it in its line, else the paragraph behind it, else before it."""
    line = view.prefix.rpartition("\n")[2]
    if line.strip():
        return line
    paragraphs = [re.split(r"\n[ \t]*\n", text.strip()) for text in (view.suffix, view.prefix)]
    return paragraphs[0][0] or paragraphs[1][-1]


def _declaration(view: ProgramView, name: str) -> tree_sitter.Node | None:
    """Return the documented declaration with a name: the nearest one to the reference."""
    declarations = [
        match["declaration"][0]
        for match in matches(view.tree.root_node, view.language, "declarations")
        if text_of(match["name"][0]).replace("::", ".").strip("\"'`") == name
    ]
    return min(declarations, key=lambda node: abs(node.start_byte - view.end), default=None)


def _body(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the node of the whole function: in C++, the declarator has the name and its parent the body."""
    while "declarator" in node.type and node.parent is not None:
        node = node.parent
    return node


def _parameters(view: ProgramView, node: tree_sitter.Node) -> tuple[str, ...]:
    whole = _body(node)
    lists = node_kinds(view.language).parameter_lists
    parameter_list = next((child for child in walk(whole) if child.type in lists), None)
    if parameter_list is None:
        return ()
    return tuple(
        declared.name
        for declared in view.declarations
        if declared.role == "parameter"
        and parameter_list.start_byte <= declared.start < parameter_list.end_byte
        # A leading underscore says that the caller does not pass it.
        and not (declared.name in _NOT_NAMED or declared.name.startswith("_"))
    )


def _returns(node: tree_sitter.Node, kinds: NodeKinds) -> bool:
    """Return whether the function returns a value somewhere, functions in it not counted."""
    return any(
        inner.type in kinds.returns and inner.named_child_count
        for child in _body(node).children
        for inner in walk(child, closed=_is_inner_function)
    )


def _is_inner_function(node: tree_sitter.Node) -> bool:
    return re.search(r"function|lambda|class|func_literal|method_d", node.type) is not None and "body" not in node.type


def _raised(node: tree_sitter.Node, kinds: NodeKinds) -> list[str]:
    """Return the names of the error types that leave the function: not those of inner functions, nor caught ones."""
    names = []
    whole = _body(node)
    for inner in walk(whole):
        if inner.type in kinds.throws and inner.named_children:
            match = _NAME.match(text_of(inner.named_children[0]))
            is_type = match is not None and (match[1][:1].isupper() or "::" in match[1])
            if match is not None and is_type and not _stays_inside(inner, match[1], whole, kinds):
                names.append(match[1])
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
            and any(child.type in kinds.handlers and _catches(child, error) for child in above.named_children)
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
    # Five letters, so that `validates` and `valid` count for `validate_order`.
    words = tuple(dict.fromkeys(word[:5] for word in content_words(plain)))
    return (words,) if words else ()


# Shorter lines, `return result` or a brace, stand in any suffix.
REPEATED_LINE: Final = 13
"""Length from which a line of the reference may not stand in the suffix."""
_REMARK: Final = re.compile(r"(?<=[\s;])(?://|#\s).*$|/\*.*\*/\s*$")
PASSED: Final = "ok"
"""Entry of a check without a fault."""


def rule_faults(view: ProgramView, bounds: Rules) -> dict[str, str]:
    """Return the rules that a program breaks: name → the rule and the measured number."""
    faults = {}
    for name, (low, high) in bounds.items():
        measured = RULE_MEASURES[name](view)
        if not low <= measured <= high:
            faults[name] = f"{rules()[name].sentence((low, high))}; measured: {measured}"
    return faults


def instance_kind(view: ProgramView, category: CellCategory, asked: str = "") -> str:
    """Return the kind of an instance: the requested one if its rules hold, else the first whose rules hold, or ""."""
    names = [asked, *category.kinds] if asked in category.kinds else list(category.kinds)
    return next((name for name in names if not rule_faults(view, category.kinds[name].rules)), "")


def instance_band(view: ProgramView, category: CellCategory, asked: str = "") -> str:
    """Return the band of difficulty, by the tokens of the reference; the requested one if it fits, or ""."""
    tokens = RULE_MEASURES["reference_tokens"](view)
    fitting = [name for name, (low, high) in category.bands.items() if low <= tokens <= high]
    return asked if asked in fitting else fitting[-1] if fitting else ""


def repeated_lines(reference: str, suffix: str) -> list[str]:
    """Return the lines of a reference, of at least 13 characters, that stand in the suffix.

    Blanks, a semicolon at the end and a comment behind the line make no difference.
    """
    after = {_plain_line(line) for line in suffix.split("\n")}
    lines = (line.strip() for line in reference.split("\n"))
    return [line for line in lines if len(line) >= REPEATED_LINE and _plain_line(line) in after]


def _plain_line(line: str) -> str:
    # A comment behind a repeated line hides the repetition from a comparison of texts, not from a model.
    code = _REMARK.sub("", line)
    return dense_text(code if code.strip() else line).removesuffix(";")


def made_documentation_check(view: ProgramView) -> DocumentationCheck | None:
    """Return the predicate of a reference that is documentation or a comment, made from the code; None for code.

    The documentation must describe the parameters, the returned value and the errors that the reference describes, as
    far as the declaration has them; it must have half of its words, and a word of a name in the code.
    """
    lines = RULE_MEASURES["reference_comment_lines"](view)
    if not lines or lines < RULE_MEASURES["reference_lines"](view):
        return None  # it is code, which may hold comments of its own
    name = documented_name(view)
    if name is not None:
        return documentation_facts(view, name)
    return comment_facts(view) if _is_comment(view) else None


def _is_comment(view: ProgramView) -> bool:
    """Return whether the reference consists of comments."""
    rest = bytearray(encode(view.program))
    for comment in view.comments:
        rest[comment.start : comment.end] = bytes(comment.end - comment.start)
    return not rest[view.start : view.end].strip(b"\0 \t\r\n")


def _parse(view: ProgramView, _category: CellCategory) -> str:
    """Return a fault where the syntax tree has one in the reference; the compiler finds those elsewhere."""
    # Grammars lack constructs that compilers have, such as `using Cases::operator()...`; outside of the reference the
    # compiler decides.
    nodes = error_nodes(view.tree.root_node)
    if any(node.start_byte <= view.end + 1 and node.end_byte >= view.start for node in nodes):
        return "the reference does not parse in its place"
    return "the program does not parse" if view.tree.root_node.type == "ERROR" else ""


def _extraction(view: ProgramView, _category: CellCategory) -> str:
    caret = Caret(language=view.language, prefix=view.prefix, suffix=view.suffix)
    # An answer equal to the reference must pass: a reference that the default policy cuts would fail by its layout.
    changed = get_policy().apply(view.reference, caret).text != view.reference
    return "the reference does not survive as an answer: it would be cut or stripped" if changed else ""


def _suffix(view: ProgramView, _category: CellCategory) -> str:
    lines = repeated_lines(view.reference, view.suffix)
    return f"lines of the reference stand in the suffix: {lines[0]!r}" if lines else ""


def _rules(view: ProgramView, category: CellCategory) -> str:
    faults = rule_faults(view, category.rules)
    if not faults and not instance_kind(view, category):
        kinds = "; or ".join(
            ", ".join(rules()[name].sentence(bounds) for name, bounds in kind.rules.items())
            for kind in category.kinds.values()
        )
        return f"of no kind of the category: {kinds}"
    return "; ".join(faults.values())


def _band(view: ProgramView, category: CellCategory) -> str:
    if instance_band(view, category):
        return ""
    low, high = min(low for low, _ in category.bands.values()), max(high for _, high in category.bands.values())
    return f"{rules()['reference_tokens'].sentence((low, high))}; measured: {RULE_MEASURES['reference_tokens'](view)}"


def _imports(view: ProgramView, _category: CellCategory) -> str:
    unused = unused_imports(view)
    return f"imports that nothing uses: {', '.join(unused)}" if unused else ""


def _private(view: ProgramView, _category: CellCategory) -> str:
    text = next(private_texts(view.program), None)
    return f"the program holds {text.description}" if text else ""


def _documentation(view: ProgramView, _category: CellCategory) -> str:
    check = made_documentation_check(view)
    if check is None:
        return ""
    return "; ".join(documentation_faults(view.program, view.language, check, view.start, view.end))


_CHECKS: Final[Mapping[str, Callable[[ProgramView, CellCategory], str]]] = {
    "parse": _parse,
    "extraction": _extraction,
    "suffix": _suffix,
    "rules": _rules,
    "band": _band,
    "imports": _imports,
    "private": _private,
    "documentation": _documentation,
}


def text_checks(problem: Problem) -> dict[str, str]:
    """Return the result of each check of an instance's text: ``ok`` or the fault.

    A program that does not parse has no other result.

    Raises:
        KeyError: the tables have no such category or language.
    """
    category = cell_categories()[problem.label("category")]
    view = ProgramView.of(problem)
    results: dict[str, str] = {}
    for name, check in _CHECKS.items():
        fault = check(view, category)
        results[name] = fault or PASSED
        if name == "parse" and fault:
            break
    return results
