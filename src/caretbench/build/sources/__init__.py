"""Sources of code: git history, GitHub, filters, near-duplicates."""
