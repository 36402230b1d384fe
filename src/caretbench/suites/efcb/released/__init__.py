"""The released layout of EFCB: reading, problems, printed numbers."""
