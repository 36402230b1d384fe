"""EFCB: what only building needs."""
