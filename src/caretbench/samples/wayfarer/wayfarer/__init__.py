"""Plans the day of a small delivery company."""
