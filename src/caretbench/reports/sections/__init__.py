"""Sections of a report: their tables, charts, CSV lines and parts of the page."""
