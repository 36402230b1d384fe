"""Attacks that answer questions by counting and learning."""
