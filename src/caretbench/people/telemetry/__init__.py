"""Completion events of editors: their schema and rules, features without code, usage, failures and weights."""
