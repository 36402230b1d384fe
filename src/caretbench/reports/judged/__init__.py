"""Numbers, tables and charts of what judges said."""
