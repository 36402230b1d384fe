"""``caretbench review``: review of problems and answers by people."""

from caretbench.cli.review import making, results, serving
from caretbench.cli.review.group import app

__all__ = ["app", "making", "results", "serving"]
