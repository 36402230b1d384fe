"""``caretbench build``: one module for each suite."""
