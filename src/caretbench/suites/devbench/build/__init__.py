"""DevBench: what only building needs."""
