"""Merged pull requests from GitHub's API."""

from caretbench.sources.github.mining import mine_github

__all__ = ["mine_github"]
