"""Tables of the cells: one file for each category and one for each language."""
