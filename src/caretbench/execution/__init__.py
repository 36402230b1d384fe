"""Untrusted programs in, verdicts out."""
