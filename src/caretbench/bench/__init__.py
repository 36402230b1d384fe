"""Benchmark beside a repository: what ``caretbench init`` writes, and what ``caretbench bench`` does each time."""
