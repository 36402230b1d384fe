"""Numbers from outcomes: pass@k, similarities, sizes, intervals, paired tests, agreement. Pure functions."""
