"""Error kinds of answers, one table for all suites: by the text next to the reference, and by the outcome."""
