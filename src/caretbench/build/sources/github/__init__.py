"""Merged pull requests from GitHub's API."""
