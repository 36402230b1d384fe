"""Programs as trees: parsing, faults, comments, documentation, scopes; blocks and references for building."""

from caretbench.syntax.analysis_types import Block, Reference, Scope, Span
from caretbench.syntax.scopes import FileScopes, ProjectScopes, is_test_path, read_scopes
from caretbench.syntax.source import SourceFile, language_of

__all__ = [
    "Block",
    "FileScopes",
    "ProjectScopes",
    "Reference",
    "Scope",
    "SourceFile",
    "Span",
    "is_test_path",
    "language_of",
    "read_scopes",
]
