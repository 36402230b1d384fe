"""Programs as trees: parsing, faults, comments, documentation; query files stand in ``queries/``."""

from caretbench.syntax.comments import Comment, comments
from caretbench.syntax.documentation import Documentation, documentation_of
from caretbench.syntax.faults import fault_count, fits, is_well_formed
from caretbench.syntax.parser import Offsets, error_count, grammar, has_error, parse
from caretbench.syntax.queries import captures, matches

__all__ = [
    "Comment",
    "Documentation",
    "Offsets",
    "captures",
    "comments",
    "documentation_of",
    "error_count",
    "fault_count",
    "fits",
    "grammar",
    "has_error",
    "is_well_formed",
    "matches",
    "parse",
]
