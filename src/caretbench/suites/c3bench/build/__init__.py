"""C3-Bench: what only building needs."""
