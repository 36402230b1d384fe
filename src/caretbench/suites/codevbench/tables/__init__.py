"""Tables and charts of Codev-Bench."""
