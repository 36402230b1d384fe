"""Statements and nodes of a completed file near the answer, by Python's parser and by tree-sitter."""
