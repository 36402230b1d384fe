"""Output of reports: the terminal, exports, the HTML page."""
