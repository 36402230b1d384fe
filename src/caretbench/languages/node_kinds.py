"""Node kinds of the grammars by role, from ``nodes.toml`` in a language's folder.

No other module names a kind of node: it asks for a role. A kind may have several roles. ``node_kinds("java")`` has the
kinds of one language; ``node_kinds()`` has those of all languages, for code that has a node but does not know its
grammar. A role that names the same word for different things in two grammars (``module`` is the whole file in Python
and a namespace in Ruby) must be asked for by language.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

from caretbench.languages import language_of_grammar
from caretbench.languages.table_reader import LanguageTable, language_folders, read_table

_Kinds = frozenset[str]


class NodeKinds(LanguageTable):
    """Node kinds by role. The comment after a role says which nodes have it."""

    # Functions, types and calls
    functions: _Kinds = frozenset()  # functions, methods, constructors and closures
    anonymous_functions: _Kinds = frozenset()  # functions that are values
    expression_functions: _Kinds = frozenset()  # functions whose body may be the returned expression itself
    generators: _Kinds = frozenset()  # functions that calling does not run
    types: _Kinds = frozenset()  # declarations of classes, interfaces, enumerations and modules
    type_bodies: _Kinds = frozenset()  # bodies that hold declarations, and no statements
    creations: _Kinds = frozenset()  # creations of objects
    calls: _Kinds = frozenset()  # calls with a callee and an argument list
    callees: _Kinds = frozenset()  # nodes that name a function without being such a call
    constructor_calls: _Kinds = frozenset()  # calls of another constructor, which must stay first
    macros: _Kinds = frozenset()  # calls of macros
    macro_arguments: _Kinds = frozenset()  # arguments of macros, which have no syntax of their own
    argument_lists: _Kinds = frozenset()
    arguments: _Kinds = frozenset()  # nodes around each argument
    parameter_lists: _Kinds = frozenset()
    parameter_groups: _Kinds = frozenset()  # declarations that may name several parameters of one type
    receivers: _Kinds = frozenset()  # the parameter `self`
    optional_parameters: _Kinds = frozenset()

    # Names
    names: _Kinds = frozenset()  # names that are values
    type_names: _Kinds = frozenset()
    scope_names: _Kinds = frozenset()  # names of packages and namespaces
    members: _Kinds = frozenset()  # accesses to a member by a dot
    nested_names: _Kinds = frozenset()  # dotted names that are no values
    tags: _Kinds = frozenset()  # elements of JSX and their attributes

    # Branches and loops
    branches: _Kinds = frozenset()  # `if` and its relatives
    elifs: _Kinds = frozenset()
    else_clauses: _Kinds = frozenset()
    conditional_expressions: _Kinds = frozenset()
    condition_clauses: _Kinds = frozenset()  # nodes around a condition
    loops: _Kinds = frozenset()
    while_loops: _Kinds = frozenset()
    do_loops: _Kinds = frozenset()  # loops that run at least once
    for_loops: _Kinds = frozenset()  # loops that run forever if they have no condition
    loop_clauses: _Kinds = frozenset()  # heads of such loops
    iterations: _Kinds = frozenset()  # loops and clauses over the items of a value
    comprehension_clauses: _Kinds = frozenset()
    generator_expressions: _Kinds = frozenset()
    switches: _Kinds = frozenset()  # choices among cases that `break` leaves
    matches: _Kinds = frozenset()  # choices among cases that `break` does not leave
    cases: _Kinds = frozenset()
    case_labels: _Kinds = frozenset()
    decisions: _Kinds = frozenset()  # places that add one to the cyclomatic complexity
    decision_tokens: _Kinds = frozenset()  # operators and words that do

    # Errors and ways out
    tries: _Kinds = frozenset()
    handlers: _Kinds = frozenset()
    finally_clauses: _Kinds = frozenset()
    throws: _Kinds = frozenset()
    resources: _Kinds = frozenset()  # statements that may swallow what their body throws
    returns: _Kinds = frozenset()
    breaks: _Kinds = frozenset()
    continues: _Kinds = frozenset()
    gotos: _Kinds = frozenset()
    yields: _Kinds = frozenset()
    assertions: _Kinds = frozenset()

    # Statements and declarations
    statement_lists: _Kinds = frozenset()
    compound_statements: _Kinds = frozenset()  # statement lists that are a statement: they hold no bare expression
    expression_statements: _Kinds = frozenset()
    call_statements: _Kinds = frozenset()  # `go` and `defer`
    other_statements: _Kinds = frozenset()  # statements whose kind does not end with `_statement` or `_declaration`
    imports: _Kinds = frozenset()  # statements whose strings name a module
    future_imports: _Kinds = frozenset()  # imports that must stay first
    directives: _Kinds = frozenset()  # lines of a preprocessor within statements
    initialisers: _Kinds = frozenset()  # declared names with a value
    plain_declarations: _Kinds = frozenset()  # declarations whose names without a value have no kind of their own
    assignments: _Kinds = frozenset()
    name_lists: _Kinds = frozenset()  # names that are assigned together
    expression_lists: _Kinds = frozenset()  # values without brackets
    pointer_declarators: _Kinds = frozenset()
    reference_declarators: _Kinds = frozenset()
    decorated: _Kinds = frozenset()  # nodes around a declaration and its decorators
    attributes: _Kinds = frozenset()  # decorators and attributes
    declaration_wrappers: _Kinds = frozenset()  # nodes between a declaration and its documentation
    comments: _Kinds = frozenset()
    block_comments: _Kinds = frozenset()
    line_continuations: _Kinds = frozenset()

    # Expressions
    subscripts: _Kinds = frozenset()
    index_lists: _Kinds = frozenset()  # brackets with the index
    slices: _Kinds = frozenset()
    binary: _Kinds = frozenset()
    unary: _Kinds = frozenset()
    not_operators: _Kinds = frozenset()  # `not`, where it is no unary operator
    references: _Kinds = frozenset()  # `&a` and `*a`
    awaits: _Kinds = frozenset()
    propagations: _Kinds = frozenset()  # Rust's `?`
    parentheses: _Kinds = frozenset()
    non_null: _Kinds = frozenset()  # TypeScript's `a!`
    null_tests: _Kinds = frozenset()  # `is null`
    constant_patterns: _Kinds = frozenset()
    type_annotations: _Kinds = frozenset()
    literal_types: _Kinds = frozenset()
    collections: _Kinds = frozenset()  # literals that hold values
    literal_elements: _Kinds = frozenset()  # their entries
    tuples: _Kinds = frozenset()

    # Kinds of errors in answers: nodes and the words that stand for unfinished ones
    block_lists: _Kinds = frozenset()  # nodes that hold statements, and are none themselves
    block_wrappers: _Kinds = frozenset()  # nodes around one statement, whose kind is that of the statement in them
    jumps: _Kinds = frozenset()  # statements after which nothing of their list runs
    jump_words: _Kinds = frozenset()  # words of statements that end a function with a value or an error
    unaligned: _Kinds = frozenset()  # statements that may begin in a column of their own

    member_fields: Mapping[str, str] = {}
    """Field of the member's name in nodes that access a member; empty if it is the last child."""
    keyed: Mapping[str, str] = {}
    """Field of the key in nodes of a key with its value."""
    bound: Mapping[str, tuple[str, ...]] = {}
    """Fields with the names that a node binds: within it, or within its parent if it has no body."""
    literals: Mapping[str, _Kinds] = {}
    """Node kinds of literals by the kind of value: ``int``, ``string``, ``null``, ``list`` …"""

    block_kinds: Mapping[str, _Kinds] = {}
    """Node kinds and words of statements by the kind of block: ``function``, ``loop``, ``choice`` …"""

    @cached_property
    def literal_kinds(self) -> Mapping[str, str]:
        """Kind of value by node kind."""
        return {node: kind for kind, nodes in self.literals.items() for node in nodes}

    @cached_property
    def tests(self) -> _Kinds:
        """Statements and modifiers that run what they hold if a condition holds."""
        return self.branches | self.while_loops

    @cached_property
    def conditioned(self) -> _Kinds:
        """Nodes whose condition is in a field of theirs."""
        return self.tests | self.do_loops | self.for_loops | self.condition_clauses | self.assertions

    @cached_property
    def discarding(self) -> _Kinds:
        """Nodes that drop the value of an expression directly in them."""
        return self.expression_statements | self.call_statements | self.statement_lists

    @cached_property
    def negations(self) -> _Kinds:
        """Unary operators of all kinds."""
        return self.unary | self.not_operators

    @cached_property
    def conditional(self) -> _Kinds:
        """Nodes in which code runs conditionally."""
        return (
            self.branches | self.else_clauses | self.conditional_expressions | self.loops | self.switches | self.matches
            | self.cases | self.tries | self.handlers
        )  # fmt: skip


def folder_node_kinds(folder: str) -> NodeKinds:
    """Return the table of a language's folder; an empty one if it has none."""
    return read_table(folder, "nodes", NodeKinds) or NodeKinds()


@cache
def node_kinds(grammar: str = "") -> NodeKinds:
    """Return the node kinds of a language, by its name, an alias or a dialect; without a name, those of all languages.

    Raises:
        KeyError: no language has this grammar.
    """
    if grammar:
        return folder_node_kinds(language_of_grammar(grammar).name)
    merged: dict[str, Any] = {}
    for folder in language_folders():
        for role, kinds in folder_node_kinds(folder):
            if not isinstance(kinds, Mapping):
                merged[role] = merged.get(role, frozenset()) | kinds
            elif role in ("literals", "block_kinds"):
                by_kind = merged.setdefault(role, {})
                by_kind.update({kind: by_kind.get(kind, frozenset()) | nodes for kind, nodes in kinds.items()})
            else:
                merged.setdefault(role, {}).update(kinds)
    # Each table was validated when it was read; a second validation of all of them would only cost time at start.
    return NodeKinds.model_construct(**merged)
