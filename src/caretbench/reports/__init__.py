"""Reports of a run: tables, plots, one HTML page, and the comparison of runs.

Everything is computed from one table (``frame``) into one value (``summary``), which all forms print.
"""
