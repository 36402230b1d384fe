"""Codev-Bench: blocks of repositories that unit tests execute, in four scenarios of a developer."""
