"""The suite ``simcopilot``."""

from caretbench.suites.simcopilot.suite import SUITE

__all__ = ["SUITE"]
