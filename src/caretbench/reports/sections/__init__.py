"""Sections of a report: usage, flags, errors, forms of the papers, samples."""
