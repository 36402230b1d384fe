"""What mutation needs to know of each language; in templates ``@`` stands for the mutated expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_NUMBERS = (
    "int",
    "long",
    "double",
    "float",
    "Integer",
    "Long",
    "Double",
    "Float",
    "decimal",
    "size_t",
    "std::size_t",
)
_NUMBER_TYPES = dict.fromkeys(_NUMBERS, "(@) + 1") | dict.fromkeys(
    ("unsigned", "uint64_t", "int64_t"), "(@) + 1"
)

_GO_NUMBERS = (
    "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "byte", "rune", "float32",
    "float64",
)  # fmt: skip


@dataclass(frozen=True)
class MutationTable:
    """How one language says what mutants need.

    ``containers`` are nodes that hold statements; before the kinds in ``not_before`` none is inserted.
    ``default_value`` fits every type where ``defaults`` names none; ``wrong_values`` make a wrong value of
    a right one by type, ``wrong_value`` stands for all other types. In typed languages, what a function of
    unknown type returns is left alone. ``never`` makes a condition that never holds.
    """

    throw: str
    early_return: str
    negation: str
    containers: frozenset[str]
    not_before: frozenset[str]
    nothing: str
    typed: bool
    default_value: str
    wrong_value: str
    vague_comment: str
    vague_line_comment: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    wrong_values: Mapping[str, str] = field(default_factory=dict)
    returns_nothing: frozenset[str] = frozenset()
    untouched: frozenset[str] = frozenset()  # types of which no value can be made up
    undeclared: str | None = None  # the type of a function that declares none
    never: str = "false && (@)"
    no_items: str | None = None  # what a loop finds nothing in; @: the type that it declares


_SCRIPT_CONTAINERS = frozenset({"program", "statement_block", "switch_case", "switch_default"})
_SCRIPT_NOT_BEFORE = frozenset(
    {
        "abstract_class_declaration",
        "class_declaration",
        "comment",
        "enum_declaration",
        "export_statement",
        "function_declaration",
        "function_signature",
        "generator_function_declaration",
        "import_statement",
        "interface_declaration",
        "type_alias_declaration",
    }
)

TABLES: Mapping[str, MutationTable] = {
    "python": MutationTable(
        throw='raise RuntimeError("mutant")',
        early_return="return@",
        negation="not (@)",
        containers=frozenset({"module", "block"}),
        not_before=frozenset(
            {
                "case_clause",
                "class_definition",
                "comment",
                "decorated_definition",
                "function_definition",
                "future_import_statement",
                "import_from_statement",
                "import_statement",
            }
        ),
        nothing="pass",
        typed=False,
        default_value="None",
        wrong_value="None",
        vague_comment='"""Does something."""',
        vague_line_comment="# Does something.",
        never="False and (@)",
        no_items="()",
    ),
    # The condition of the guards is one that no compiler follows: code behind them stays reachable.
    "javascript": MutationTable(
        throw='if (Date.now() > 0) throw new Error("mutant");',
        early_return="if (Date.now() > 0) return@;",
        negation="!(@)",
        containers=_SCRIPT_CONTAINERS,
        not_before=_SCRIPT_NOT_BEFORE,
        nothing="",
        typed=False,
        default_value="undefined",
        wrong_value="undefined",
        vague_comment="/** Does something. */",
        vague_line_comment="// Does something.",
        no_items="[]",
    ),
    "typescript": MutationTable(
        throw='if (Date.now() > 0) throw new Error("mutant");',
        early_return="if (Date.now() > 0) return@;",
        negation="!(@)",
        containers=_SCRIPT_CONTAINERS,
        not_before=_SCRIPT_NOT_BEFORE,
        nothing="",
        typed=False,
        default_value="undefined as any",
        wrong_value="undefined as any",
        vague_comment="/** Does something. */",
        vague_line_comment="// Does something.",
        no_items="[]",
    ),
    "java": MutationTable(
        throw='if (true) throw new RuntimeException("mutant");',
        early_return="if (true) return@;",
        negation="!(@)",
        containers=frozenset({"block", "constructor_body", "switch_block_statement_group"}),
        not_before=frozenset(
            {"block_comment", "explicit_constructor_invocation", "line_comment", "switch_label"}
        ),
        nothing="",
        typed=True,
        default_value="null",
        wrong_value="null",
        vague_comment="/** Does something. */",
        vague_line_comment="// Does something.",
        defaults=dict.fromkeys(("int", "long", "double", "float", "short", "byte", "char"), "0")
        | {"boolean": "false"},
        wrong_values=_NUMBER_TYPES
        | {"boolean": "!(@)", "Boolean": "!(@)", "String": '(@) + "x"'}
        | dict.fromkeys(("short", "byte", "char"), "0"),
        no_items="new @[0]",
        returns_nothing=frozenset({"void"}),
    ),
    "cpp": MutationTable(
        throw="throw 1;",
        early_return="if (true) return@;",
        negation="!(@)",
        containers=frozenset({"compound_statement", "case_statement"}),
        not_before=frozenset({"comment", "case_statement"}),
        nothing="",
        typed=True,
        default_value="{}",
        wrong_value="{}",
        vague_comment="/** Does something. */",
        vague_line_comment="// Does something.",
        wrong_values=_NUMBER_TYPES | {"bool": "!(@)", "std::string": 'std::string(@) + "x"'},
        returns_nothing=frozenset({"void"}),
        untouched=frozenset({"auto"}),
    ),
    "csharp": MutationTable(
        throw='if (true) throw new System.Exception("mutant");',
        early_return="if (true) return@;",
        negation="!(@)",
        containers=frozenset({"block", "switch_section"}),
        not_before=frozenset({"comment", "local_function_statement"}),
        nothing="",
        typed=True,
        default_value="default",
        wrong_value="default",
        vague_comment="/// <summary>Does something.</summary>",
        vague_line_comment="// Does something.",
        wrong_values=_NUMBER_TYPES | {"bool": "!(@)", "string": '(@) + "x"'},
        no_items="new @[0]",
        returns_nothing=frozenset({"void"}),
        untouched=frozenset({"var"}),
    ),
    "go": MutationTable(
        throw='if true { panic("mutant") };',
        early_return="if true { return@ };",
        negation="!(@)",
        containers=frozenset({"block", "statement_list"}),
        not_before=frozenset({"comment", "statement_list"}),
        nothing="",
        typed=True,
        default_value="nil",
        wrong_value="nil",
        vague_comment="/* Does something. */",
        vague_line_comment="// Does something.",
        defaults=dict.fromkeys(_GO_NUMBERS, "0") | {"bool": "false", "string": '""'},
        wrong_values=dict.fromkeys(_GO_NUMBERS, "(@) + 1") | {"bool": "!(@)", "string": '(@) + "x"'},
        returns_nothing=frozenset({"void"}),
        undeclared="void",
    ),
}

SWAPS: Mapping[str, Mapping[str, str]] = {
    "comparison": {
        "==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
        "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    },
    "logical": {"&&": "||", "||": "&&", "and": "or", "or": "and"},
    "arithmetic": {
        "+": "-", "-": "+", "*": "+", "/": "*", "%": "*", "//": "*", "**": "*",
        "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=",
    },
    "boolean": {"true": "false", "false": "true", "True": "False", "False": "True"},
}  # fmt: skip
"""Tokens and what they become, by the name of the mutation."""
