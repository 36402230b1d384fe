"""Programs as trees: parsing, faults, comments, documentation, blocks and references."""

from caretbench.syntax.analysis import FileAnalysis, ProjectAnalysis, analyse, is_test_path
from caretbench.syntax.analysis_types import Block, Reference, Span
from caretbench.syntax.source import SourceFile, language_of

__all__ = [
    "Block",
    "FileAnalysis",
    "ProjectAnalysis",
    "Reference",
    "SourceFile",
    "Span",
    "analyse",
    "is_test_path",
    "language_of",
]
