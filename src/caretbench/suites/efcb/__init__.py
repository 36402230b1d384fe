"""The suite ``efcb``."""

from caretbench.suites.efcb.suite import SUITE

__all__ = ["SUITE"]
