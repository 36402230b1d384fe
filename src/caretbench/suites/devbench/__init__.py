"""The suite ``devbench``."""

from caretbench.suites.devbench.suite import SUITE

__all__ = ["SUITE"]
