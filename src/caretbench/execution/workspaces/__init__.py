"""Execution of commands in projects: snapshots, patches, prepared projects, test results."""
