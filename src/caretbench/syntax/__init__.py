"""Programs as trees: parsing, faults, comments, documentation, blocks and references."""

from caretbench.syntax.analysis import FileAnalysis, ProjectAnalysis, analyse, is_test_path
from caretbench.syntax.analysis_types import (
    Binding,
    Block,
    BlockKind,
    Definition,
    Origin,
    ParseFault,
    Reference,
    Scope,
    ScopeKind,
    Span,
)
from caretbench.syntax.blocks import BlockSize
from caretbench.syntax.documentation import Comment, Documentation, comments, documentation_of
from caretbench.syntax.parser import (
    CharacterOffsets,
    captures,
    error_count,
    fault_count,
    grammar,
    has_error,
    is_well_formed,
    is_well_formed_text,
    matches,
    parse,
)
from caretbench.syntax.source import SourceFile, language_of

__all__ = [
    "Binding",
    "Block",
    "BlockKind",
    "BlockSize",
    "CharacterOffsets",
    "Comment",
    "Definition",
    "Documentation",
    "FileAnalysis",
    "Origin",
    "ParseFault",
    "ProjectAnalysis",
    "Reference",
    "Scope",
    "ScopeKind",
    "SourceFile",
    "Span",
    "analyse",
    "captures",
    "comments",
    "documentation_of",
    "error_count",
    "fault_count",
    "grammar",
    "has_error",
    "is_test_path",
    "is_well_formed",
    "is_well_formed_text",
    "language_of",
    "matches",
    "parse",
]
