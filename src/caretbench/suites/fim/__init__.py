"""Conventional completion benchmarks as suites: one class, a description for each."""
