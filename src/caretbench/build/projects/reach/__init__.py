"""Reach of a project's tests: the statements of its files that they execute."""
