"""Execution of untrusted programs and projects in sandboxes."""
