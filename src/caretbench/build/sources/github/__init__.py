"""Merged pull requests from GitHub's API."""

from caretbench.build.sources.github.github_mining import mine_github

__all__ = ["mine_github"]
