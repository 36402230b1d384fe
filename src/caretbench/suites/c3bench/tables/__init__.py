"""Tables and charts of C3-Bench."""
