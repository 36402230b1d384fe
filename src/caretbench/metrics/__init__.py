"""Metrics as pure functions: pass@k, similarities, sizes, intervals, paired tests, agreement."""
