"""The starter set: problems of a repository that a script of ours writes, commit by commit, always the same."""

from __future__ import annotations

from caretbench.problem import Problem


def load() -> list[Problem]:
    """The problems, built when they are first asked for."""
    return []
