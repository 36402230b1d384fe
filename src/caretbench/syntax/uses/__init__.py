"""Identifiers, scopes and contexts of a piece of code."""
