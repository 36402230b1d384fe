"""Codev-Bench: what only building needs."""
