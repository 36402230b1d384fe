"""Validation of problems: mutants, near-duplicates, and the gates that decide whether a problem is valid."""
