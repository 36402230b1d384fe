"""Caches of verdicts and of built folders."""
