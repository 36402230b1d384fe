"""Suites as tasks of Inspect, and its logs as completions."""
