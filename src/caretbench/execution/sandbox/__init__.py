"""Sandbox for untrusted programs: isolation and supervision."""
