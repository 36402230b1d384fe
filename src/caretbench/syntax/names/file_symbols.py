"""Symbols of one file, collected in one walk over its tree in the order of evaluation.

The walk depends on the roles of :mod:`caretbench.syntax.names.node_roles` and on no grammar. Names are resolved after
the walk, when every declaration is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Final, Literal, get_args

import tree_sitter
from pydantic import Field

from caretbench.languages import get_language
from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.syntax.analysis_types import CLASS_SCOPES, FUNCTION_SCOPES, Binding, ScopeKind
from caretbench.syntax.names.control_flow import ControlFlow
from caretbench.syntax.names.node_roles import NodeRoles, file_imports
from caretbench.syntax.names.symbols import (
    DefinitionSite,
    FlowGraph,
    ImportTarget,
    NameScope,
    NameUse,
    VariableDeletion,
    WrittenName,
    type_name,
)
from caretbench.syntax.parser import walk
from caretbench.syntax.source import SourceFile


class ScopingRules(LanguageTable):
    """Scoping rules of one language.

    ``self_names`` are customary names of the object itself. ``class_scope_visible``: methods see members without a dot.
    ``writing_declares``: the scope in which a write to an unknown name declares it. ``through_*``: kinds of scopes that
    a written name (``write``), a plain declaration (``local``) or a hoisted one passes on its way outwards. ``stdlib``:
    first parts of the standard library's module names. ``modules``: the way from a module name to a file.
    ``block_scopes``: loops and blocks have scopes. ``separate_methods``: a method and a variable may share a name.
    ``known``: names of the standard library by module.
    """

    self_names: frozenset[str] = frozenset()
    class_scope_visible: bool = True
    writing_declares: Literal["function", "file", "nowhere"] = "nowhere"
    through_on_write: frozenset[str] = frozenset()
    through_on_local: frozenset[str] = frozenset()
    through_on_hoist: frozenset[str] = frozenset()
    builtins: frozenset[str] = frozenset()
    stdlib: frozenset[str] = frozenset()
    modules: Literal["dotted", "relative", "include", "namespace", "package"] = "dotted"
    block_scopes: bool = True
    separate_methods: bool = False
    known: dict[str, frozenset[str]] = Field(default_factory=dict)

    @cached_property
    def known_names(self) -> Mapping[str, str]:
        """Module of every name that is known without an import."""
        return {name: module for module, names in self.known.items() for name in names}


@cache
def scoping_rules_of(language: str) -> ScopingRules:
    """Return the rules of a language, by name or alias.

    Raises:
        KeyError: the table has no such language.
    """
    return read_table(get_language(language).name, "traits", ScopingRules) or ScopingRules()


_VERSION: Final = re.compile(r"/v\d+$|\.v\d+$")

# Below this depth, which only generated text reaches, a subtree is read as a flat list of names.
MAX_DEPTH = 300

_OPENED: Final = frozenset({"class", "interface", "namespace"})
_OWN_NAMES: Final = frozenset({"loop", "try", "switch"})
_SCOPE_KINDS: Final = {f"scope.{kind}": kind for kind in get_args(ScopeKind)}
_DECLARED: Final[dict[str, Binding]] = {
    "declare.function": "function",
    "declare.method": "method",
    "declare.class": "class",
    "declare.interface": "interface",
    "declare.namespace": "module",
}
_TARGETS: Final[dict[str, Binding | None]] = {  # None: depends on the scope of the declaration
    "target.write": None,
    "target.update": None,
    "target.local": None,
    "target.hoisted": None,
    "target.loop": "loop_variable",
    "target.loop_write": "loop_variable",
    "target.comprehension": "comprehension",
    "target.parameter": "parameter",
    "target.field": "field",
    "target.type": "class",
    "target.delete": None,
    "target.object": None,
}


class FileSymbols(ControlFlow):
    """Symbols of one file: scopes, uses, definitions (``written``, with their scopes) and flow graphs."""

    def __init__(self, source: SourceFile, root: tree_sitter.Node) -> None:
        self.source = source
        self.rules: ScopingRules = scoping_rules_of(source.language)
        nodes = NodeRoles(root, source.grammar)
        self.structure = nodes.structure
        self.roles = nodes.roles
        self.marks = nodes.marks
        imports = file_imports(root, source)
        self.imported = imports.bound
        self.package = imports.package
        self.file_scope = NameScope("file", "", 0, len(source.data), None)
        self.scopes: list[NameScope] = [self.file_scope]
        self.uses: list[NameUse] = []
        self.written: list[WrittenName] = []
        self.members: list[tuple[DefinitionSite, NameScope, tuple[str, ...]]] = []
        self.kills: list[VariableDeletion] = []
        self.opened: dict[int, NameScope] = {}
        self.flows: list[FlowGraph] = [FlowGraph()]
        self.flow = self.flows[0]
        self.scope = self.file_scope
        self._depth = 0
        self._types = ()
        self._outer_done: set[int] = set()
        self._switches = []
        self.file_scope.wildcards += imports.wildcards
        self._handlers: dict[str, Callable[[tree_sitter.Node], object]] = {
            "identifier": self._identifier,
            "self": self._skip,
            "super": self._skip,
            "skip": self._skip,
            "member": self._read_member,
            "import": self._import,
            "branch": self._branch,
            "loop": self._loop,
            "try": self._try,
            "switch": self._switch,
            "case": self._case,
            "return": self._return,
            "throw": self._throw,
            "break": self._break,
            "continue": self._continue,
            "global": self._global,
            "nonlocal": self._nonlocal,
            "pattern": self._children,
            **dict.fromkeys(_SCOPE_KINDS, self._scope),
        }
        for child in root.children:
            self._visit(child)

    @property
    def namespaces(self) -> list[NameScope]:
        """Scopes of namespaces."""
        return [scope for scope in self.scopes if scope.kind == "namespace"]

    def _visit(self, node: tree_sitter.Node) -> None:
        if node.id in self._outer_done:
            return
        role = self.roles.get(node.id)
        if role in _TARGETS:
            self._target(node, role)
            return
        if role in _DECLARED:
            self._define(node, role, _DECLARED[role])
            return
        if role == "ignore":
            return
        word = self.structure.get(node.id)
        if word is None and not node.child_count:
            return
        if self._depth > MAX_DEPTH:
            self._flat(node)
            return
        self._depth += 1
        if word is None:
            self._children(node)
        elif self.rules.block_scopes and word in _OWN_NAMES:
            self._in_block(node, self._handlers[word])
        else:
            self._handlers[word](node)
        self._depth -= 1

    def _children(self, node: tree_sitter.Node) -> None:
        """Visit all children: reads first, then writes, then deferred nodes."""
        children = node.children
        targets = []
        deferred = []
        types = self._types
        for child in children:
            role = self.roles.get(child.id)
            if child.id in self.marks["type"] and (name := type_name(self._text(child))) is not None:
                self._types = (*types, name)
            if role is not None and (role in _TARGETS or role in _DECLARED):
                targets.append(child)
            elif child.id in self.marks["deferred"]:
                deferred.append(child)
            else:
                if role == "value":
                    self._note_constructed(child)
                kept = self._types
                if role == "value" or self.structure.get(child.id) == "pattern":
                    self._types = ()
                self._visit(child)
                self._types = kept
        # Reads before writes: in `x = x + 1` the right side uses the earlier definition.
        for child in targets:
            self._visit(child)
        for child in deferred:
            self._visit(child)
        self._types = types

    def _note_constructed(self, value: tree_sitter.Node) -> None:
        """Note the type of a constructed value: ``x = C()``, ``new C()``."""
        for child in value.children:
            if child.id in self.marks["constructed"] and (name := type_name(self._text(child))) is not None:
                self._types = (*self._types, name)

    def _flat(self, node: tree_sitter.Node) -> None:
        for current in walk(node):
            if self.structure.get(current.id) == "identifier" and self.roles.get(current.id) != "ignore":
                self._identifier(current)

    def _with_roles(self, node: tree_sitter.Node) -> list[tuple[str, tree_sitter.Node]]:
        return [(self.roles.get(child.id, ""), child) for child in node.children]

    def _text(self, node: tree_sitter.Node) -> str:
        return self.source.data[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def _skip(self, node: tree_sitter.Node) -> None:
        """Skip a node without names."""

    def _use(self, node: tree_sitter.Node, path: tuple[NameUse | str, ...] = ()) -> NameUse:
        name, is_call = self._text(node), node.id in self.marks["called"]
        key = f"{name}()" if is_call and self.rules.separate_methods else name
        row = node.start_point.row
        use = NameUse(name, key, node.start_byte, node.end_byte, row, self.scope, self.flow, path, is_call)
        self.uses.append(use)
        return use

    def _identifier(self, node: tree_sitter.Node) -> None:
        # Invented by the parser, to go on after an error.
        if node.start_byte == node.end_byte:
            return
        self.flow.add(self._use(node))

    def _read_member(
        self, node: tree_sitter.Node, *, written: str | None = None, before: tuple[NameUse | str, ...] | None = None
    ) -> tuple[NameUse | str, ...]:
        """Return the names of ``a.b.c``; the first name is also recorded as a use.

        ``before`` is the path before a nested member, such as ``b::c`` in ``a::b::c``.
        """
        path: tuple[NameUse | str, ...] = before or ("",)
        for role, child in self._with_roles(node):
            if role == "object":
                path = self._object(child) if before is None else (*before, self._member_name(child, before))
            elif role != "member":
                self._visit(child)
            elif self.structure.get(child.id) == "member" and self._depth < MAX_DEPTH:
                self._depth += 1
                path = self._read_member(child, written=written, before=path)
                self._depth -= 1
            elif written is not None and path == ("self",):
                if written == "target.update":
                    self._use(child, path)
                self.members.append((self._site(child, "field"), self.scope, self._types))
                path = (*path, self._text(child))
            else:
                path = (*path, self._member_name(child, path))
        return path

    def _member_name(self, node: tree_sitter.Node, path: tuple[NameUse | str, ...]) -> str:
        """Return the key of a member; in ``b<T>`` the first name is the member, and the rest is visited."""
        name = node
        while name.named_child_count:
            for child in name.named_children[1:]:
                self._visit(child)
            name = name.named_children[0]
        return self._use(name, path).key

    def _object(self, node: tree_sitter.Node) -> tuple[NameUse | str, ...]:
        word = self.structure.get(node.id)
        if word == "member" and self._depth < MAX_DEPTH:
            self._depth += 1
            path = self._read_member(node)
            self._depth -= 1
            return path
        if word == "identifier" and node.id not in self._outer_done:
            self._identifier(node)
            return ("self",) if self._is_self(node) else (self.uses[-1],)
        if word in {"self", "super"}:
            return (word,)
        self._visit(node)
        return ("",)

    def _is_self(self, node: tree_sitter.Node) -> bool:
        """Return whether a name is Python's ``self`` or ``cls`` inside a class."""
        return self._text(node) in self.rules.self_names and self.scope.enclosing_class() is not None

    def _site(self, node: tree_sitter.Node, binding: Binding) -> DefinitionSite:
        name, row = self._text(node), node.start_point.row
        return DefinitionSite(name, name, node.start_byte, node.end_byte, row, binding, self.flow)

    def _define(self, node: tree_sitter.Node, role: str, binding: Binding, target: ImportTarget | None = None) -> None:
        site = self._site(node, binding)
        if self.rules.separate_methods and binding in {"function", "method"}:
            site.key = f"{site.name}()"
        target = target or self.imported.get(node.id)
        if target is not None and "/" in site.name:  # an import of Go binds the last part, without the version
            site.name = site.key = _VERSION.sub("", site.name).rpartition("/")[2]
        self.written.append(WrittenName(site, self.scope, role, self._types, target))
        self.flow.add(site)

    def _target(self, node: tree_sitter.Node, role: str) -> None:
        """Record the targets of a write: names, also in patterns. In ``a[i]`` and ``a.b`` the object is read."""
        word = self.structure.get(node.id)
        # `#size` and `size` of a field are no identifiers for the grammar.
        is_name = word is None and node.is_named and not node.child_count
        if word == "identifier" or (role == "target.field" and is_name):
            if role in {"target.update", "target.delete"}:
                self._identifier(node)
            if role == "target.delete":
                self.kills.append(kill := VariableDeletion(self.uses[-1]))
                self.flow.add(kill)
                return
            self._define(node, role, _TARGETS[role] or "local")
            if node.id in self.marks["property"]:
                self.members.append((self._site(node, "field"), self.scope, self._types))
        elif word == "pattern" and self._depth <= MAX_DEPTH:
            self._depth += 1
            types, self._types = self._types, ()
            for child in node.children:
                if child.id not in self.roles:
                    self._target(child, role)
                else:
                    self._visit(child)
            self._types = types
            self._depth -= 1
        elif word == "member":
            self._read_member(node, written=role)
        elif word is not None:
            self._handlers[word](node)
        else:
            self._children(node)

    def _import(self, node: tree_sitter.Node) -> None:
        for current in walk(node):
            if (target := self.imported.get(current.id)) is not None:
                self._define(current, "declare.import", "module", target)

    def _global(self, node: tree_sitter.Node) -> None:
        self.scope.globals.update(self._text(child) for child in node.named_children)

    def _nonlocal(self, node: tree_sitter.Node) -> None:
        self.scope.nonlocals.update(self._text(child) for child in node.named_children)

    def _scope(self, node: tree_sitter.Node) -> None:
        kind = self._kind(node)
        inner = NameScope(kind, "", node.start_byte, node.end_byte, self.scope)
        names = self._header(node, inner) if kind not in {"block", "comprehension"} else []
        outer, flow, types = self.scope, self.flow, self._types
        self.scopes.append(inner)
        self._types = ()
        if kind in FUNCTION_SCOPES:
            self.flows.append(FlowGraph())
            self.flow = self.flows[-1]
        self.scope = inner
        self._children(node)
        self.scope, self.flow, self._types = outer, flow, types
        for child in names:
            self._outer_done.discard(child.id)
            # A constructor outside of its class: the class has the name already.
            if inner.owner == inner.name:
                continue
            if kind in _OPENED:
                self.opened[child.start_byte] = inner
            self._visit(child)

    def _in_block(self, node: tree_sitter.Node, handler: Callable[[tree_sitter.Node], object]) -> None:
        """Visit a node in a block scope: for names of a loop header, switch cases or resources of a ``try``."""
        outer = self.scope
        self.scope = NameScope("block", "", node.start_byte, node.end_byte, outer)
        self.scopes.append(self.scope)
        handler(node)
        self.scope = outer

    def _kind(self, node: tree_sitter.Node) -> ScopeKind:
        kind = _SCOPE_KINDS[self.structure[node.id]]
        return "method" if kind == "function" and self.scope.kind in CLASS_SCOPES else kind

    def _header(self, node: tree_sitter.Node, inner: NameScope) -> list[tree_sitter.Node]:
        """Read names, bases and owner of a scope; defaults and annotations are visited in the outer scope.

        Returns:
            Nodes of the scope's own name, which are not visited inside the scope.
        """
        names: list[tree_sitter.Node] = []
        waiting = list(reversed(node.children))
        while waiting:
            child = waiting.pop()
            role = self.roles.get(child.id, "")
            named = walk(child) if child.id in self.marks["outer"] else (child,)
            inner.bases += [self._text(base).rpartition(".")[2] for base in named if base.id in self.marks["base"]]
            if child.id in self.marks["owner"]:
                inner.owner = type_name(self._text(child))
                inner.kind = "method" if inner.kind == "function" else inner.kind
            if child.id in self.marks["outer"]:
                self._visit(child)
                # Defaults and annotations are evaluated outside; the walk inside must not count them twice.
                self._outer_done.add(child.id)
            elif role in _DECLARED and inner.kind != "lambda":
                inner.name = inner.name or self._text(child)
                names.append(child)
                self._outer_done.add(child.id)
            elif role != "body" and not self.structure.get(child.id, "").startswith("scope."):
                waiting.extend(reversed(child.children))
        return names
