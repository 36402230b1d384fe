"""Tests that a model writes for a project: requests, answers as single tests, their examination, and their files."""
