"""Tables of C3-Bench."""
