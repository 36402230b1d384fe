"""Numbers, tables and charts of judgements."""
