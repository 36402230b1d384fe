"""Parts of a Python implementation without which its result is the same."""
