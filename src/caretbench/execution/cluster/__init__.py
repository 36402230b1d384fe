"""Distribution of requests over several machines."""
