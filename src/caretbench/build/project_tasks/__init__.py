"""Builds of tasks from projects with tests, for every suite that has such tasks."""
