"""Checks of a set before its release: sources, rows, secrets and licences."""
