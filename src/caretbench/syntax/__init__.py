"""Programs as trees: parsing, faults, comments, documentation, scopes."""

from caretbench.syntax.analysis_types import Scope, Span
from caretbench.syntax.scopes import FileScopes, ProjectScopes, is_test_path, read_scopes
from caretbench.syntax.source import SourceFile, language_of

__all__ = ["FileScopes", "ProjectScopes", "Scope", "SourceFile", "Span", "is_test_path", "language_of", "read_scopes"]
