"""Building of conventional benchmarks: fetching and validation."""
