"""Tables of the data and of the results."""
